---------------------------- MODULE group_members ----------------------------
(* A consumer group of KIP-848 as Kafka 4.x has it: members that heartbeat, take over *)
(* and give up partitions by themselves, and a coordinator that assigns. Written for   *)
(* TLC from GroupMetadataManager, CurrentAssignmentBuilder, the uniform assignor and    *)
(* AbstractMembershipManager, and not from the explorer's code: both are to count the  *)
(* same states.                                                                        *)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
    Clients,          \* numbers from 1 on; the coordinator has its members in this order
    Partitions,       \* numbers from 1 on, of the topic that all subscribe to
    Faults,           \* clients that leave or crash, sessions that end although the client runs
    TimeOuts,         \* answers that are not waited for any more
    Rejoins,          \* whether a known member may join again (KAFKA-19233, 4.2)
    Waits,            \* whether assignments come an interval apart (KIP-1263, 4.3)
    FirstEpoch,       \* of a group without members (KAFKA-20268: 1 from 4.3 on)
    NamesTarget       \* whether a client also names what it is to take over

VARIABLES
    client,           \* what each client knows and has
    request,          \* the heartbeat of each client that is under way
    answer,           \* the answer to it
    late,             \* a heartbeat whose answer is not waited for
    bye,              \* whether the heartbeat by which it leaves is under way
    members,          \* those of the group
    member,           \* what the coordinator knows of each
    target,           \* the member that each partition is to be of, 0 for none
    groupEpoch, targetEpoch,
    faults, timeOuts  \* that are left

vars == <<client, request, answer, late, bye, members, member, target, groupEpoch, targetEpoch, faults, timeOuts>>

(* In place of a set of partitions that is not there. *)
None == {0}
Nothing == [kind |-> "nothing"]

Apart == [state |-> "joining", epoch |-> 0, has |-> None, told |-> None, isTold |-> TRUE,
          step |-> None, stepIsTold |-> FALSE, sent |-> FALSE, reset |-> FALSE]
Newcomer == [state |-> "stable", epoch |-> 0, before |-> 0, assigned |-> {}, revoking |-> {}]

Init ==
    /\ client = [c \in Clients |-> Apart]
    /\ request = [c \in Clients |-> Nothing]
    /\ answer = [c \in Clients |-> Nothing]
    /\ late = [c \in Clients |-> Nothing]
    /\ bye = [c \in Clients |-> FALSE]
    /\ members = {}
    /\ member = [c \in Clients |-> Newcomer]
    /\ target = [p \in Partitions |-> 0]
    /\ groupEpoch = FirstEpoch
    /\ targetEpoch = FirstEpoch
    /\ faults = Faults
    /\ timeOuts = TimeOuts

group == <<members, member, target, groupEpoch, targetEpoch>>

(* ---- clients ---- *)

Alive(c) == client[c].state # "gone"
Asks(c) == request[c] # Nothing \/ answer[c] # Nothing
Has(k) == IF k.has = None THEN {} ELSE k.has
Told(k) == IF k.told = None THEN {} ELSE k.told

Send(c) ==
    LET k == client[c]
        joins == k.state = "joining"
        names == joins \/ ~k.sent
        said == IF NamesTarget THEN Has(k) \cup Told(k) ELSE Has(k)
    IN /\ Alive(c) /\ ~Asks(c)
       /\ request' = [request EXCEPT ![c] = [kind |-> "beat", all |-> joins \/ k.reset, epoch |-> k.epoch,
                                             has |-> IF names THEN said ELSE None]]
       /\ client' = [client EXCEPT ![c] = [k EXCEPT
                        !.reset = FALSE, !.sent = TRUE,
                        !.state = CASE @ = "acknowledging" /\ k.isTold -> "stable"
                                    [] @ = "acknowledging" /\ ~k.isTold -> "reconciling"
                                    [] OTHER -> @]]
       /\ UNCHANGED <<answer, late, bye, group, faults, timeOuts>>

Ended == [Apart EXCEPT !.state = "gone"]

(* Another assignment than the last one it was told is taken over by and by. *)
Assigned(k, partitions) ==
    LET other == partitions # k.told
        up == k.isTold /\ ~other
    IN [k EXCEPT !.told = partitions, !.isTold = up,
                 !.stepIsTold = @ /\ ~other,
                 !.state = CASE ~up -> "reconciling"
                             [] up /\ @ \in {"reconciling", "joining"} -> "stable"
                             [] OTHER -> @]

