--------------------------- MODULE kip320_release ---------------------------
(***************************************************************************)
(* kip320 as Kafka has it since 2.1, in the points where the published     *)
(* model is another:                                                       *)
(*                                                                         *)
(* - The controller keeps the last member in the ISR, whoever leads        *)
(*   (ReplicaStateMachine and KafkaController.removeReplicaFromIsr).       *)
(* - A follower joins the ISR once its log reaches the high watermark and  *)
(*   the offset at which the leader's epoch began (KAFKA-7128,             *)
(*   Partition.isFollowerInSync). The published model waits until the      *)
(*   leader's high watermark has reached its own epoch.                    *)
(* - OnFetch, since 2.8 (KAFKA-10554): a follower keeps its log when it    *)
(*   begins to follow. Its fetch names the epoch of its last record. If    *)
(*   that epoch ends earlier in the leader's log, the answer says where,   *)
(*   and the follower truncates (Partition.readRecords, KIP-595).          *)
(* - Noted: the leader goes by the offset of such a fetch, too, as 2.8.0   *)
(*   does (KAFKA-13141, ReplicaManager.updateFollowerFetchState).          *)
(***************************************************************************)
EXTENDS kip320, FiniteSets

CONSTANTS OnFetch, Noted

RemoveButLast(r) ==
    LET isr == IF decided.isr = {r} THEN {r} ELSE decided.isr \ {r}
        leader == IF r = decided.leader THEN None ELSE decided.leader
    IN  /\ r \in decided.isr
        /\ isr # decided.isr \/ leader # decided.leader
        /\ Decide(leader, isr)

-----------------------------------------------------------------------------
\* The records of a log up to the end of an epoch: epochs never go down in it.
UpTo(records, epoch) == Cardinality({n \in 1..Len(records) : records[n][2] <= epoch})

LastEpochOf(records) == records[Len(records)][2]

\* The leader's log ends the follower's last epoch before the follower's log ends, or has no record of that epoch and
\* none before it that reaches as far.
Diverges(l, r) ==
    /\ OnFetch
    /\ Len(log[r]) > 0
    /\ LET ended == UpTo(log[l], LastEpochOf(log[r])) IN
       \/ ended < Len(log[r])
       \/ ended > 0 /\ log[l][ended][2] < LastEpochOf(log[r])

\* The leader has a follower's position from its fetches.
Known(l, r) == InEpoch(l, r) /\ (Noted \/ ~Diverges(l, r))

\* By the answer the follower drops what is behind the leader's end of the epoch in the answer, and behind its own.
Truncate(r) ==
    LET l == view[r].leader IN
    /\ l # None
    /\ l # r
    /\ InEpoch(l, r)
    /\ Diverges(l, r)
    /\ LET ended == UpTo(log[l], LastEpochOf(log[r]))
           answered == IF ended = 0 THEN LastEpochOf(log[r]) ELSE log[l][ended][2]
           own == UpTo(log[r], answered)
           both == own > 0 /\ log[r][own][2] = answered
           end == IF both THEN Min(own, ended) ELSE own
       IN  /\ log' = [log EXCEPT ![r] = SubSeq(@, 1, end)]
           /\ watermark' = [watermark EXCEPT ![r] = Min(@, end)]
    /\ UNCHANGED <<view, written, decided, sent>>

FollowUncut(r, n) ==
    /\ sent[n].leader \notin {None, r}
    /\ n - 1 > view[r].epoch
    /\ Hears(r, n)
    /\ UNCHANGED <<log, watermark, written, decided, sent>>

FetchOrTruncate(r) ==
    \/ view[r].leader # None /\ ~Diverges(view[r].leader, r) /\ Fetch(r)
    \/ Truncate(r)

RaiseByKnown(l) ==
    /\ \A r \in view[l].isr : Known(l, r)
    /\ RaiseHighWatermark(l)

-----------------------------------------------------------------------------
\* The records that a leader had when its epoch began: those before the first of its own.
Before(l) == Cardinality({n \in 1..Len(log[l]) : \A m \in 1..n : log[l][m][2] # view[l].epoch})

ShrinkByKnown(l, r) ==
    /\ r # l
    /\ r \in view[l].isr
    /\ ~(Known(l, r) /\ Len(log[r]) >= Len(log[l]))
    /\ WriteIsr(l, view[l].isr \ {r})

ExpandAtStart(l, r) ==
    /\ r \notin view[l].isr
    /\ Known(l, r)
    /\ Len(log[r]) >= watermark[l]
    /\ Len(log[r]) >= Before(l)
    /\ WriteIsr(l, view[l].isr \union {r})

ReleaseNext ==
    \/ \E r \in Replicas : Elect(r) \/ RemoveButLast(r) \/ Write(r) \/ FetchOrTruncate(r) \/ RaiseByKnown(r)
    \/ \E n \in DOMAIN sent :
        \/ BecomeLeader(n)
        \/ \E r \in Replicas : IF OnFetch THEN FollowUncut(r, n) ELSE BecomeFollower(r, n)
    \/ \E l \in Replicas : LeadsTruly(l) /\ \E r \in Replicas : ShrinkByKnown(l, r) \/ ExpandAtStart(l, r)

ReleaseSpec == Init /\ [][ReleaseNext]_vars
=============================================================================
