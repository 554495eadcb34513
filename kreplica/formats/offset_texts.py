"""Committed offsets in the forms that Kafka's own tools print, release by release.

kafka-1.0    GroupMetadataManager.OffsetsMessageFormatter with OffsetAndMetadata.toString of 0.9 to 2.0; -1 where no
             time of expiration was written
kafka-2      the same of 2.1 to 3.9, where leader epochs were added (KIP-320)
kafka-4      OffsetsMessageFormatter of 4.0 on: JSON, the fields of the record's version; Kafka prints all on one line,
             here each has its own
reset-csv    what kafka-consumer-groups --reset-offsets --from-file reads (ConsumerGroupCommand, CsvUtils)
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from kreplica.formats.offset_rows import CommittedOffset

_NO_TIMESTAMP = -1
"""OffsetCommitRequest.DEFAULT_TIMESTAMP."""


def line_of_kafka_1_0(row: CommittedOffset) -> str:
    """One line as Kafka 1.0 prints it."""
    metadata = row.metadata or "NO_METADATA"
    expires = _NO_TIMESTAMP if row.expire_timestamp is None else row.expire_timestamp
    value = f"[OffsetMetadata[{row.offset},{metadata}],CommitTime {row.commit_timestamp},ExpirationTime {expires}]"
    return f"{_key(row)}::{value}"


def line_of_kafka_2(row: CommittedOffset) -> str:
    """One line as Kafka 2.1 to 3.x prints it."""
    epoch = "Optional.empty" if row.leader_epoch is None else f"Optional[{row.leader_epoch}]"
    expires = "None" if row.expire_timestamp is None else f"Some({row.expire_timestamp})"
    return (
        f"{_key(row)}::OffsetAndMetadata(offset={row.offset}, leaderEpoch={epoch}, metadata={row.metadata}, "
        f"commitTimestamp={row.commit_timestamp}, expireTimestamp={expires})"
    )


def line_of_kafka_4(row: CommittedOffset) -> str:
    """One line as Kafka 4 prints it."""
    key = {"group": row.group, "topic": row.topic, "partition": row.partition}
    document = {
        "key": {"type": 1, "data": key},
        "value": {"version": row.version, "data": commit_value(row)},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def commit_value(row: CommittedOffset) -> dict[str, object]:
    """The value's fields as OffsetCommitValueJsonConverter gives them: those that its version has."""
    value: dict[str, object] = {"offset": row.offset}
    if row.version >= 3:
        value["leaderEpoch"] = -1 if row.leader_epoch is None else row.leader_epoch
    value |= {"metadata": row.metadata, "commitTimestamp": row.commit_timestamp}
    if row.version == 1:
        value["expireTimestamp"] = -1 if row.expire_timestamp is None else row.expire_timestamp
    if row.topic_id is not None:
        value["topicId"] = row.topic_id
    return value


def reset_csv(rows: Sequence[CommittedOffset]) -> str:
    """Rows for --from-file: group, topic, partition, offset; without the group where there is only one."""
    several = len({row.group for row in rows}) > 1
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    for row in rows:
        writer.writerow([*([row.group] if several else []), row.topic, row.partition, row.offset])
    return output.getvalue()


def _key(row: CommittedOffset) -> str:
    return f"[{row.group},{row.topic},{row.partition}]"