Hear(c) ==
    LET k == client[c]
        a == answer[c]
        heard == [k EXCEPT !.epoch = a.epoch]
    IN /\ a # Nothing
       /\ answer' = [answer EXCEPT ![c] = Nothing]
       /\ client' = [client EXCEPT ![c] =
             CASE a.kind = "error" /\ k.state = "leaving" -> Ended
               [] a.kind = "error" /\ k.state # "leaving" -> [Apart EXCEPT !.reset = TRUE]
               [] a.kind = "ok" /\ (a.has = None \/ k.state = "leaving") -> heard
               [] OTHER -> Assigned(heard, a.has)]
       /\ UNCHANGED <<request, late, bye, group, faults, timeOuts>>

Reconcile(c) ==
    LET k == client[c]
    IN /\ k.state = "reconciling" /\ ~k.isTold /\ k.step = None
       /\ client' = [client EXCEPT ![c] =
             IF k.has = k.told
             THEN [k EXCEPT !.isTold = TRUE, !.sent = FALSE, !.state = "acknowledging"]
             ELSE [k EXCEPT !.step = k.told, !.stepIsTold = TRUE]]
       /\ UNCHANGED <<request, answer, late, bye, group, faults, timeOuts>>

TakeOver(c) ==
    LET k == client[c]
        after == [k EXCEPT !.step = None, !.stepIsTold = FALSE]
    IN /\ k.step # None
       /\ client' = [client EXCEPT ![c] =
             IF k.state = "reconciling"
             THEN [after EXCEPT !.has = k.step, !.isTold = k.stepIsTold, !.sent = FALSE, !.state = "acknowledging"]
             ELSE after]
       /\ UNCHANGED <<request, answer, late, bye, group, faults, timeOuts>>

Leave(c) ==
    /\ faults > 0 /\ Alive(c) /\ client[c].state # "leaving"
    /\ faults' = faults - 1
    /\ client' = [client EXCEPT ![c].state = "leaving", ![c].step = None, ![c].stepIsTold = FALSE]
    /\ UNCHANGED <<request, answer, late, bye, group, timeOuts>>

Release(c) ==
    /\ client[c].state = "leaving"
    /\ client' = [client EXCEPT ![c] = Ended]
    /\ answer' = [answer EXCEPT ![c] = Nothing]
    /\ bye' = [bye EXCEPT ![c] = TRUE]
    /\ UNCHANGED <<request, late, group, faults, timeOuts>>

Crash(c) ==
    /\ faults > 0 /\ Alive(c)
    /\ faults' = faults - 1
    /\ client' = [client EXCEPT ![c] = Ended]
    /\ answer' = [answer EXCEPT ![c] = Nothing]
    /\ UNCHANGED <<request, late, bye, group, timeOuts>>

TimeOut(c) ==
    LET sent == request[c] # Nothing
    IN /\ timeOuts > 0 /\ Alive(c) /\ Asks(c)
       /\ sent => late[c] = Nothing
       /\ timeOuts' = timeOuts - 1
       /\ late' = IF sent THEN [late EXCEPT ![c] = request[c]] ELSE late
       /\ request' = [request EXCEPT ![c] = Nothing]
       /\ answer' = [answer EXCEPT ![c] = Nothing]
       /\ client' = [client EXCEPT ![c].sent = FALSE, ![c].reset = TRUE]
       /\ UNCHANGED <<bye, group, faults>>

(* ---- the coordinator ---- *)

Least(s) == CHOOSE n \in s : \A m \in s : n <= m

(* The elements of a set of numbers, the least first. *)
RECURSIVE InOrder(_)
InOrder(s) == IF s = {} THEN <<>> ELSE <<Least(s)>> \o InOrder(s \ {Least(s)})

Of(c) == {p \in Partitions : target[p] = c}
First(s, n) == {p \in s : Cardinality({q \in s : q < p}) < n}

