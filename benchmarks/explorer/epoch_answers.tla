---------------------------- MODULE epoch_answers ----------------------------
(* Followers whose questions and fetches are under way while leader epochs begin: *)
(* KAFKA-7786, KIP-320, KAFKA-7164. Written for TLC from what the releases do and  *)
(* not from the explorer's code: both are to count the same states.                *)
EXTENDS Integers

CONSTANTS Followers,   \* brokers with numbers from 2 on; broker 1 leads throughout
          LastEpoch,   \* leader epochs are 0 to this one
          FollowedOn,  \* over so many epochs of one leader a follower goes on (2.0.1: 1, since 2.1: 0)
          Fenced,      \* whether requests carry the leader epoch (since 2.1)
          Dropped      \* whether answers on the end of an epoch are dropped in another one (since 2.1.1)

Leader == 1
Brokers == Followers \cup {Leader}

VARIABLES begun, epoch, work, mail

vars == <<begun, epoch, work, mail>>

Nothing == [kind |-> "none"]

Init ==
    /\ begun = 0
    /\ epoch = [b \in Brokers |-> 0]
    /\ work = [f \in Followers |-> "fetch"]
    /\ mail = [f \in Followers |-> Nothing]

(* Another broker dies: the controller writes the same leader with another epoch. *)
Begin ==
    /\ begun < LastEpoch
    /\ begun' = begun + 1
    /\ UNCHANGED <<epoch, work, mail>>

Hear(b) ==
    /\ epoch[b] < begun
    /\ epoch' = [epoch EXCEPT ![b] = @ + 1]
    /\ work' = IF b \in Followers /\ FollowedOn = 0 THEN [work EXCEPT ![b] = "cut"] ELSE work
    /\ UNCHANGED <<begun, mail>>

(* One request at a time: where the last epoch ends, while the log may have to be cut; records after that. *)
Send(f) ==
    /\ mail[f] = Nothing
    /\ work[f] # "stopped"
    /\ mail' = [mail EXCEPT ![f] = [kind |-> "request", of |-> work[f], in |-> epoch[f]]]
    /\ UNCHANGED <<begun, epoch, work>>

Verdict(e) ==
    CASE ~Fenced -> "fine"
      [] e < epoch[Leader] -> "fenced"
      [] e > epoch[Leader] -> "unknown"
      [] OTHER -> "fine"

Answer(f) ==
    /\ mail[f].kind = "request"
    /\ mail' = [mail EXCEPT ![f] = [kind |-> "answer", of |-> @.of, in |-> @.in, says |-> Verdict(@.in)]]
    /\ UNCHANGED <<begun, epoch, work>>

Take(f) ==
    LET of == mail[f].of
        says == mail[f].says
        stale == mail[f].in # epoch[f]
        counts == ~(stale /\ (of = "fetch" \/ Dropped))
    IN /\ mail[f].kind = "answer"
       /\ mail' = [mail EXCEPT ![f] = Nothing]
       /\ work' = CASE counts /\ says = "fenced" -> [work EXCEPT ![f] = "stopped"]
                    [] counts /\ says = "fine" -> [work EXCEPT ![f] = "fetch"]
                    [] OTHER -> work
       /\ UNCHANGED <<begun, epoch>>

Next ==
    \/ Begin
    \/ \E b \in Brokers : Hear(b)
    \/ \E f \in Followers : Send(f) \/ Answer(f) \/ Take(f)

Spec == Init /\ [][Next]_vars

(* What can be done is done some time; nobody has to die. *)
Fair ==
    /\ \A b \in Brokers : SF_vars(Hear(b))
    /\ \A f \in Followers : SF_vars(Send(f)) /\ SF_vars(Answer(f)) /\ SF_vars(Take(f))

FairSpec == Spec /\ Fair

StoppedIsBehind == \A f \in Followers : work[f] = "stopped" => epoch[f] < begun

FollowersFetch == <>[](\A b \in Brokers : epoch[b] = begun /\ (b \in Followers => work[b] = "fetch"))
=============================================================================
