"""What the fields of the commands' rows mean. Their names come from the code, their meanings stand here.

A field without a meaning, or a meaning without a field, stops the generator; tests/docs compares with real answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import whatif_fields

from analyzers.audit import SNAPSHOT_COLUMNS, SPAN_COLUMNS
from commands import (
    check,
    compare,
    config,
    config_check,
    decode_check,
    decode_checkpoints,
    decode_events,
    decode_metadata,
    decode_offsets_answer,
    decode_transactions,
    disks,
    imbalance,
    rebalance_answer,
    rebalance_leaders,
    recommend,
    roll_next,
    roll_plan,
    safe_to_stop,
    sandbox_answer,
    sandbox_load,
    snapshot,
    wait,
    whatif_answer,
    whatif_compare,
    whatif_fail,
    whatif_list,
    whatif_show,
)
from commands.audit_answer import COUNTS_COLUMNS
from kreplica.formats import index_rows, replica_comparison, segment_rows
from kreplica.formats.checks import segment_indexes
from kreplica.health.listing import ROW_FIELDS
from kreplica.model.predicates import PREDICATES
from kreplica.model.schema import PARTITIONS


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """The rows of one command.

    Args:
        schema: Its schema in JSON.
        rows_name: Key of the rows.
        fields: Name and meaning, in order.
        remarks: Paragraphs below the table.
        same_as: The command whose page lists these fields already.
    """

    schema: str
    rows_name: str
    fields: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    same_as: str = ""


def _fields(columns: Sequence[str], meanings: Mapping[str, str]) -> dict[str, str]:
    assert set(columns) == set(meanings), set(columns) ^ set(meanings)
    return {name: meanings[name] for name in columns}


def _answer(command: str, rows_name: str, columns: Sequence[str], meanings: Mapping[str, str]) -> AnswerFields:
    return AnswerFields(f"kreplica/{command}/v1", rows_name, _fields(columns, meanings))


_OF_SCHEMA = {field.name: field.doc for field in PARTITIONS.fields}
_OF_PREDICATES = {known.name: known.meaning for known in PREDICATES}
_OF_DESCRIBE = {
    "leader": "leader's broker id, null if none",
    "replication_factor": "replicas, less adding ones while a reassignment runs",
    "preferred": "led by the preferred leader",
    "preferred_leader": "the first of the replicas",
    "missing": "replicas that are not in sync",
    "causes": "what keeps missing replicas out, where the facts single it out: objects with kind, broker, leader where"
    " it stands on that too, since, evidence; [kinds](../health.md#causes)",
    "not_known": "missing replicas whose cause they do not single out: objects with broker, leader, candidates, read",
}
_DESCRIBE = {name: (_OF_DESCRIBE | _OF_PREDICATES | _OF_SCHEMA | _OF_DESCRIBE)[name] for name in ROW_FIELDS}

_MEASURED = (
    "With `--measure` a row has `measured`, too: for each missing replica that could be asked an object with broker,"
    " leader, pace (caught-up, catching-up, falling-behind, not-moving, unknown), records_behind, bytes_behind,"
    " records_per_second, bytes_per_second, leader_records_per_second and seconds_to_catch_up."
)
_SUMMARY_CAUSES = (
    "`summary.causes` is the smallest set of causes that explains what is under-replicated, or what a filter matched,"
    " the worst first: kind, broker, brokers, rack, leader, others, partitions, failing (of these with failing writes),"
    " certain, since, evidence. `summary.causes_open` is what it leaves open: partitions, choices, every_choice, read."
    " `summary.causes_smallest` is false where a smaller set may exist."
)
_DESCRIBE_REMARKS = (_MEASURED, _SUMMARY_CAUSES)

_CHECK = {
    "rule": "name of the rule, see [rules](rules.md)",
    "severity": "info, warning or critical",
    "topic": "topic, null where the rule is about a broker",
    "partition": "partition, null where the rule is about a topic or a broker",
    "broker": "broker, null where the rule is about a partition or a topic",
    "message": "the finding in words",
    "evidence": "the facts behind it, an object",
}
_CLUSTER = "cluster id, or name where the id is not known"
_AUDIT = {
    "cluster": _CLUSTER,
    "valid_from": "time of the first snapshot of an unbroken run of snapshots that show it",
    "valid_to": "time of the last one",
    "snapshots": "how many snapshots the run has",
    "in_newest": "whether the newest snapshot of the cluster shows it",
    **_CHECK,
}
_AUDIT_REMARKS = (
    "With `--per-snapshot` a row is one finding in one snapshot: "
    + ", ".join(f"`{name}`" for name in SNAPSHOT_COLUMNS)
    + ".",
    "With `--counts` the rows, under `counts`, are the counts of each cluster and time: "
    + ", ".join(f"`{name}`" for name in COUNTS_COLUMNS)
    + ".",
)
_COMPARE = {
    "topic": "topic, null where it is about a broker or the cluster",
    "partition": "partition, null where it is about a topic, a broker or the cluster",
    "broker": "broker, null where it is about something else",
    "field": "the fact that differs: a field of describe or of the brokers, controller, controller_epoch, or exists",
    "left": "its value on the left side, as text; null where that side does not have the thing",
    "right": "its value on the right side",
    "newer": "left or right: the side with the higher epoch; null where no epoch tells",
    "lasting": "whether both readings had these values; false while they keep changing, null after a single reading",
    "meaning": "what it may mean",
}
_LEADERS = {
    "topic": "topic name",
    "partition": "partition index",
    "from": "who leads now, null if none",
    "to": "the preferred leader",
    "electable": "whether it is alive and in sync, so that it can be elected",
    "reason": "why it can be elected, or why not",
    "leader_after": "who leads after the elections; null in a dry run",
    "done": "whether the preferred leader leads afterwards; null in a dry run",
}
_RECOMMEND = {
    "scope": "cluster, broker, topic, producer or consumer",
    "name": "topic, broker ids or file; null where it is about all brokers",
    "rule": "name of the rule, see [recommendations](recommendations.md); check's where the condition is the same",
    "setting": "what to set",
    "current": "its value now, null if nothing is set",
    "origin": "where that is set: topic, broker-dynamic, cluster-dynamic, broker-static, default, assignment for"
    " replicas, file for clients; null where not known",
    "recommended": "what it should be",
    "severity": _CHECK["severity"],
    "why": "what it means for the user as it is",
    "evidence": "a run that shows it: null, for runs cannot be replayed yet",
    "price": "what the recommended value costs",
    "command": "the line that sets it, of Kafka's own tools or of a properties file; null where it cannot be done now,"
    " as why then says",
}
_RECOMMEND_REMARK = "`summary.unjudged` lists the rules that lacked a fact, for how many subjects, and which fact."
_DISKS = {
    "broker": "broker id",
    "path": "log directory on that broker",
    "error": "Kafka's error name if the directory is offline; null if it is online",
    "total_bytes": "capacity of its volume; null before Kafka 3.3 and where it is offline (KIP-827)",
    "usable_bytes": "usable space of its volume (KIP-827)",
    "usable_percent": "usable space in percent of the capacity",
    "kafka_bytes": "sum of the replicas in it, future ones included; null where it is offline",
    "replicas": "how many replicas are in it, strays and future ones included",
    "strays": "how many of them the cluster does not place on this broker",
    "futures": "how many of them are copies within the broker under way (KIP-113)",
    "may_share_volume": "another directory of the same host has the same capacity and usable space, to a thousandth",
    "since": "time of the earlier snapshot; null without one",
    "filled_bytes": "usable space that the volume lost since, by whatever was written; below 0 if it gained some",
    "kafka_growth_bytes": "growth of kafka_bytes since",
    "trend": "filling, not growing, or why there is no forecast; null without an earlier snapshot",
    "days_until_full": "usable_bytes divided by filled_bytes a day; null unless the volume is filling",
}
_DISKS_REMARK = (
    "`summary` has the totals, in which directories that may share a volume count once, and three lists: `largest`, the"
    " largest partitions with their retention settings, each with value and origin; `strays`, replicas on a broker that"
    " the cluster does not place there, with the reason; `futures`, copies within a broker, with their lag."
)
_PLAN = {
    "topic": "topic name",
    "partition": "partition index",
    "from": "who led when the plan was made, null if nobody did",
    "to": "who is to lead",
    "step": "number of its step in the plan",
    "state": "pending, under-way (begun, and not known how it ended), done, already (led before its turn), failed,"
    " dropped (by cancel or rollback), or drifted (it no longer fits the cluster)",
    "leader": "who leads now, null if nobody does or it was not asked",
    "reason": "what has drifted, why it failed, or who has come to lead since",
    "rollback": "the way back: pending, under-way, done, already, failed, impossible; null where there is none",
    "rollback_reason": "why it failed or is impossible",
}
_IMBALANCE = {
    "broker": "broker id",
    "rack": "broker.rack",
    "alive": "registered and able to lead",
    "preferred_partitions": "partitions it is preferred for: it is the first of their replicas",
    "non_preferred": "those of them that another leads, or nobody: what KRaft counts",
    "ratio": "non_preferred / preferred_partitions, as a ZooKeeper controller counts; null if preferred for none",
    "electable": "those of them that it could be elected for now",
    "leaders": "partitions it leads",
    "replicas": "replicas assigned to it",
    "bytes": "size of the replicas on it; null where not known",
    "controller_would_act": "whether the controller's next pass elects it for any of them; null where a ZooKeeper and a"
    " KRaft controller would differ and it is not known which it is",
    "reason": "why, or why not",
}
_IMBALANCE_REMARK = (
    "`summary` has how many partitions are concerned (`imbalance_count`) and what the controller's metric of the name"
    " says (`preferred_replica_imbalance_count`: in ZooKeeper mode partitions that are moving to their preferred leader"
    " count otherwise; null where not known). It has what the controller decides by (`balancing`, each setting with its"
    " origin), how leaders, preferred leaders, replicas and bytes lie on the live brokers (`skew`), and under"
    " `non_preferred` each partition concerned with the `obstacle` that keeps its preferred leader from being elected,"
    " null if nothing does."
)
_SAFE_TO_STOP = {
    "topic": "topic name, null for the controller quorum",
    "partition": "partition index, null for the controller quorum",
    "effect": "under_min_isr: led, but acks=all writes fail; unavailable: no live leader; last_in_sync: nobody left"
    " that has every acknowledged record; quorum_lost: the controllers have no majority. One row for each that holds",
    "already": "whether it is so already, and waits for these brokers or gets worse",
    "accepted": "what accepted it: rf-one or topic; null if it stands against the stop",
    "reason": "why there is no room for the stop",
    "leader": "who leads now, null if none",
    "leader_after": "who would lead, null if none",
    "replicas": _OF_SCHEMA["replicas"],
    "isr": "in-sync replicas now",
    "isr_after": "in-sync replicas afterwards",
    "min_isr": _OF_SCHEMA["min_isr"],
}
_WHATIF_FAIL = {
    "topic": _OF_SCHEMA["topic"],
    "partition": _OF_SCHEMA["partition"],
    "restarting": "the broker that restarts meanwhile, with --rolling-restart; otherwise null",
    "effect": "the worst of what becomes of it: unclean_leader, led by a replica out of sync, so records can be lost;"
    " unavailable, no live leader; isr_frozen, no controller takes a lost replica out of the ISR, so that"
    " acks=all writes time out; under_min_isr, led, but acks=all writes fail; new_leader; smaller_isr",
    "already": "whether it is so already",
    "leader": "who leads now, null if none",
    "leader_after": "who leads afterwards, null if none",
    "replicas": _OF_SCHEMA["replicas"],
    "isr": "in-sync replicas now",
    "isr_after": "in-sync replicas afterwards",
    "elr": _OF_SCHEMA["elr"],
    "elr_after": "eligible leader replicas afterwards",
    "last_known_elr_after": "afterwards, last known eligible leader replicas: who led last, where nobody leads",
    "min_isr": "min.insync.replicas that it was played with",
    "unclean": "whether the new leader is outside the ISR and the ELR",
    "candidates": "where nobody can lead cleanly, the replicas that are left: objects with broker, elected (uncleanly),"
    " end_offset (its log end offset), lost_from and lost_to (the offsets that it lacks, the last not"
    " included); null where not known",
}
_ROLL_PLAN = {
    "node": "id of a broker, or of a controller that is none",
    "wave": "number of the wave in which it restarts, from 1 on; null if it is in none",
    "rack": "broker.rack",
    "leaders": "partitions that it leads now",
    "replicas": "replicas there",
    "voter": "whether it is a voter of the metadata quorum",
    "active_controller": "whether it is the active controller",
    "state": "planned, never (it cannot restart without harm) or down",
    "reason": "what stands against its restart, the most partitions first; null if nothing does",
}
_ROLL_NEXT = {
    "node": "id of a node of the wave whose turn it is",
    "wave": "number of that wave",
    "state": "restart: it is still to be restarted; down; catching-up: up, with replicas out of sync; not-told: it led"
    " nothing when it was named, so that a restart cannot be seen; back: restarted and in sync",
}
_WAIT = {name: _DESCRIBE[name] for name in wait.COLUMNS}
_SNAPSHOT = {
    "cluster": "cluster id, or name where the id is not known",
    "name": "what the command line called it",
    "status": "written, partial (something could not be read) or failed",
    "taken_at": "when, UTC",
    "partitions": "number of partitions",
    "brokers": "number of brokers",
    "bytes": "size of its files",
    "manifest": "its manifest",
    "error": "why it failed, null if it did not",
}
_SERVERS = {
    "sandbox": "name of the sandbox",
    "id": "node id; 0 is ZooKeeper",
    "roles": "broker, controller, zookeeper",
    "state": "running, paused or ended",
    "registered": "whether the cluster counts the broker as alive",
    "rack": "broker.rack",
    "pid": "process id",
    "endpoints": "listeners and their addresses",
    "log": "file with what the server printed",
}
_TOPIC = {name: _OF_SCHEMA[name] for name in sandbox_answer.TOPIC_COLUMNS}
_LOAD = {
    "topic": "topic name",
    "partition": "partition index",
    "sent": "records handed to the producer",
    "acknowledged": "records the brokers acknowledged",
    "refused": "records the producer gave up on",
    "read_back": "acknowledged records found in the log afterwards",
    "lost": "acknowledged records that are not there",
    "unread": "acknowledged records in partitions that could not be read to the end",
    "duplicated": "records that stand in the log more than once",
    "out_of_order": "records that stand behind a later one",
}
_CONTEXTS = {
    "context": "name of the context",
    "current": "whether commands that name no cluster mean it",
    "bootstrap_servers": "servers as written, null if command_config or zookeeper names the cluster",
    "zookeeper": "ZooKeeper servers and chroot, null if none",
    "command_config": "file of client properties as written, null if none",
    "security_protocol": "security.protocol of the context's own properties, null if it has none",
    "read_only": "whether changes are refused",
    "production": "whether changes ask for more confirmation",
}
_SETTINGS = {
    "context": "name of the context",
    "name": "setting; client properties begin with `properties.`, programs that print secrets with `commands.`",
    "value": "value as written; secrets are `(hidden)`, references to them are shown",
    "origin": "option, environment variable, key of the contexts file, line of a properties file, or default",
}
_CHECKS = {
    "context": "name of the context",
    "check": "settings, secrets, security, connection, zookeeper, identity, version, topics, or a permission",
    "status": "ok, warning, failed, unreachable, lacking (a permission that is not there), unknown",
    "message": "what was found; of a permission, the commands that need it",
    "fix": "what to do, null if nothing",
}
_OFFSETS = {
    "group": "group id",
    "topic": "topic name",
    "partition": "partition index",
    "offset": "committed offset: the next record that the group will read",
    "leader_epoch": "leader epoch of the last record read, null if it was not committed",
    "metadata": "what the client added",
    "commit_timestamp": "when, in ms",
    "expire_timestamp": "when it expires, in ms; null where offsets.retention.minutes says it",
    "pending": "sent in a transaction that is still open: not committed yet",
    "producer_id": "producer id of that transaction, null if it is not pending",
    "record_offset": "offset of the record in its partition of __consumer_offsets",
}
_BATCHES = {
    "file": "the segment",
    "base_offset": "first offset that the batch may hold; null for old compressed messages, whose records tell it",
    "last_offset": "last offset that it may hold",
    "count": "number of records; null as above",
    "leader_epoch": "leader epoch in which it was appended",
    "producer_id": "producer id, null without idempotence",
    "producer_epoch": "epoch of that id",
    "base_sequence": "sequence number of the first record",
    "transactional": "whether a transaction wrote it",
    "control": "whether it holds markers instead of data",
    "codec": "none, gzip, snappy, lz4 or zstd",
    "max_timestamp": "latest timestamp in ms, or time of the append",
    "delete_horizon": "from when tombstones in it may be removed, in ms; null where the cleaner has not said",
    "magic": "version of the batch: 0, 1 or 2",
    "position": "first byte in the file",
    "size": "bytes",
    "crc": "checksum as written",
    "valid": "whether the content has that checksum",
}
_RECORDS_REMARK = "With `--records` the rows, under `records`, are records: " + ", ".join(
    f"`{name}`" for name in segment_rows.RECORD_FIELDS
)
_SEGMENT_INDEXES_REMARK = (
    "With `--index` or `--timeindex` the answer is `kreplica/decode-segment-indexes/v1`; its rows, under `entries`, "
    "are entries of the indexes, `byte` being where one stands, `batch_…` the batch it leads to, `valid` null where "
    "the log cannot tell, and `message`, `expected` and `found` filled where it is wrong: "
    + ", ".join(f"`{name}`" for name in segment_indexes.COLUMNS)
    + "."
)
_EVENTS_REMARK = (
    "With `--events` the answer is `kreplica/decode-offsets-events/v1`; its rows, under `events`, are records: "
    + ", ".join(f"`{name}`" for name in decode_events.COLUMNS)
    + ". The fields of an offset commit are columns; `key` and `value` are those of all other records, null for a "
    "commit, JSON text in CSV and Parquet."
)
_OFFSETS_REMARKS = (
    _EVENTS_REMARK,
    "The summary names the logs read and other copies, the partitions found and missing, records by type, and damage.",
    (
        "With `--against` or `--bootstrap-server` a row has `log_start_offset`, `end_offset` and `standing` besides: "
        "in range, below start, above end or no such partition, null where the cluster does not tell."
    ),
)
_CHECKPOINTS = {
    "log_dir": "log directory",
    "topic": "topic name; of a directory that is to be deleted it may be cut off",
    "partition": "partition index",
    "state": "current, future (a copy that will replace one in another directory), delete or stray",
    "topic_id": "topic id of partition.metadata",
    "log_start_offset": "first offset left to read, where the first segment does not begin with it",
    "recovery_point": "all before it is on the disk; after an unclean stop the log is checked from there",
    "high_watermark": "high watermark when the file was written",
    "cleaner_offset": "first offset that the log cleaner has not cleaned",
    "epochs": "leader epochs: objects with epoch and start_offset, the first offset written under it",
    "last_epoch": "the last of them",
}
_CHECKPOINTS_REMARKS = (
    "The summary has an object for each log directory: node, cluster, whether it was closed in order, quorum-state.",
    "`damage` of the summary lists what could not be read: file, position, reason, skipped (bytes), expected, found.",
)
_TRANSACTIONS = {
    "transactional_id": "transactional id",
    "producer_id": "producer id in use",
    "producer_epoch": "epoch of that producer id",
    "state": "state as Kafka's tools print it; with --events Dead for a tombstone",
    "timeout_ms": "transaction timeout, after which a coordinator aborts it",
    "partitions": "partitions in it: objects with topic, partition and first_offset, where its records begin",
    "start_timestamp": "when the transaction began, ms since the epoch; null before the first",
    "last_update_timestamp": "when the state last changed, ms since the epoch",
    "age_ms": "how long an open transaction has been open; null where none is",
    "overdue": "whether an open transaction is older than its timeout",
    "client_transaction_version": "0 before KIP-890, 2 where each transaction has its own producer epoch",
    "previous_producer_id": "producer id of the transaction before, null if none",
    "next_producer_id": "producer id that takes over when this epoch is used up, null if none",
    "next_producer_epoch": "epoch of that, null if none",
    "coordinator_partition": "partition of __transaction_state that holds it",
    "record_offset": "offset of the record that says so",
    "record_timestamp": "when that record was written, ms since the epoch",
}
_TRANSACTIONS_REMARKS = (
    "`first_offset` is null where the partition's log was not among the files, or holds none of the transaction.",
    "`logs` of the summary lists the partitions that were read, `other_copies` those left out for a better copy.",
    (
        "With `--hanging` there is a row for each partition in which a transaction hangs: `last_update_timestamp` and "
        "`age_ms` are of its last batch there, `state` is what the coordinators know of the producer (`unknown` for "
        "nothing), and `overdue` is null where the coordinator's partition may be among those that were not found."
    ),
)
_METADATA = {
    "offset": "offset of the record that made the change; null for a comparison",
    "timestamp": "when it was written, ms since the epoch; null for a comparison",
    "topic": "topic name",
    "partition": "partition index",
    "kinds": "created, removed, leader, unclean, isr, elr, reassignment, recovery, directories: what changed",
    "leader_before": "leader before it, null if none",
    "leader": "leader after it, null if none",
    "leader_epoch": "leader epoch after it; of a removed partition the last one",
    "partition_epoch": "partition epoch after it",
    "isr_before": "in-sync replicas before it, null if it created the partition",
    "isr": "in-sync replicas after it, null if it removed the partition",
    "elr": "eligible leader replicas after it",
    "replicas": "full assignment, the preferred leader first",
    "adding": "replicas being added",
    "removing": "replicas being removed",
}
_METADATA_REMARKS = (
    "`differences` of the summary, with `--diff`, tells what else is not the same: brokers, features, configs.",
)
_INDEXES = {
    "file": "file the entry is in",
    "kind": "offset, time, transaction or producer",
    "offset": "offset the entry leads to; of a producer that of the snapshot",
    "position": "byte in the segment at which its batch begins",
    "timestamp": "largest timestamp up to that offset, or of the producer's last batch, ms since the epoch",
    "producer_id": "producer, or whose transaction was aborted",
    "producer_epoch": "epoch of the producer",
    "first_offset": "first offset of an aborted transaction",
    "last_offset": "its last offset, the marker's; of a producer its last record's",
    "last_stable_offset": "last stable offset when the transaction was aborted",
    "last_sequence": "last sequence number of the producer",
    "offset_delta": "number of records of its last batch, less one",
    "coordinator_epoch": "epoch of the coordinator that wrote its last marker, -1 without one",
    "current_txn_first_offset": "first offset of its open transaction, null without one",
}
_DECODE_CHECK = {
    "rule": "rule that found it; `rules` of the summary names all",
    "file": "file that is wrong",
    "position": "byte in it",
    "topic": "topic of the replica, null for a file of the whole log directory",
    "partition": "its partition, null likewise",
    "message": "what is wrong",
    "expected": "what should stand there, as far as the other files tell",
    "found": "what stands there",
}
_DECODE_COMPARE = {
    "topic": "topic name",
    "partition": "partition index",
    "log_dir": "log directory of this copy",
    "node_id": "broker it is of, null without meta.properties",
    "leads": "whether this copy is taken for the leader's: the highest leader epoch, then the longest",
    "log_start_offset": "first offset of the log",
    "end_offset": "log end offset",
    "high_watermark": "high watermark as checkpointed, null without the file",
    "epochs": "leader epochs: objects with epoch and start_offset",
    "differs_at": "first offset at which it holds another record than the leader's copy; null if none, and for that",
    "truncation_by_high_watermark": "offset at which it would be cut before KIP-101; null for the leader's copy",
    "cut_by_high_watermark": "number of offsets that would be cut then",
    "truncation_by_leader_epoch": "offset at which it is cut since KIP-101 and KIP-279; null for the leader's copy",
    "cut_by_leader_epoch": "number of offsets that are cut then",
    "only_here_from": "first of the offsets below the highest high watermark that no other copy has; null if none",
    "only_here": "number of those offsets; null where no high watermark is known",
}
_DECODE_COMPARE_REMARKS = (
    "Rows of partitions with one copy are left out, and without `--all` those whose copies are the same.",
    "Offsets count markers and what was compacted away too. The summary counts partitions and what one disk alone has.",
)
_FILE = {"path": "the contexts file", "status": "written"}
_STOPPED = {"sandbox": _SERVERS["sandbox"], "state": "removed"}


def _servers(command: str) -> AnswerFields:
    same_as = "" if command == "start" else "kreplica sandbox start"
    fields = _fields(sandbox_answer.SERVER_COLUMNS, _SERVERS)
    return AnswerFields(f"kreplica/sandbox-{command}/v1", "servers", fields, same_as=same_as)


def _plan(command: str) -> AnswerFields:
    same_as = "" if command == "apply" else "kreplica rebalance apply"
    fields = _fields(rebalance_answer.COLUMNS, _PLAN)
    return AnswerFields(f"kreplica/rebalance-{command}/v1", "changes", fields, same_as=same_as)


ANSWERS: Mapping[str, AnswerFields] = {
    "kreplica describe": AnswerFields(
        "kreplica/describe/v1", "partitions", _fields(ROW_FIELDS, _DESCRIBE), _DESCRIBE_REMARKS
    ),
    "kreplica check": _answer("check", "findings", check.COLUMNS, _CHECK),
    "kreplica compare": _answer("compare", "differences", compare.COLUMNS, _COMPARE),
    "kreplica audit": AnswerFields("kreplica/audit/v1", "findings", _fields(SPAN_COLUMNS, _AUDIT), _AUDIT_REMARKS),
    "kreplica recommend": AnswerFields(
        "kreplica/recommend/v1", "recommendations", _fields(recommend.COLUMNS, _RECOMMEND), (_RECOMMEND_REMARK,)
    ),
    "kreplica disks": AnswerFields("kreplica/disks/v1", "log_dirs", _fields(disks.COLUMNS, _DISKS), (_DISKS_REMARK,)),
    "kreplica rebalance leaders": _answer("rebalance-leaders", "elections", rebalance_leaders.COLUMNS, _LEADERS),
    **{f"kreplica rebalance {name}": _plan(name) for name in ("apply", "status", "resume", "cancel", "rollback")},
    "kreplica imbalance": AnswerFields(
        "kreplica/imbalance/v1", "brokers", _fields(imbalance.COLUMNS, _IMBALANCE), (_IMBALANCE_REMARK,)
    ),
    "kreplica safe-to-stop": _answer("safe-to-stop", "partitions", safe_to_stop.COLUMNS, _SAFE_TO_STOP),
    "kreplica whatif fail": _answer("whatif-fail", "partitions", whatif_fail.COLUMNS, _WHATIF_FAIL),
    "kreplica roll plan": _answer("roll-plan", "nodes", roll_plan.COLUMNS, _ROLL_PLAN),
    "kreplica roll next": _answer("roll-next", "nodes", roll_next.COLUMNS, _ROLL_NEXT),
    "kreplica wait": _answer("wait", "partitions", wait.COLUMNS, _WAIT),
    "kreplica snapshot": _answer("snapshot", "snapshots", snapshot.COLUMNS, _SNAPSHOT),
    "kreplica decode offsets": AnswerFields(
        "kreplica/decode-offsets/v1", "offsets", _fields(decode_offsets_answer.COLUMNS, _OFFSETS), _OFFSETS_REMARKS
    ),
    "kreplica decode segment": AnswerFields(
        "kreplica/decode-segment/v1",
        "batches",
        _fields(segment_rows.BATCH_FIELDS, _BATCHES),
        (_RECORDS_REMARK + ". What is no UTF-8 in keys, values and headers is escaped.", _SEGMENT_INDEXES_REMARK),
    ),
    "kreplica decode checkpoints": AnswerFields(
        "kreplica/decode-checkpoints/v1",
        "checkpoints",
        _fields(decode_checkpoints.COLUMNS, _CHECKPOINTS),
        _CHECKPOINTS_REMARKS,
    ),
    "kreplica decode transactions": AnswerFields(
        "kreplica/decode-transactions/v1",
        "transactions",
        _fields(decode_transactions.COLUMNS, _TRANSACTIONS),
        _TRANSACTIONS_REMARKS,
    ),
    "kreplica decode metadata": AnswerFields(
        "kreplica/decode-metadata/v1", "changes", _fields(decode_metadata.COLUMNS, _METADATA), _METADATA_REMARKS
    ),
    "kreplica decode indexes": _answer("decode-indexes", "entries", index_rows.COLUMNS, _INDEXES),
    "kreplica decode check": _answer("decode-check", "findings", decode_check.COLUMNS, _DECODE_CHECK),
    "kreplica decode compare": AnswerFields(
        "kreplica/decode-compare/v1",
        "copies",
        _fields(replica_comparison.COLUMNS, _DECODE_COMPARE),
        _DECODE_COMPARE_REMARKS,
    ),
    "kreplica whatif list": _answer("whatif-list", "scenarios", whatif_list.COLUMNS, whatif_fields.LIST),
    "kreplica whatif show": AnswerFields(
        "kreplica/whatif-show/v1",
        "cases",
        _fields(whatif_show.COLUMNS, whatif_fields.SHOW),
        whatif_fields.SHOW_REMARKS,
    ),
    "kreplica whatif run": AnswerFields(
        "kreplica/whatif-run/v1",
        "timeline",
        _fields(whatif_answer.STEP_COLUMNS, whatif_fields.RUN),
        whatif_fields.RUN_REMARKS,
    ),
    "kreplica whatif compare": _answer("whatif-compare", "runs", whatif_compare.COLUMNS, whatif_fields.COMPARE),
    "kreplica config init": _answer("config-init", "files", config.FILE_COLUMNS, _FILE),
    "kreplica config check": _answer("config-check", "checks", config_check.CHECK_COLUMNS, _CHECKS),
    "kreplica config list": _answer("config-list", "contexts", config.CONTEXT_COLUMNS, _CONTEXTS),
    "kreplica config use": AnswerFields(
        "kreplica/config-use/v1", "contexts", _CONTEXTS, same_as="kreplica config list"
    ),
    "kreplica config show": _answer("config-show", "settings", config.SETTING_COLUMNS, _SETTINGS),
    "kreplica sandbox topic": _answer("sandbox-topic", "partitions", sandbox_answer.TOPIC_COLUMNS, _TOPIC),
    "kreplica sandbox load": _answer("sandbox-load", "partitions", ("topic", "partition", *sandbox_load.COUNTS), _LOAD),
    "kreplica sandbox stop": _answer("sandbox-stop", "sandboxes", ("sandbox", "state"), _STOPPED),
    **{
        f"kreplica sandbox {name}": _servers(name)
        for name in ("start", "status", "kill", "pause", "resume", "start-broker")
    },
}
