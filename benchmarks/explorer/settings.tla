------------------------------ MODULE settings ------------------------------
(* One partition of a KRaft cluster under chosen settings, and a budget of faults: *)
(* crashes, lost logs, sessions that expire, slow followers, losses of power.       *)
(* Written for TLC from what Kafka does (KIP-966 and its broker's and controller's  *)
(* classes) and not from the explorer's code: both are to count the same states.    *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Replicas,          \* the assignment, numbers from 1 on: the first is the preferred leader
    Records,           \* so many are written
    AcksAll, MinIsr, Unclean, FlushMessages,
    Elr,               \* whether there are eligible leader replicas (since 4.1)
    Clears,            \* whether who tells the directory of its new disk takes them away (up to 4.2)
    KeepsPositions,    \* whether a leader that has missed others goes by its followers' positions of before
    Recovery,          \* what becomes of recovery points: "kept" (to 0.11), "raised" (to 2.7), "lowered"
    FirstLeaders,
    Faults, Losses, Stops, CutOffs, PowerLosses, PowerLossesOfAll

VARIABLE c

None == 0
Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
First(s) == IF s = {} THEN None ELSE CHOOSE n \in s : \A m \in s : n <= m
Preferred == First(Replicas)
Least(s) == CHOOSE n \in s : \A m \in s : n <= m
Unheard == [r \in Replicas |-> -1]
Kinds == {"all", "loss", "stop", "cut", "power", "rack"}

Init ==
    \E l \in FirstLeaders :
        c = [log |-> [r \in Replicas |-> <<>>],          \* records by number
             disk |-> [r \in Replicas |-> 0],            \* what a loss of power leaves
             point |-> [r \in Replicas |-> 0],           \* the recovery point
             written |-> <<>>,                           \* the epoch of each record
             acked |-> {},
             up |-> Replicas,
             active |-> Replicas,
             untold |-> {},                              \* on a new disk, in a directory that the controller does not know
             \* the controller
             leader |-> l, epoch |-> 0, isr |-> Replicas, elr |-> {}, last |-> None,
             \* each replica
             follows |-> [r \in Replicas |-> l],
             at |-> [r \in Replicas |-> 0],
             members |-> [r \in Replicas |-> IF r = l THEN Replicas ELSE {}],
             hw |-> [r \in Replicas |-> 0],
             start |-> [r \in Replicas |-> 0],
             since |-> [r \in Replicas |-> 0],
             ends |-> [r \in Replicas |-> Unheard],
             left |-> [all |-> Faults, loss |-> Losses, stop |-> Stops, cut |-> Min(CutOffs, Faults),
                       power |-> PowerLosses, rack |-> PowerLossesOfAll]]

(* ---- faults ---- *)

May(k) == c.left["all"] > 0 /\ c.left[k] > 0

(* More of a kind than there are faults left could never be spent. *)
Spent(s, k) ==
    LET n == s.left["all"] - 1
    IN [s EXCEPT !.left = [j \in Kinds |-> CASE j = "all" -> n [] j = k -> Min(@[j] - 1, n) [] OTHER -> Min(@[j], n)]]

(* ---- logs ---- *)

Cut(s, r, n) ==
    [s EXCEPT !.log[r] = SubSeq(@, 1, n), !.disk[r] = Min(@, n), !.point[r] = Min(@, n)]

Appended(s, r, record) ==
    LET n == Len(s.log[r]) + 1
        more == [s EXCEPT !.log[r] = Append(@, record)]
    IN IF n - s.point[r] >= FlushMessages THEN [more EXCEPT !.disk[r] = n, !.point[r] = n] ELSE more

(* The first place behind what two logs share. *)
Shared(s, r, l) ==
    LET same == {n \in 0..Min(Len(s.log[r]), Len(s.log[l])) : SubSeq(s.log[r], 1, n) = SubSeq(s.log[l], 1, n)}
    IN CHOOSE n \in same : \A m \in same : m <= n

(* ---- the controller ---- *)

Elected(leader, isr, elr, last, alive, elrs, unclean) ==
    LET able == (IF isr # {} THEN isr ELSE elr) \cap alive
        lastAlive == elrs /\ isr = {} /\ elr = {} /\ last \in alive
    IN CASE leader \in able -> [who |-> leader, clean |-> TRUE]
         [] leader \notin able /\ able # {} -> [who |-> First(able), clean |-> TRUE]
         [] able = {} /\ lastAlive -> [who |-> last, clean |-> FALSE]
         [] able = {} /\ ~lastAlive /\ unclean -> [who |-> First(alive), clean |-> FALSE]
         [] OTHER -> [who |-> None, clean |-> TRUE]

(* The ISR is to be another; an ELR takes in who leaves while the ISR is too small for a commit. *)
Built(s, isr, alive, lossy, elrs, unclean) ==
    LET elr == IF ~elrs THEN s.elr
               ELSE IF Cardinality(isr) < MinIsr THEN (s.isr \cup s.elr) \ (isr \cup lossy) ELSE {}
        e == Elected(s.leader, isr, elr, s.last, alive, elrs, unclean)
        other == e.who # s.leader
        alone == other /\ e.who # None /\ (~e.clean \/ e.who \in elr)
        next == CASE alone -> {e.who} [] ~alone /\ isr = {} /\ ~elrs -> s.isr [] OTHER -> isr
        rest == CASE ~elrs -> {} [] elrs /\ other /\ e.who # None /\ ~e.clean -> {} [] OTHER -> elr \ {e.who}
    IN [s EXCEPT !.leader = e.who, !.isr = next, !.elr = rest,
                 !.epoch = IF other THEN @ + 1 ELSE @,
                 !.last = CASE ~elrs -> @
                            [] elrs /\ e.who # None -> None
                            [] elrs /\ e.who = None /\ s.leader # None /\ @ = None -> s.leader
                            [] OTHER -> @]

Changed(s, isr, alive, lossy) == Built(s, isr, alive, lossy, Elr, Unclean)

Leaves(s, r, lossy) ==
    IF r \in s.isr \/ (lossy /\ r \in s.elr)
    THEN Changed(s, s.isr \ {r}, s.active \ {r}, IF lossy THEN {r} ELSE {})
    ELSE s

Fence(s, r) == Leaves([s EXCEPT !.active = @ \ {r}], r, FALSE)

(* ---- leaders ---- *)

Leads(s, r) == r \in s.up /\ s.follows[r] = r

Raised(s, l) ==
    LET isr == s.members[l]
        known == {IF r = l THEN Len(s.log[l]) ELSE s.ends[l][r] : r \in isr \cup {l}}
        after == Max(s.hw[l], Least(known))
        told == {s.log[l][n] : n \in (Max(s.hw[l], s.since[l]) + 1)..after}
    IN IF Cardinality(isr) < MinIsr THEN s
       ELSE [s EXCEPT !.hw[l] = after, !.acked = IF AcksAll THEN @ \cup told ELSE @]

(* A request for an ISR: of the leader that the controller knows, which knows the ISR there is; all of it alive. *)
Grants(s, l, isr) ==
    /\ s.leader = l /\ s.at[l] = s.epoch /\ s.members[l] = s.isr
    /\ l \in isr /\ isr \subseteq s.active

Asked(s, l, isr) ==
    LET granted == Changed(s, isr, s.active, {})
    IN Raised([granted EXCEPT !.members[l] = granted.isr], l)

(* A replica in a role: who leads from now on knows nothing yet. *)
Role(s, r, leader, e) ==
    LET n == IF leader = r THEN Len(s.log[r]) ELSE 0
    IN [s EXCEPT !.follows[r] = leader, !.at[r] = e, !.members[r] = {}, !.hw[r] = 0,
                 !.start[r] = n, !.since[r] = n, !.ends[r] = Unheard]

Down(s, r) == Role([s EXCEPT !.up = @ \ {r}], r, None, -1)

(* ---- steps ---- *)

Write(l) ==
    LET record == Len(c.written) + 1
        more == [Appended(c, l, record) EXCEPT
                    !.written = Append(@, c.at[l]),
                    !.acked = IF AcksAll THEN @ ELSE @ \cup {record}]
    IN /\ Leads(c, l)
       /\ record <= Records
       /\ AcksAll => Cardinality(c.members[l]) >= MinIsr
       /\ c' = Raised(more, l)

Fetch(f) ==
    LET l == c.follows[f]
        n == Len(c.log[f])
        shared == Shared(c, f, l)
        heard == [c EXCEPT !.ends[l][f] = n]
        isr == c.members[l]
        joins == /\ f \notin isr /\ f \in c.active
                 /\ n >= c.hw[l] /\ n >= c.start[l]
                 /\ Grants(heard, l, isr \cup {f})
        seen == Raised(IF joins THEN Asked(heard, l, isr \cup {f}) ELSE heard, l)
        more == n < Len(c.log[l])
    IN /\ f \in c.up
       /\ l \notin {None, f}
       /\ Leads(c, l)
       /\ c.at[f] = c.at[l]
       /\ IF shared < n
          THEN c' = Cut(c, f, shared)
          ELSE /\ more \/ joins \/ c.ends[l][f] # n
               /\ c' = IF more THEN Appended(seen, f, c.log[l][n + 1]) ELSE seen

Hear(r) ==
    LET anew == c.at[r] # c.epoch
        again == /\ c.leader = r /\ Leads(c, r)
        goesOn == LET s == [c EXCEPT !.at[r] = c.epoch, !.start[r] = Len(c.log[r])]
                  IN IF KeepsPositions \/ c.epoch = c.at[r] + 1 THEN s ELSE [s EXCEPT !.ends[r] = Unheard]
        begun == CASE anew /\ again -> goesOn
                   [] anew /\ ~again -> Role(c, r, c.leader, c.epoch)
                   [] OTHER -> c
    IN /\ r \in c.up
       /\ anew \/ (c.leader = r /\ c.members[r] # c.isr)
       /\ c' = IF c.leader = r THEN Raised([begun EXCEPT !.members[r] = c.isr], r) ELSE begun

Crash(r) ==
    /\ r \in c.up /\ May("stop")
    /\ c' = Down(Spent(c, "stop"), r)

LoseLog(r) ==
    /\ r \in c.up /\ May("loss")
    /\ c' = [Cut(Down(Spent(c, "loss"), r), r, 0) EXCEPT !.untold = IF Elr /\ Clears THEN @ \cup {r} ELSE @]

(* Of what was not flushed a disk has the first records, or none. *)
Powerless(s, r, n) == [Cut(s, r, n) EXCEPT !.disk[r] = n]

LosePower(r) ==
    /\ r \in c.up /\ May("power")
    /\ \E n \in c.disk[r]..Len(c.log[r]) : c' = Powerless(Down(Spent(c, "power"), r), r, n)

AllLosePower ==
    LET Kept == [Replicas -> 0..Records]
        down == [Spent(c, "rack") EXCEPT !.up = {}]
    IN /\ May("rack")
       /\ \E kept \in Kept :
             /\ \A r \in Replicas : c.disk[r] <= kept[r] /\ kept[r] <= Len(c.log[r])
             /\ c' = [down EXCEPT
                        !.log = [r \in Replicas |-> SubSeq(@[r], 1, kept[r])],
                        !.disk = kept,
                        !.point = [r \in Replicas |-> Min(@[r], kept[r])],
                        !.follows = [r \in Replicas |-> None],
                        !.at = [r \in Replicas |-> -1],
                        !.members = [r \in Replicas |-> {}],
                        !.hw = [r \in Replicas |-> 0],
                        !.start = [r \in Replicas |-> 0],
                        !.since = [r \in Replicas |-> 0],
                        !.ends = [r \in Replicas |-> Unheard]]

CutOff(r) ==
    /\ r \in c.up \cap c.active /\ May("cut")
    /\ c' = Fence(Spent(c, "cut"), r)

TooSlow(l, f) ==
    /\ l # f /\ Leads(c, l) /\ f \in c.members[l]
    /\ c.ends[l][f] # Len(c.log[l])
    /\ f \in c.up => May("cut")
    /\ Grants(c, l, c.members[l] \ {f})
    /\ LET asked == Asked(c, l, c.members[l] \ {f}) IN c' = IF f \in c.up THEN Spent(asked, "cut") ELSE asked

Expire(r) ==
    /\ r \in c.active \ c.up
    /\ c' = Fence(c, r)

(* Recovery reads the log, and flushes nothing. *)
Recovered(r) ==
    IF Recovery = "raised" THEN Len(c.log[r]) ELSE IF Recovery = "kept" THEN c.point[r] ELSE Min(c.point[r], Len(c.log[r]))

Start(r) ==
    LET back == [c EXCEPT !.up = @ \cup {r}, !.point[r] = Recovered(r)]
        known == IF Elr THEN Leaves(back, r, TRUE) ELSE back
    IN /\ r \notin c.up \cup c.active
       /\ c' = Role(known, r, known.leader, known.epoch)

Unfence(r) ==
    LET back == [c EXCEPT !.active = @ \cup {r}]
    IN /\ r \in c.up \ (c.active \cup c.untold)
       /\ c' = IF c.leader = None THEN Changed(back, c.isr, back.active, {}) ELSE back

(* AssignReplicasToDirs up to 4.2: the partition is looked at as if it had no ELR, and nobody is elected uncleanly. *)
Assign(r) ==
    /\ r \in c.up \cap c.untold
    /\ c' = [Built(c, c.isr, c.active, {}, FALSE, FALSE) EXCEPT !.untold = @ \ {r}]

ElectPreferred ==
    LET able == (IF c.isr # {} THEN c.isr ELSE c.elr) \cap c.active
    IN /\ c.leader \notin {None, Preferred}
       /\ Preferred \in able
       /\ c' = [c EXCEPT !.leader = Preferred, !.epoch = @ + 1,
                         !.isr = IF Preferred \in c.elr THEN {Preferred} ELSE @,
                         !.elr = @ \ {Preferred}]

Next ==
    \/ \E r \in Replicas : Write(r) \/ Fetch(r) \/ Hear(r)
    \/ \E r \in Replicas : Crash(r) \/ LoseLog(r) \/ LosePower(r) \/ CutOff(r)
    \/ \E r \in Replicas : Expire(r) \/ Start(r) \/ Assign(r) \/ Unfence(r)
    \/ \E l, f \in Replicas : TooSlow(l, f)
    \/ AllLosePower
    \/ ElectPreferred

Spec == Init /\ [][Next]_c

AcknowledgedKept == \A r \in Replicas : Leads(c, r) /\ c.at[r] = c.epoch => c.acked \subseteq {c.log[r][n] : n \in 1..Len(c.log[r])}
=============================================================================
