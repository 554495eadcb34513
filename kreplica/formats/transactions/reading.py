"""Transactional ids and their states, read from the files of `__transaction_state`; transactions that hang.

Of several copies of a partition the one that goes furthest is read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from msgspec import Struct

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.errors import UsageError
from kreplica.formats.damage import DamageTally
from kreplica.formats.logs.internal_topic import PARTITIONS, Place, TopicLogs, TopicReading, find_logs_and_others
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.transactions.hanging import HangingTransaction, hanging_transactions
from kreplica.formats.transactions.logs import (
    ReplayedLog,
    first_offsets,
    replay_transactions,
    transaction_history,
    transactional_ids,
)
from kreplica.formats.transactions.records import OPEN, Findings, TransactionRecord
from kreplica.model.internal_topics import TRANSACTIONS_TOPIC
from kreplica.model.tables.rows import Meaning, kinds_of
from kreplica.model.tables.schema import Field, TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted

END = AsOf()
UNKNOWN = "unknown"
"""State of a producer that has no record."""


class TransactionRow(Struct, frozen=True):
    """A transactional id and its state, a record of it, or a transaction that hangs in a partition."""

    transactional_id: Annotated[str | None, Meaning("transactional id")]
    producer_id: Annotated[int | None, Meaning("producer id in use")]
    producer_epoch: Annotated[int | None, Meaning("epoch of that producer id", label="EPOCH", drop=1)]
    state: Annotated[str, Meaning("state as Kafka's tools print it; with --events Dead for a tombstone")]
    timeout_ms: Annotated[
        int | None,
        Meaning("transaction timeout, after which a coordinator aborts it", label="TIMEOUT", drop=2),
    ]
    partitions: Annotated[
        Sequence[Mapping[str, Any]],
        Meaning("partitions in it: objects with topic, partition and first_offset, where its records begin", drop=5),
    ]
    start_timestamp: Annotated[
        int | None, Meaning("when the transaction began, ms since the epoch; null before the first")
    ] = None
    last_update_timestamp: Annotated[
        int | None, Meaning("when the state last changed, ms since the epoch", label="LAST_UPDATE", drop=4)
    ] = None
    age_ms: Annotated[
        int | None,
        Meaning("how long an open transaction has been open; null where none is, and with --events", label="AGE"),
    ] = None
    overdue: Annotated[
        bool | None, Meaning("whether an open transaction is older than its timeout; null where age_ms is")
    ] = None
    client_transaction_version: Annotated[
        int | None, Meaning("0 before KIP-890, 2 where each transaction has its own producer epoch")
    ] = None
    previous_producer_id: Annotated[int | None, Meaning("producer id of the transaction before, null if none")] = None
    next_producer_id: Annotated[
        int | None, Meaning("producer id that takes over when this epoch is used up, null if none")
    ] = None
    next_producer_epoch: Annotated[int | None, Meaning("epoch of that, null if none")] = None
    coordinator_partition: Annotated[
        int | None, Meaning("partition of __transaction_state that holds it", label="PARTITION")
    ] = None
    record_offset: Annotated[int | None, Meaning("offset of the record that says so", label="OFFSET")] = None
    record_timestamp: Annotated[
        int | None, Meaning("when that record was written, ms since the epoch", label="TIME")
    ] = None


@dataclass(frozen=True, slots=True)
class TransactionQuestion:
    """Transactions that are asked for.

    Args:
        now: Time for ages, in ms since the epoch.
        as_of: Offset or time up to which the logs are replayed; their end if not given.
        ids: Transactional ids; all if there are none.
        only_open: Only ids with an open transaction.
        partitions: Number of partitions of the topic.
    """

    now: int
    as_of: AsOf = END
    ids: frozenset[str] = frozenset()
    only_open: bool = False
    partitions: int = PARTITIONS

    def wants(self, record: TransactionRecord) -> bool:
        """True if the record gets a row."""
        return (not self.ids or record.transactional_id in self.ids) and (not self.only_open or record.state in OPEN)

    @property
    def needed(self) -> frozenset[int]:
        """The partitions that the answer needs: all, unless ids are asked for."""
        homes = frozenset(coordinator_partition(name, self.partitions) for name in self.ids)
        return homes or frozenset(range(self.partitions))


@dataclass(frozen=True, slots=True)
class TransactionsReading(TopicReading):
    """The partitions of the topic that were read, and the rows that were asked for.

    Args:
        asked: What was asked for.
        unknown: Number of records of a version that is not known.
        rows: The transactions; none while events are read.
    """

    asked: TransactionQuestion
    unknown: int
    rows: Sequence[TransactionRow] = ()

    @property
    def open(self) -> int:
        """Number of open transactions."""
        return sum(row.age_ms is not None for row in self.rows)

    @property
    def overdue(self) -> int:
        """Number of transactions that are older than their timeout, or that nobody will end."""
        return sum(row.overdue is True for row in self.rows)

    @property
    def findings(self) -> int:
        """Number of damaged places and of overdue transactions."""
        return self.damage.places + self.overdue


def decode_transactions(paths: Sequence[str], asked: TransactionQuestion) -> TransactionsReading:
    """Reads the state of transactional ids from the named files.

    Args:
        paths: Log directories, folders of partitions, or segments.
        asked: The ids, and the moment.

    Raises:
        UsageError: There is nothing to read, or an id is not there.
        InputError: A file cannot be read.
    """
    logs = find_logs_of(paths, asked.as_of)
    read = [replay_transactions(log, asked.as_of) for log in logs.logs]
    _refuse_absent(asked, logs, {record.transactional_id for log in read for record in log.records})
    kept = [(log, record) for log in read for record in log.records if asked.wants(record)]
    begun = {} if asked.as_of.given else _first_offsets(logs, kept)
    rows = [state_row(log.log.partition, record, begun, asked.now) for log, record in kept]
    return _reading(logs, read, asked, rows, _damage_of(logs, read))


def decode_hanging_transactions(paths: Sequence[str], asked: TransactionQuestion) -> TransactionsReading:
    """Reads the logs of all partitions for transactions that no coordinator will end; a row for each, and partition.

    Args:
        paths: Log directories that hold these partitions and `__transaction_state`.
        asked: The present, and the number of partitions of the topic.

    Raises:
        UsageError: There is nothing to read.
        InputError: A file cannot be read.
    """
    logs = find_logs_of(paths, asked.as_of)
    read = [replay_transactions(log, asked.as_of) for log in logs.logs]
    known, damage = [record for log in read for record in log.records], _damage_of(logs, read)
    found = list(hanging_transactions(logs.others, known, asked.now, damage))
    partial = _reading(logs, read, asked, (), damage).partial
    rows = [_hanging_row(each, asked.now, certain=not partial or each.record is not None) for each in found]
    return _reading(logs, read, asked, rows, damage)


def decode_transaction_events(paths: Sequence[str], asked: TransactionQuestion) -> TransactionEvents:
    """Every record of the topic in the named files, decoded while it is read.

    Raises:
        UsageError: There is nothing to read, or an id is not there.
    """
    logs = find_logs_of(paths, asked.as_of)
    if asked.ids:  # a wrong name is reported before the first row
        _refuse_absent(asked, logs, {name for log in logs.logs for name in transactional_ids(log, asked.as_of)})
    return TransactionEvents(logs, asked)


def _damage_of(logs: TopicLogs, read: Sequence[ReplayedLog]) -> DamageTally:
    damage = DamageTally()
    damage.add(logs.damage)
    for log in read:
        damage.join(log.findings.damage)
    return damage


def _reading(
    logs: TopicLogs,
    read: Sequence[ReplayedLog],
    asked: TransactionQuestion,
    rows: Sequence[TransactionRow],
    damage: DamageTally,
) -> TransactionsReading:
    homes = {
        (record.transactional_id, log.log.partition)
        for log in read
        for record in log.records
        if log.log.partition is not None
    }
    return _reading_of(logs, homes, asked, damage, sum(log.findings.unknown for log in read), rows)


def _reading_of(
    logs: TopicLogs, homes: Collection[tuple[str, int]], asked: TransactionQuestion, damage: DamageTally,
    unknown: int, rows: Sequence[TransactionRow] = (),
) -> TransactionsReading:  # fmt: skip
    doubt = logs.doubt(homes, asked.partitions)
    return TransactionsReading(logs, asked.partitions, asked.needed, damage, doubt, asked, unknown, rows)


def find_logs_of(paths: Sequence[str], as_of: AsOf) -> TopicLogs:
    """The partitions of the topic in the named files.

    Raises:
        UsageError: There are none, or several where an offset of one is asked for.
    """
    logs = find_logs_and_others(paths, TRANSACTIONS_TOPIC, "transactions", "name a log directory of a broker")
    if as_of.offset is not None and len(logs.logs) > 1:
        numbers = ", ".join(str(log.partition) for log in logs.logs[:8])
        why = f"each partition counts its own: {numbers} are there"
        raise UsageError("--as-of-offset needs one partition", why, "name the directory of one partition")
    return logs


def _refuse_absent(asked: TransactionQuestion, logs: TopicLogs, known: Collection[str]) -> None:
    absent = sorted(asked.ids.difference(known))
    if absent:
        home = coordinator_partition(absent[0], asked.partitions)
        there = "is" if home in {log.partition for log in logs.logs} else "is not"
        raise UsageError(
            f"no transactional id {', '.join(absent)}",
            f"the files tell of {counted(len(known), 'other')}",
            f"{absent[0]} lives in partition {home} of {asked.partitions}, which {there} among them",
        )


def _first_offsets(
    logs: TopicLogs, kept: Sequence[tuple[ReplayedLog, TransactionRecord]]
) -> Mapping[tuple[Place, int | None], int]:
    """First offsets of open transactions at the end of the logs only, not as of an earlier moment."""
    wanted: dict[Place, frozenset[int]] = {}
    for _, record in kept:
        if record.state in OPEN and record.data is not None:
            for place in record.partitions:
                wanted[place] = wanted.get(place, frozenset()) | {record.data["producerId"]}
    return {(place, producer): offset for (place, producer), offset in first_offsets(logs.others, wanted).items()}


def state_row(
    partition: int | None, record: TransactionRecord, begun: Mapping[tuple[Place, int | None], int], now: int
) -> TransactionRow:
    """The row of an id's state.

    Args:
        partition: Partition of __transaction_state.
        record: Last record of the id.
        begun: First offset of each producer's open transaction by partition.
        now: Time for ages, in ms since the epoch.
    """
    row = event_values(partition, record, begun)
    started, timeout = row["start_timestamp"], row["timeout_ms"]
    if record.state in OPEN and started is not None:
        age = max(0, now - started)
        row |= {"age_ms": age, "overdue": None if timeout is None else age > timeout}
    return TransactionRow(**row)


def event_values(
    partition: int | None, record: TransactionRecord, begun: Mapping[tuple[Place, int | None], int]
) -> dict[str, Any]:
    """The fields of a record's row, as a TransactionRow or a table takes them.

    It has no age, since a transaction open at the record may have ended by now.
    """
    data = record.data or {}
    producer = data.get("producerId")
    return {
        "transactional_id": record.transactional_id,
        "producer_id": producer,
        "producer_epoch": data.get("producerEpoch"),
        "state": record.state,
        "timeout_ms": data.get("transactionTimeoutMs"),
        "partitions": [
            {"topic": topic, "partition": number, "first_offset": begun.get(((topic, number), producer))}
            for topic, number in record.partitions
        ],
        "start_timestamp": _or_null(data.get("transactionStartTimestampMs")),
        "last_update_timestamp": _or_null(data.get("transactionLastUpdateTimestampMs")),
        "age_ms": None,
        "overdue": None,
        "client_transaction_version": data.get("clientTransactionVersion"),
        "previous_producer_id": _or_null(data.get("previousProducerId")),
        "next_producer_id": _or_null(data.get("nextProducerId")),
        "next_producer_epoch": _or_null(data.get("nextProducerEpoch")),
        "coordinator_partition": partition,
        "record_offset": record.offset,
        "record_timestamp": record.timestamp,
    }


def _or_null(value: int | None) -> int | None:
    """Null where Kafka writes -1 for none."""
    return None if value is None or value < 0 else value


def _hanging_row(found: HangingTransaction, now: int, *, certain: bool) -> TransactionRow:
    topic, partition = found.place
    record, begun = found.record, found.begun
    place = {"topic": topic, "partition": partition, "first_offset": begun.first_offset}
    return TransactionRow(
        transactional_id=None if record is None else record.transactional_id,
        producer_id=found.producer_id,
        producer_epoch=begun.producer_epoch,
        state=UNKNOWN if record is None else record.state,
        timeout_ms=None if record is None or record.data is None else record.data["transactionTimeoutMs"],
        partitions=[place],
        last_update_timestamp=begun.last_timestamp,
        age_ms=now - begun.last_timestamp,
        overdue=True if certain else None,
    )


EVENTS: Final = TableSchema(
    "events",
    tuple(Field(name, kind, nullable=True, doc="") for name, kind in kinds_of(TransactionRow).items()),
    sort=(),
)


@dataclass(slots=True)
class TransactionEvents:
    """The records of logs as tables, decoded on demand; the numbers over them are complete after the last table.

    Args:
        logs: The partitions of the topic.
        asked: The options that choose records.
        states: Number of rows of each state.
        homes: Each id of a record, and the partition in which it was found.
        damage: Ranges that could not be read.
        unknown: Number of records of a version that is not known.
    """

    logs: TopicLogs
    asked: TransactionQuestion
    states: Counter[str] = field(default_factory=Counter)
    homes: set[tuple[str, int]] = field(default_factory=set)
    damage: DamageTally = field(default_factory=DamageTally)
    unknown: int = 0

    def __post_init__(self) -> None:
        self.damage.add(self.logs.damage)

    def __iter__(self) -> Iterator[Table]:
        for log in self.logs.logs:
            found = Findings(str(log.directory), self.damage)
            for records in transaction_history(log, self.asked.as_of, found):
                yield self._table(log.partition, records)
            self.unknown += found.unknown

    def _table(self, partition: int | None, records: list[TransactionRecord]) -> Table:
        if partition is not None:
            self.homes.update((record.transactional_id, partition) for record in records)
        kept = [record for record in records if self.asked.wants(record)]
        self.states.update(record.state for record in kept)
        rows = [event_values(partition, record, {}) for record in kept]
        return Table.from_rows(EVENTS, [{**row, "partitions": _json(row["partitions"])} for row in rows])

    def reading(self) -> TransactionsReading:
        """The reading so far."""
        return _reading_of(self.logs, self.homes, self.asked, self.damage, self.unknown)

    def counts(self) -> dict[str, object]:
        """Numbers over the rows so far; the number of transactions open now cannot be derived from single records."""
        return {"transactions": self.states.total(), "states": dict(self.states), "open": None, "overdue": None}


def _json(places: object) -> str:
    return json.dumps(places, ensure_ascii=False, separators=(",", ":"))
