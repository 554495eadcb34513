"""Meanings of the fields of the answers of ``kreplica whatif`` mean; ``answer_fields`` puts them in place."""

from __future__ import annotations

from kreplica.model.schema import PARTITIONS

LIST = {
    "scenario": "name of the scenario",
    "title": "what it shows, in one line",
    "versions": "versions of Kafka at which something else comes out",
    "played_under": "which versions of Kafka, and which mode, have what it is about",
    "source": "where it is from",
}
SHOW = {
    "version": "version of Kafka from which on this comes out",
    "settings": "other settings than the scenario's own, an object",
    "expected": "what must come out, an object: measures by name",
    "controllers": "the modes that it holds for: zookeeper, kraft",
}
_SHOW_REMARK = (
    "`scenario` beside the rows has why, source, notes, played_under, cluster, settings, plan of faults, and of each"
    " client its name, what it does and its settings."
)
SHOW_REMARKS = (_SHOW_REMARK,)
RUN = {
    "time_ms": "virtual time in milliseconds",
    "node": "where it happened; plan for what the plan of faults does",
    "kind": "kind of event",
    "partition": "partition it is about, null if none",
    "what": "the event as a sentence",
    "rule": "[rule of the protocol](protocol-rules.md) that acted, null if none did",
    "rule_source": "Kafka's classes, KIPs and issues that the rule names",
    "values": "what the event says, an object by name; null of a message",
    "sender": "of a message: the node that sent it; null of other events, as the fields up to carries",
    "receiver": "the node that got it",
    "message": "its name: of a request Kafka's or ZooKeeper's, of an answer with answer behind it",
    "sent_ms": "when it was sent, in milliseconds of virtual time",
    "received_ms": "when it arrived",
    "carries": "its contents, a list",
    "leader": "the partition's leader afterwards, null if none",
    "leader_leo": "the leader's log end offset",
    "remote_leo": "what the leader knows of its followers' log end offsets, an object by node",
    "leader_hw": "the leader's high watermark",
    "follower_leo": "the other replicas' log end offsets, an object by node",
    "follower_hw": "the other replicas' high watermarks, an object by node; null of one that is down",
}
_OUTCOME = {
    "scenario": "name of the scenario",
    "version": "version of Kafka whose rules and defaults held",
    "settings": "other settings than the scenario's own, an object",
    "seed": "where chance began",
    "as_expected": "whether what the scenario says came out, null where it says nothing of these settings",
    "acknowledged": "records of which the application was told that they are written",
    "failed": "sends that failed: their records may be there or not",
    "lost": "acknowledged records that the leader's log lacks at the end",
    "unseen": "acknowledged records at or above the high watermark at the end: nobody can read them",
    "duplicated": "records that can be read more than once",
    "reordered": "records behind one that the same producer sent later",
    "diverged": "partitions of which two logs differ below both high watermarks",
    "torn": "transactions, as producer and number, of which read_committed consumers can read a part",
    "broken": "transactions whose producer was told otherwise than what can be read of them",
    "hanging": "partitions with records of a transaction that nobody has ended",
    "aborted_read": "records of aborted transactions that a read_committed consumer read",
    "stale_read": "records read from a replica whose log was not the leader's there",
    "lost_read": "records that were read and are gone at the end",
    "read_twice": "records that a group, or a consumer without one, read more than once",
    "skipped": "records that a group or consumer passed over",
    "unavailable_ms": "milliseconds without a leader, over all partitions",
    "read_only_ms": "milliseconds below min.insync.replicas, over all partitions",
    "produce_ms_50": "median of the milliseconds from send to acknowledgement, null without any",
    "produce_ms_99": "what 99 of 100 sends did not exceed",
    "produce_ms_max": "the longest",
    "leader_changes": "how often another broker became leader",
    "isr_changes": "how often another ISR was written",
}
COMPARE = {**_OUTCOME, "not_played": "why this column cannot be played, and all else is null; null if it was"}
_RUN_REMARK = (
    "`outcome` beside the rows says what came out: scenario, version, settings, seed, what the fields of"
    " [compare](#kreplica-whatif-compare) say, sent, non_monotonic, own_unread, differences, and findings: each breach"
    " of an invariant with time_ms, invariant, partition, offset, node, expected and found. With `--why`, `why` has"
    " value, partition, fate (lost, doubled, unseen, gone, stands), conclusion, causes: each with event (place in the"
    " run), time_ms, what, note (what it means for the record), rule and rule_source. `summary` has events, trace_hash,"
    " and the words above a picture: title, verdict, look (bad, odd, good) and story."
)
_RUNS_REMARK = (
    "With `--runs` the schema is `kreplica/whatif-runs/v1` and the rows are under `runs`, one a run: seed,"
    " acknowledged, faults, wrong (what went wrong), lost (how many), unavailable_ms, trace_hash; `outcome` has runs,"
    " failing, idle, wrong (runs by what went wrong), invariants (name, promise, and how many runs broke it) and"
    " smallest: seed, wrong, plan and leave_out."
)
_OWN_REMARK = (
    "With `--from` `outcome.partitions` lists the partitions that were played: partition, sent, lost and unseen"
    " (records), without_leader_ms and read_only_ms (below min.insync.replicas). With `--runs`, those to which anything"
    " happened: partition, runs_lost and runs_unseen (in how many runs), without_leader_ms_max and read_only_ms_max (of"
    " the worst run)."
)
RUN_REMARKS = (_RUN_REMARK, _OWN_REMARK, _RUNS_REMARK)
FAIL = {
    "topic": PARTITIONS.field("topic").doc,
    "partition": PARTITIONS.field("partition").doc,
    "restarting": "the broker that restarts meanwhile, with --rolling-restart; otherwise null",
    "effect": "the worst of what becomes of it: unclean_leader, led by a replica out of sync, so records can be lost;"
    " unavailable, no live leader; isr_frozen, no controller takes a lost replica out of the ISR, so that"
    " acks=all writes time out; under_min_isr, led, but acks=all writes fail; new_leader; smaller_isr",
    "already": "whether it is so already",
    "leader": "who leads now, null if none",
    "leader_after": "who leads afterwards, null if none",
    "replicas": PARTITIONS.field("replicas").doc,
    "isr": "in-sync replicas now",
    "isr_after": "in-sync replicas afterwards",
    "elr": PARTITIONS.field("elr").doc,
    "elr_after": "eligible leader replicas afterwards",
    "last_known_elr_after": "afterwards, last known eligible leader replicas: who led last, where nobody leads",
    "min_isr": "min.insync.replicas that it was played with",
    "unclean": "whether the new leader is outside the ISR and the ELR",
    "candidates": "where nobody can lead cleanly, the replicas that are left: objects with broker, elected (uncleanly),"
    " end_offset (its log end offset), lost_from and lost_to (the offsets that it lacks, the last not"
    " included); null where not known",
}