(* The partitions of each of some members: an even share, one more for who has more already, or for the last ones. *)
RECURSIVE Shares(_, _)
Shares(order, more) ==
    LET n == Cardinality(members')
        share == Cardinality(Partitions) \div n
        one == more > 0 /\ (Cardinality(Of(Head(order))) > share \/ Len(order) = more)
    IN IF order = <<>> THEN <<>> ELSE <<share + (IF one THEN 1 ELSE 0)>> \o Shares(Tail(order), more - (IF one THEN 1 ELSE 0))

RECURSIVE Flat(_)
Flat(s) == IF s = <<>> THEN <<>> ELSE Head(s) \o Flat(Tail(s))

(* Each keeps what fits its share; free partitions go to members with room, in order, those of nobody first. *)
Uniform ==
    LET order == InOrder(members')
        n == Len(order)
        shares == Shares(order, Cardinality(Partitions) % n)
        Keeps(i) == First(Of(order[i]), shares[i])
        Gives(i) == InOrder(Of(order[i]) \ Keeps(i))
        nobodys == {p \in Partitions : target[p] \notin members'}
        free == InOrder(nobodys) \o Flat([i \in 1..n |-> Gives(i)])
        Room(i) == shares[i] - Cardinality(Keeps(i))
        RECURSIVE Before(_)
        Before(i) == IF i = 1 THEN 0 ELSE Before(i - 1) + Room(i - 1)
        Gets(i) == {free[j] : j \in (Before(i) + 1)..(Before(i) + Room(i))}
    IN [p \in Partitions |-> order[CHOOSE i \in 1..n : p \in Keeps(i) \cup Gets(i)]]

Held == UNION {member[c].assigned \cup member[c].revoking : c \in members}

(* A member's next step towards its target, of what it names. *)
Settled(m, named) ==
    \/ m.state = "stable" /\ m.epoch = targetEpoch'
    \/ m.state = "unrevoked" /\ (named = None \/ named \cap m.revoking # {})

Stepped(m, wanted, named) ==
    LET epoch == IF m.state = "unrevoked" THEN m.epoch + 1 ELSE m.epoch
        kept == m.assigned \cap wanted
        lost == m.assigned \ wanted
        missing == wanted \ kept
    IN CASE Settled(m, named) -> m
         [] ~Settled(m, named) /\ lost # {} /\ (named = None \/ named \cap lost # {}) ->
                [state |-> "unrevoked", epoch |-> epoch, before |-> m.epoch, assigned |-> kept, revoking |-> lost]
         [] OTHER ->
                [state |-> IF missing \cap Held = {} THEN "stable" ELSE "unreleased", epoch |-> targetEpoch',
                 before |-> m.epoch, assigned |-> kept \cup (missing \ Held), revoking |-> {}]

(* An epoch that is accepted: the present one, the one before if its answer may have been lost, that of a join. *)
Accepts(c, epoch, named) ==
    LET m == member[c]
    IN \/ epoch = m.epoch
       \/ epoch = 0 /\ Rejoins
       \/ epoch < m.epoch /\ epoch = m.before /\ named # None /\ named \subseteq m.assigned

Refused(c, h) == IF c \in members THEN ~Accepts(c, h.epoch, h.has) ELSE h.epoch # 0

(* Takes a heartbeat that is not refused; what is to be answered is told by its outcome. *)
Takes(c, h) ==
    /\ ~Refused(c, h)
    /\ members' = members \cup {c}
    /\ groupEpoch' = IF c \in members THEN groupEpoch ELSE groupEpoch + 1
    /\ \/ /\ groupEpoch' > targetEpoch
          /\ targetEpoch' = groupEpoch'
          /\ target' = Uniform
       \/ /\ groupEpoch' = targetEpoch \/ (Waits /\ targetEpoch # FirstEpoch)
          /\ UNCHANGED <<target, targetEpoch>>
    /\ member' = [member EXCEPT ![c] = Stepped(@, {p \in Partitions : target'[p] = c}, h.has)]

Answered(c, h) ==
    LET now == member'[c].assigned
    IN [kind |-> "ok", epoch |-> member'[c].epoch,
        has |-> IF h.epoch = 0 \/ h.all \/ now # member[c].assigned THEN now ELSE None]

Serve(c) ==
    LET h == request[c]
        Told_(a) == IF Alive(c) THEN [answer EXCEPT ![c] = a] ELSE answer
    IN /\ h # Nothing
       /\ request' = [request EXCEPT ![c] = Nothing]
       /\ \/ /\ Refused(c, h)
             /\ answer' = Told_([kind |-> "error", unknown |-> c \notin members])
             /\ UNCHANGED group
          \/ /\ Takes(c, h)
             /\ answer' = Told_(Answered(c, h))
       /\ UNCHANGED <<client, late, bye, faults, timeOuts>>

ServeLate(c) ==
    LET h == late[c]
    IN /\ h # Nothing
       /\ late' = [late EXCEPT ![c] = Nothing]
       /\ \/ Refused(c, h) /\ UNCHANGED group
          \/ Takes(c, h)
       /\ UNCHANGED <<client, request, answer, bye, faults, timeOuts>>

Removed(c) ==
    /\ members' = members \ {c}
    /\ member' = [member EXCEPT ![c] = Newcomer]
    /\ target' = [p \in Partitions |-> IF target[p] = c THEN 0 ELSE target[p]]
    /\ groupEpoch' = groupEpoch + 1
    /\ UNCHANGED targetEpoch

(* The last heartbeat comes after the one before it, on the same connection. *)
LetGo(c) ==
    /\ bye[c] /\ request[c] = Nothing
    /\ bye' = [bye EXCEPT ![c] = FALSE]
    /\ IF c \in members THEN Removed(c) ELSE UNCHANGED group
    /\ UNCHANGED <<client, request, answer, late, faults, timeOuts>>

Expire(c) ==
    /\ faults > 0 /\ c \in members
    /\ faults' = faults - 1
    /\ Removed(c)
    /\ UNCHANGED <<client, request, answer, late, bye, timeOuts>>

(* Who is gone is not heard of, nor is who cannot join; who never hears that it is to give up does not in time. *)
SessionOver(c) ==
    LET untold == member[c].state = "unrevoked" /\ answer[c] = Nothing /\ client[c].told # member[c].assigned
    IN /\ c \in members
       /\ CASE client[c].state = "gone" -> TRUE
            [] client[c].state = "leaving" -> FALSE
            [] client[c].state = "joining" -> ~Accepts(c, 0, {})
            [] OTHER -> untold
       /\ Removed(c)
       /\ UNCHANGED <<client, request, answer, late, bye, faults, timeOuts>>

Next ==
    \E c \in Clients :
        \/ Send(c) \/ Hear(c) \/ Reconcile(c) \/ TakeOver(c) \/ Release(c)
        \/ Serve(c) \/ ServeLate(c) \/ LetGo(c) \/ SessionOver(c)
        \/ Leave(c) \/ Crash(c) \/ TimeOut(c) \/ Expire(c)

Spec == Init /\ [][Next]_vars

(* ---- what is asked ---- *)

IsMember(c) ==
    /\ Alive(c) /\ client[c].epoch # 0 /\ c \in members
    /\ client[c].epoch \in {member[c].epoch, member[c].before}

OwnedOnce ==
    \A c, d \in Clients : c # d /\ IsMember(c) /\ IsMember(d) => Has(client[c]) \cap Has(client[d]) = {}

(* What the coordinator counts as a member's. *)
Counts(c) == member[c].assigned \cup member[c].revoking

ReleasedFirst == \A c \in Clients : IsMember(c) => Has(client[c]) \subseteq Counts(c)

GivenOnce ==
    /\ \A c \in members : member[c].assigned \cap member[c].revoking = {}
    /\ \A c, d \in members : c # d => Counts(c) \cap Counts(d) = {}

EpochsInOrder ==
    /\ targetEpoch <= groupEpoch
    /\ \A c \in members : member[c].epoch <= targetEpoch
    /\ \A c \in Clients : client[c].epoch <= groupEpoch
    /\ \A c \in Clients : IsMember(c) => client[c].epoch <= member[c].epoch

InTarget == {c \in members : member[c].epoch = targetEpoch}

EpochEarned ==
    \A c \in InTarget :
        /\ Counts(c) \subseteq Of(c)
        /\ IsMember(c) /\ client[c].epoch = targetEpoch => Has(client[c]) \subseteq Of(c)

StableReconciled == \A c \in InTarget : member[c].state = "stable" => member[c].assigned = Of(c)
=============================================================================
