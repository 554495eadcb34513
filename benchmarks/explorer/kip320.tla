------------------------------- MODULE kip320 -------------------------------
(***************************************************************************)
(* One partition under KIP-320, written from the actions of the explorer's *)
(* model kip-320 (kreplica/engine/explorer/one_partition) so that TLC can  *)
(* count what the explorer counts.                                         *)
(*                                                                         *)
(* The controller decides at once and numbers its decisions by leader      *)
(* epochs.  What it sends stays: a broker may hear of any leader epoch     *)
(* above the one it knows, at any time.                                    *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS Replicas, LogSize, Records, LastEpoch

VARIABLES
    log,         \* of each replica: records, each a number and a leader epoch
    watermark,   \* the high watermark of each replica
    view,        \* the leader epoch, leader and ISR that each replica knows
    written,     \* how many records have been written
    decided,     \* the leader and ISR in force
    sent         \* the leader and ISR of each leader epoch, the first at 1

vars == <<log, watermark, view, written, decided, sent>>

None == 0
ASSUME None \notin Replicas

Min(a, b) == IF a < b THEN a ELSE b

-----------------------------------------------------------------------------
Leads(r) == view[r].leader = r

\* A replica that follows a leader in that leader's own epoch: all requests carry it.
InEpoch(l, r) == view[r].leader = l /\ view[r].epoch = view[l].epoch

\* Only the leader of the last decision may write the ISR.
LeadsTruly(l) == decided.leader = l /\ Leads(l) /\ view[l].epoch = Len(sent) - 1

\* The number of records up to the last that two logs have at the same place.
Shared(a, b) ==
    LET both == Min(Len(a), Len(b))
        same == {n \in 1..both : a[n] = b[n]}
    IN  IF same = {} THEN 0 ELSE CHOOSE n \in same : \A m \in same : m <= n

-----------------------------------------------------------------------------
Init ==
    /\ log = [r \in Replicas |-> <<>>]
    /\ watermark = [r \in Replicas |-> 0]
    /\ view = [r \in Replicas |-> [epoch |-> -1, leader |-> None, isr |-> {}]]
    /\ written = 0
    /\ decided = [leader |-> None, isr |-> Replicas]
    /\ sent = <<>>

Decide(leader, isr) ==
    /\ Len(sent) <= LastEpoch
    /\ decided' = [leader |-> leader, isr |-> isr]
    /\ sent' = Append(sent, decided')
    /\ UNCHANGED <<log, watermark, view, written>>

Elect(r) ==
    /\ r \in decided.isr
    /\ r # decided.leader
    /\ Decide(r, decided.isr)

\* Without a leader even the last member may leave the ISR.
Remove(r) ==
    IF r = decided.leader
    THEN Decide(None, IF decided.isr = {r} THEN {r} ELSE decided.isr \ {r})
    ELSE r \in decided.isr /\ Decide(decided.leader, decided.isr \ {r})

Hears(r, n) == view' = [view EXCEPT ![r] = [epoch |-> n - 1, leader |-> sent[n].leader, isr |-> sent[n].isr]]

BecomeLeader(n) ==
    LET l == sent[n].leader IN
    /\ l # None
    /\ n - 1 > view[l].epoch
    /\ Hears(l, n)
    /\ UNCHANGED <<log, watermark, written, decided, sent>>

BecomeFollower(r, n) ==
    LET l == sent[n].leader IN
    /\ l # None
    /\ l # r
    /\ n - 1 > view[r].epoch
    /\ Leads(l)
    /\ view[l].epoch = n - 1
    /\ LET end == Shared(log[r], log[l]) IN
       /\ log' = [log EXCEPT ![r] = SubSeq(@, 1, end)]
       /\ watermark' = [watermark EXCEPT ![r] = Min(@, end)]
    /\ Hears(r, n)
    /\ UNCHANGED <<written, decided, sent>>

Write(l) ==
    /\ Leads(l)
    /\ written < Records
    /\ Len(log[l]) < LogSize
    /\ log' = [log EXCEPT ![l] = Append(@, <<written, view[l].epoch>>)]
    /\ written' = written + 1
    /\ UNCHANGED <<watermark, view, decided, sent>>

Fetch(r) ==
    LET l == view[r].leader IN
    /\ l # None
    /\ l # r
    /\ InEpoch(l, r)
    /\ Len(log[r]) < Len(log[l])
    /\ LET end == Len(log[r]) + 1 IN
       /\ log' = [log EXCEPT ![r] = Append(@, log[l][end])]
       /\ watermark' = [watermark EXCEPT ![r] = Min(watermark[l], end)]
    /\ UNCHANGED <<view, written, decided, sent>>

RaiseHighWatermark(l) ==
    /\ Leads(l)
    /\ watermark[l] < LogSize
    /\ \A r \in view[l].isr : InEpoch(l, r) /\ Len(log[r]) > watermark[l]
    /\ watermark' = [watermark EXCEPT ![l] = @ + 1]
    /\ UNCHANGED <<log, view, written, decided, sent>>

WriteIsr(l, isr) ==
    /\ view' = [view EXCEPT ![l].isr = isr]
    /\ decided' = [decided EXCEPT !.isr = isr]
    /\ UNCHANGED <<log, watermark, written, sent>>

ShrinkIsr(l, r) ==
    /\ r # l
    /\ r \in view[l].isr
    /\ ~(InEpoch(l, r) /\ Len(log[r]) >= Len(log[l]))
    /\ WriteIsr(l, view[l].isr \ {r})

\* The high watermark has to be in the leader's own epoch, or nothing is behind it.
ExpandIsr(l, r) ==
    /\ r \notin view[l].isr
    /\ InEpoch(l, r)
    /\ Len(log[r]) >= watermark[l]
    /\ IF watermark[l] = Len(log[l]) THEN TRUE ELSE log[l][watermark[l] + 1][2] = view[l].epoch
    /\ WriteIsr(l, view[l].isr \union {r})

Next ==
    \/ \E r \in Replicas : Elect(r) \/ Remove(r) \/ Write(r) \/ Fetch(r) \/ RaiseHighWatermark(r)
    \/ \E n \in DOMAIN sent : BecomeLeader(n) \/ \E r \in Replicas : BecomeFollower(r, n)
    \/ \E l \in Replicas : LeadsTruly(l) /\ \E r \in Replicas : ShrinkIsr(l, r) \/ ExpandIsr(l, r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* Two logs have the same records up to a high watermark.
Agree(a, b, end) == end <= Len(a) /\ end <= Len(b) /\ \A n \in 1..end : a[n] = b[n]

StrongIsr == \A l \in Replicas : Leads(l) => \A r \in decided.isr : Agree(log[l], log[r], watermark[l])
WeakIsr == \A l \in Replicas : Leads(l) => \A r \in view[l].isr : Agree(log[l], log[r], watermark[l])
=============================================================================
