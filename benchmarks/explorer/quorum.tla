------------------------------- MODULE quorum -------------------------------
(* The quorum of KRaft controllers, written for TLC from what Kafka does and not *)
(* from the explorer's code: both are to count the same states.                  *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Voters, LogSize, LastEpoch, Records, Crashes, Cuts,
    (* FALSE in Kafka. A leader commits what any majority has; a voter forgets its vote in a crash; votes for one *)
    (* whose log is behind; votes for several; a leader never resigns; one is a majority for election and fetches. *)
    AnyEpoch, Forgets, NeverBehind, Everybody, Stays, OneElects

None == 0

VARIABLES log, role, epoch, leader, vote, hw, start, known, given, won, committed, foreign, written, crashes, cuts, cut

vars == <<log, role, epoch, leader, vote, hw, start, known, given, won, committed, foreign, written, crashes, cuts, cut>>

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
Last(v) == IF log[v] = <<>> THEN 0 ELSE log[v][Len(log[v])]
Joined(a, b) == cut \notin {a, b}
Unheard == [v \in Voters |-> -1]
Elects(n) == IF OneElects THEN n > 0 ELSE 2 * n > Cardinality(Voters)

Init ==
    /\ log = [v \in Voters |-> <<>>]
    /\ role = [v \in Voters |-> "follower"]
    /\ epoch = [v \in Voters |-> 0]
    /\ leader = [v \in Voters |-> None]
    /\ vote = [v \in Voters |-> None]
    /\ hw = [v \in Voters |-> 0]
    /\ start = [v \in Voters |-> 0]
    /\ known = [v \in Voters |-> Unheard]
    /\ given = {}
    /\ won = {}
    /\ committed = <<>>
    /\ foreign = FALSE
    /\ written = 0
    /\ crashes = 0
    /\ cuts = 0
    /\ cut = None

(* A voter in an epoch, with nothing that a leader or a candidate keeps. *)
Becomes(v, as, e, l, voted) ==
    /\ role' = [role EXCEPT ![v] = as]
    /\ epoch' = [epoch EXCEPT ![v] = e]
    /\ leader' = [leader EXCEPT ![v] = l]
    /\ vote' = [vote EXCEPT ![v] = voted]
    /\ start' = [start EXCEPT ![v] = 0]
    /\ known' = [known EXCEPT ![v] = Unheard]

Stand(v) ==
    /\ role[v] # "leader"
    /\ epoch[v] < LastEpoch
    /\ Becomes(v, "candidate", epoch[v] + 1, None, v)
    /\ given' = given \cup {<<epoch[v] + 1, v, v>>}
    /\ UNCHANGED <<log, hw, won, committed, foreign, written, crashes, cuts, cut>>

Behind(c, v) ==
    /\ ~NeverBehind
    /\ Last(c) < Last(v) \/ (Last(c) = Last(v) /\ Len(log[c]) < Len(log[v]))

Ask(v, c) ==
    LET e == epoch[c]
        later == e > epoch[v]
        grants == \/ later /\ ~Behind(c, v)
                  \/ /\ e = epoch[v]
                     /\ leader[v] = None
                     /\ IF Everybody THEN ~Behind(c, v) ELSE vote[v] = c \/ (vote[v] = None /\ ~Behind(c, v))
        new == grants /\ <<e, v, c>> \notin given
    IN /\ v # c
       /\ role[c] = "candidate"
       /\ Joined(v, c)
       /\ later \/ new
       /\ IF later
          THEN Becomes(v, "follower", e, None, IF grants THEN c ELSE None)
          ELSE /\ vote' = [vote EXCEPT ![v] = c]
               /\ UNCHANGED <<role, epoch, leader, start, known>>
       /\ given' = IF grants THEN given \cup {<<e, v, c>>} ELSE given
       /\ UNCHANGED <<log, hw, won, committed, foreign, written, crashes, cuts, cut>>

Win(c) ==
    /\ role[c] = "candidate"
    /\ Len(log[c]) < LogSize
    /\ Elects(Cardinality({v \in Voters : <<epoch[c], v, c>> \in given}))
    /\ role' = [role EXCEPT ![c] = "leader"]
    /\ leader' = [leader EXCEPT ![c] = c]
    /\ start' = [start EXCEPT ![c] = Len(log[c])]
    /\ log' = [log EXCEPT ![c] = Append(@, epoch[c])]
    /\ won' = won \cup {<<epoch[c], c>>}
    /\ UNCHANGED <<epoch, vote, hw, known, given, committed, foreign, written, crashes, cuts, cut>>

Hear(v, l) ==
    /\ v # l
    /\ role[l] = "leader"
    /\ Joined(v, l)
    /\ epoch[l] > epoch[v] \/ (epoch[l] = epoch[v] /\ leader[v] = None)
    /\ Becomes(v, "follower", epoch[l], l, IF epoch[l] > epoch[v] THEN None ELSE vote[v])
    /\ UNCHANGED <<log, hw, given, won, committed, foreign, written, crashes, cuts, cut>>

(* How many records of a log are of epochs up to this one. *)
UpTo(v, e) == Cardinality({n \in 1..Len(log[v]) : log[v][n] <= e})
EpochUpTo(v, e) == IF UpTo(v, e) = 0 THEN 0 ELSE log[v][UpTo(v, e)]

Fetch(v, answered) ==
    LET l == leader[v]
        n == Len(log[v])
        end == UpTo(l, Last(v))
        of == EpochUpTo(l, Last(v))
        own == UpTo(v, of)
        ends == [known[l] EXCEPT ![v] = n, ![l] = Len(log[l])]
        Has(m) == 2 * Cardinality({w \in Voters : ends[w] >= m}) > Cardinality(Voters)
        most == CHOOSE m \in 0..LogSize : Has(m) /\ \A k \in 0..LogSize : k > m => ~Has(k)
        up == (AnyEpoch \/ most > start[l]) /\ most > hw[l]
        after == IF up THEN most ELSE hw[l]
        got == IF answered /\ n < Len(log[l]) THEN <<log[l][n + 1]>> ELSE <<>>
        mine == IF answered THEN Max(hw[v], Min(after, n + Len(got))) ELSE hw[v]
    IN /\ l \notin {None, v}
       /\ role[l] = "leader"
       /\ Joined(v, l)
       /\ epoch[v] = epoch[l]
       /\ IF of < Last(v) \/ end < n
          THEN /\ answered
               /\ log' = [log EXCEPT ![v] = SubSeq(@, 1, IF EpochUpTo(v, of) = of THEN Min(own, end) ELSE own)]
               /\ UNCHANGED <<hw, known, committed, foreign>>
          ELSE /\ known[l][v] # n \/ got # <<>> \/ mine # hw[v]
               /\ known' = [known EXCEPT ![l][v] = n]
               /\ log' = [log EXCEPT ![v] = @ \o got]
               /\ hw' = [hw EXCEPT ![l] = after, ![v] = mine]
               /\ foreign' = (foreign \/ (up /\ log[l][most] # epoch[l]))
               /\ committed' = IF up /\ most > Len(committed)
                               THEN committed \o SubSeq(log[l], Len(committed) + 1, most) ELSE committed
       /\ UNCHANGED <<role, epoch, leader, vote, start, given, won, written, crashes, cuts, cut>>

Write(l) ==
    /\ role[l] = "leader"
    /\ Len(log[l]) < LogSize
    /\ written < Records
    /\ log' = [log EXCEPT ![l] = Append(@, epoch[l])]
    /\ written' = written + 1
    /\ UNCHANGED <<role, epoch, leader, vote, hw, start, known, given, won, committed, foreign, crashes, cuts, cut>>

Resign(l) ==
    /\ ~Stays
    /\ role[l] = "leader"
    /\ ~Elects(IF cut = l THEN 1 ELSE Cardinality(Voters \ {cut}))
    /\ Becomes(l, "follower", epoch[l], None, vote[l])
    /\ UNCHANGED <<log, hw, given, won, committed, foreign, written, crashes, cuts, cut>>

Crash(v) ==
    /\ crashes < Crashes
    /\ crashes' = crashes + 1
    /\ Becomes(v, IF role[v] = "candidate" /\ ~Forgets THEN "candidate" ELSE "follower", epoch[v],
               IF role[v] = "leader" THEN None ELSE leader[v], IF Forgets THEN None ELSE vote[v])
    /\ hw' = [hw EXCEPT ![v] = 0]
    /\ UNCHANGED <<log, given, won, committed, foreign, written, cuts, cut>>

CutOff(v) ==
    /\ cuts < Cuts
    /\ cut = None
    /\ cuts' = cuts + 1
    /\ cut' = v
    /\ UNCHANGED <<log, role, epoch, leader, vote, hw, start, known, given, won, committed, foreign, written, crashes>>

Next ==
    \/ \E v \in Voters : Stand(v) \/ Win(v) \/ Write(v) \/ Resign(v) \/ Crash(v) \/ CutOff(v)
    \/ \E v \in Voters : Fetch(v, TRUE) \/ Fetch(v, FALSE)
    \/ \E v, w \in Voters : Ask(v, w) \/ Hear(v, w)

Spec == Init /\ [][Next]_vars

OneLeader == \A one, other \in won : one[1] = other[1] => one[2] = other[2]
OwnEpoch == ~foreign
(* A leader that was replaced, and has not heard of it, may lack what was committed since. *)
CommittedKept ==
    \A l \in Voters :
        (role[l] = "leader" /\ \A other \in won : other[1] <= epoch[l])
        => \A n \in 1..Len(committed) : n <= Len(log[l]) /\ log[l][n] = committed[n]
CommittedAgrees == \A v \in Voters : \A n \in 1..hw[v] : n <= Len(log[v]) /\ log[v][n] = committed[n]
=============================================================================
