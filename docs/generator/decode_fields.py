"""Meanings of the fields of the answers of ``kreplica decode`` mean; ``answer_fields`` puts them in place."""

from __future__ import annotations

from commands.decode import events as decode_events
from kreplica.formats.checks.segment_indexes import CheckedEntry
from kreplica.formats.consumer_offsets.group_rows import GroupRow
from kreplica.formats.segments import rows as segment_rows
from kreplica.model.tables.rows import names_of

BATCHES = {
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
RECORDS_REMARK = "With `--records` the rows, under `records`, are records: " + ", ".join(
    f"`{name}`" for name in segment_rows.RECORD_FIELDS
)
SEGMENT_INDEXES_REMARK = (
    "With `--index` or `--timeindex` the answer is `kreplica/decode-segment-indexes/v1`; its rows, under `entries`, "
    "are entries of the indexes, `byte` being where one stands, `batch_…` the batch it leads to, `valid` null where "
    "the log cannot tell, and `message`, `expected` and `found` filled where it is wrong: "
    + ", ".join(f"`{name}`" for name in names_of(CheckedEntry))
    + "."
)
EVENTS_REMARK = (
    "With `--events` the answer is `kreplica/decode-offsets-events/v1`; its rows, under `events`, are records: "
    + ", ".join(f"`{name}`" for name in decode_events.COLUMNS)
    + ". The fields of an offset commit are columns; `key` and `value` are those of all other records, null for a "
    "commit, JSON text in CSV and Parquet."
)
GROUPS_REMARK = (
    "With `--groups` the answer is `kreplica/decode-offsets-groups/v1`; its rows, under `groups`, are groups: "
    + ", ".join(f"`{name}`" for name in names_of(GroupRow))
    + ". `state` and `epoch` are null where the log does not tell them; `epoch` is the generation of a classic group. "
    "`members` are objects with member_id, instance_id, client_id, client_host, epoch, subscription (topics) and "
    "assignment (objects with topic and partitions; in consumer and share groups with topic_id, and topic where a "
    "partition.metadata beside the logs tells it; in streams groups with subtopology_id and tasks instead: active, "
    "standby or warmup)."
)
OFFSETS_REMARKS = (
    EVENTS_REMARK,
    GROUPS_REMARK,
    "The summary names the logs read and other copies, the partitions found and missing, records by type, and damage.",
    (
        "With `--against` or `--bootstrap-server` a row has `log_start_offset`, `end_offset` and `standing` besides: "
        "in range, below start, above end or no such partition, null where the cluster does not tell."
    ),
)
CHECKPOINTS_REMARKS = (
    "The summary has an object for each log directory: node, cluster, whether it was closed in order, quorum-state.",
    "`damage` of the summary lists what could not be read: file, position, reason, skipped (bytes), expected, found.",
)
TRANSACTIONS_REMARKS = (
    "`first_offset` is null where the partition's log was not among the files, or holds none of the transaction.",
    "`logs` of the summary lists the partitions that were read, `other_copies` those left out for a better copy.",
    (
        "With `--hanging` there is a row for each partition in which a transaction hangs: `last_update_timestamp` and "
        "`age_ms` are of its last batch there, `state` is what the coordinators know of the producer (`unknown` for "
        "nothing), and `overdue` is null where the coordinator's partition may be among those that were not found."
    ),
)
METADATA_REMARKS = (
    "`differences` of the summary, with `--diff`, tells what else is not the same: brokers, features, configs.",
    "`other_logs` of the summary lists the logs of other nodes that were named and not read, and how far each goes.",
)
COMPARE_REMARKS = (
    "Rows of partitions with one copy are left out, and without `--all` those whose copies are the same.",
    "A copy whose log cannot be read is not compared: what its small files say is told, all else of it is null.",
    "`damaged` of the summary counts damaged logs, `damage` lists directories and small files that cannot be read.",
    "Of a topic that was deleted and created anew only copies of one topic id are compared; a warning names the ids.",
    "Offsets count markers and what was compacted away too. The summary counts partitions and what one disk alone has.",
)
