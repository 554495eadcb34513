--------------------------- MODULE kip320_release ---------------------------
(***************************************************************************)
(* kip320 as Kafka 2.1 has it, in the two points where the published model *)
(* is another:                                                             *)
(*                                                                         *)
(* - The controller keeps the last member in the ISR, whoever leads        *)
(*   (ReplicaStateMachine and KafkaController.removeReplicaFromIsr).       *)
(* - A follower joins the ISR once its log reaches the high watermark and  *)
(*   the offset at which the leader's epoch began (KAFKA-7128,             *)
(*   Partition.isFollowerInSync). The published model waits until the      *)
(*   leader's high watermark has reached its own epoch.                    *)
(***************************************************************************)
EXTENDS kip320, FiniteSets

RemoveButLast(r) ==
    LET isr == IF decided.isr = {r} THEN {r} ELSE decided.isr \ {r}
        leader == IF r = decided.leader THEN None ELSE decided.leader
    IN  /\ r \in decided.isr
        /\ isr # decided.isr \/ leader # decided.leader
        /\ Decide(leader, isr)

\* The records that a leader had when its epoch began: those before the first of its own.
Before(l) == Cardinality({n \in 1..Len(log[l]) : \A m \in 1..n : log[l][m][2] # view[l].epoch})

ExpandAtStart(l, r) ==
    /\ r \notin view[l].isr
    /\ InEpoch(l, r)
    /\ Len(log[r]) >= watermark[l]
    /\ Len(log[r]) >= Before(l)
    /\ WriteIsr(l, view[l].isr \union {r})

ReleaseNext ==
    \/ \E r \in Replicas : Elect(r) \/ RemoveButLast(r) \/ Write(r) \/ Fetch(r) \/ RaiseHighWatermark(r)
    \/ \E n \in DOMAIN sent : BecomeLeader(n) \/ \E r \in Replicas : BecomeFollower(r, n)
    \/ \E l \in Replicas : LeadsTruly(l) /\ \E r \in Replicas : ShrinkIsr(l, r) \/ ExpandAtStart(l, r)

ReleaseSpec == Init /\ [][ReleaseNext]_vars
=============================================================================
