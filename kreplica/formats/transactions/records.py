"""`__transaction_state`: the state that transaction coordinators keep for each transactional id.

    key      | version int16 = 0 | transactional id: int16 length, bytes |
    value    | version int16 | message |                                       null: the id was forgotten

    version 0                            version 1, flexible (KIP-915), tagged besides
    producer id              int64       0  previous producer id       int64      KIP-890
    producer epoch           int16       1  next producer id           int64      KIP-939, KIP-890
    timeout                  int32 ms    2  client transaction version int16      KIP-890
    state                    int8        3  next producer epoch        int16      KIP-939
    partitions               topic, partition ids; null when empty
    last update, start       int64 ms since the epoch; start is -1 before the first transaction

A coordinator knows the last record of each id. Kafka: org.apache.kafka.coordinator.transaction.TransactionLog,
TransactionLogKey.json, TransactionLogValue.json, TransactionState.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kreplica.formats.damage import Damage, DamageTally
from kreplica.formats.schema import Array, Field, Fields, SchemaError, message_reader

if TYPE_CHECKING:
    from kreplica.formats.segments.columns import RecordColumns

STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""States by number, as Kafka's tools print them."""
OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which the transaction's records are neither committed nor aborted everywhere."""

_VERSION = struct.Struct(">h")
_KEY: Fields = (Field("transactionalId", "string"),)
VALUE: Final[Fields] = (
    Field("producerId", "int64"),
    Field("previousProducerId", "int64", since=1, tag=0, default=-1),
    Field("nextProducerId", "int64", since=1, tag=1, default=-1),
    Field("producerEpoch", "int16"),
    Field("nextProducerEpoch", "int16", since=1, tag=3, default=-1),
    Field("transactionTimeoutMs", "int32"),
    Field("transactionStatus", "int8"),
    Field(
        "transactionPartitions",
        Array((Field("topic", "string"), Field("partitionIds", Array("int32")))),
        nullable=True,
    ),
    Field("transactionLastUpdateTimestampMs", "int64"),
    Field("transactionStartTimestampMs", "int64"),
    Field("clientTransactionVersion", "int16", since=1, tag=2, default=0),
)
_NEWEST = 1


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """One record of the topic.

    Args:
        offset, timestamp: Of the record.
        transactional_id: The id it is about.
        data: The value's fields by Kafka's names; None for a tombstone, and where its version is not known.
        version: Version of the value, None for a tombstone.
    """

    offset: int
    timestamp: int
    transactional_id: str
    data: Mapping[str, Any] | None
    version: int | None

    @property
    def state(self) -> str:
        """State as Kafka's tools print it; a number that is none as ``state 9``."""
        if self.data is None:
            return "Dead" if self.version is None else "unknown"
        number = self.data["transactionStatus"]
        return STATES[number] if 0 <= number < len(STATES) else f"state {number}"

    @property
    def partitions(self) -> list[tuple[str, int]]:
        """Topic and partition of each partition in the transaction, sorted."""
        topics = (self.data or {}).get("transactionPartitions") or []
        return sorted((topic["topic"], number) for topic in topics for number in topic["partitionIds"])


@dataclass(slots=True)
class Findings:
    """Records that could not be decoded.

    Args:
        file: The file named in damage.
        damage: Records that are not what their version says; their position is that of the file.
        unknown: Number of records of a version that is not known.
    """

    file: str
    damage: DamageTally = field(default_factory=DamageTally)
    unknown: int = 0


def decode_transaction_key(key: bytes) -> str | None:
    """The transactional id of a key; None where the key's version is not known.

    Raises:
        SchemaError: It is not what its version says.
    """
    version = _version(key, "key")
    if version != 0:
        return None
    data, end = message_reader(_KEY, 0, flexible=False)(key, _VERSION.size)
    if end != len(key):
        raise SchemaError(end, f"{len(key) - end} bytes behind the key")
    return str(data["transactionalId"])


def decode_transaction_value(value: bytes) -> tuple[int, Mapping[str, Any] | None]:
    """Version and fields of a value; None for the fields where the version is not known.

    Raises:
        SchemaError: It is not what its version says.
    """
    version = _version(value, "value")
    if not 0 <= version <= _NEWEST:
        return version, None
    data, end = message_reader(VALUE, version, flexible=version >= 1)(value, _VERSION.size)
    if end != len(value):
        raise SchemaError(end, f"{len(value) - end} bytes behind the value")
    return version, data


def _version(content: bytes, what: str) -> int:
    if len(content) < _VERSION.size:
        raise SchemaError(0, f"cut off in the version of the {what}")
    version: int = _VERSION.unpack_from(content)[0]
    return version


class TransactionReplay:
    """Reads records in the order of the log; keeps the last of each key, so that memory does not grow with history."""

    def __init__(self) -> None:
        self._last: dict[bytes, tuple[int, int, bytes | None]] = {}

    def add(self, records: RecordColumns) -> None:
        """Takes the next records."""
        for offset, timestamp, key, value in _plain(records):
            self._last[key] = (offset, timestamp, value)

    def state(self, found: Findings) -> Iterator[TransactionRecord]:
        """The last record of each id that is not forgotten, in the order of the log."""
        for key, (offset, timestamp, value) in sorted(self._last.items(), key=lambda item: item[1][0]):
            if value is not None and (record := _decoded(offset, timestamp, key, value, found)):
                yield record

    def ids(self) -> set[str]:
        """Every id in the records, forgotten ones too."""
        found = Findings("")
        records = (_decoded(offset, timestamp, key, None, found) for key, (offset, timestamp, _) in self._last.items())
        return {record.transactional_id for record in records if record is not None}


def transaction_events(records: RecordColumns, found: Findings) -> Iterator[TransactionRecord]:
    """Every record, tombstones too, decoded."""
    for offset, timestamp, key, value in _plain(records):
        if record := _decoded(offset, timestamp, key, value, found):
            yield record


def _plain(records: RecordColumns) -> Iterator[tuple[int, int, bytes, bytes | None]]:
    """Offset, timestamp, key and value of each record that is no control record."""
    control = records.batches.control[records.batch].tolist()
    rows = zip(records.offset.tolist(), records.timestamp.tolist(), control, strict=True)
    for index, (offset, timestamp, is_control) in enumerate(rows):
        if not is_control:
            yield offset, timestamp, records.key(index) or b"", records.value(index)


def _decoded(offset: int, timestamp: int, key: bytes, value: bytes | None, found: Findings) -> TransactionRecord | None:
    try:
        name = decode_transaction_key(key)
        version, data = (None, None) if value is None else decode_transaction_value(value)
    except SchemaError as error:
        size = len(key) + len(value or b"")
        reason = f"record {offset}: {error.reason} (byte {error.position} of it)"
        found.damage.add([Damage(found.file, 0, reason, size)])
        return None
    if name is None or (data is None and value is not None):
        found.unknown += 1
    return None if name is None else TransactionRecord(offset, timestamp, name, data, version)
