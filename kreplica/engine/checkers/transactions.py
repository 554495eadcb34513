"""Transactions as applications saw them end, compared with the logs at the end of a run.

A transaction is there as a whole or not at all; ``histories`` checks single records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.trace import ABORTED, COMMIT, COMMITTED, DATA, UNKNOWN, Event, Kind


@dataclass(frozen=True, slots=True)
class TransactionOutcomes:
    """Outcomes of transactions, each named by its producer and number, as ``billing 1``.

    Args:
        committed: Reported as committed.
        aborted: Reported as aborted.
        unknown: Transactions whose producer was fenced or gave up: either outcome is right.
        torn: Some of their records can be read by read_committed consumers, others cannot.
        broken: Reported as committed with a record that cannot be read, or reported as aborted with one that can.
        hanging: Partitions with records of a transaction that was never ended.
    """

    committed: tuple[str, ...] = ()
    aborted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    hanging: tuple[str, ...] = ()


def transaction_outcomes(events: Sequence[Event]) -> TransactionOutcomes:
    """Judges transactions by the logs at the end of a run, each at its newest leader or longest replica."""
    logs = ReplicaLogs()
    for event in events:
        logs(event)
    found = [_readable(logs.remaining(partition)[0]) for partition in logs.partitions]
    readable = frozenset(value for values, _ in found for value in values)
    ended = [event for event in events if event.kind == Kind.TRANSACTION_ENDED]

    def with_outcome(outcome: str) -> tuple[str, ...]:
        return _transaction_names(event for event in ended if event.values[1] == outcome)

    return TransactionOutcomes(
        committed=with_outcome(COMMITTED),
        aborted=with_outcome(ABORTED),
        unknown=with_outcome(UNKNOWN),
        torn=_transaction_names(event for event in ended if 0 < _read(event, readable) < len(event.values[2])),
        broken=_transaction_names(event for event in ended if _is_broken(event, readable)),
        hanging=tuple(partition for partition, (_, is_open) in zip(logs.partitions, found, strict=True) if is_open),
    )


def _readable(replica: ReplicaLog) -> tuple[frozenset[object], bool]:
    """Values that a read_committed consumer gets of a log, and whether the log has an open transaction."""
    is_open: dict[int, list[object]] = {}
    values: list[object] = []
    for record in replica.records:
        if record.kind != DATA:
            ended = is_open.pop(record.producer_id, [])
            values += ended if record.kind == COMMIT else []
        elif record.transactional:
            is_open.setdefault(record.producer_id, []).append(record.value)
        else:
            values.append(record.value)
    return frozenset(values), bool(is_open)


def _read(event: Event, readable: frozenset[object]) -> int:
    return sum(value in readable for value in event.values[2])


def _is_broken(event: Event, readable: frozenset[object]) -> bool:
    read = _read(event, readable)
    return read < len(event.values[2]) if event.values[1] == COMMITTED else event.values[1] == ABORTED and read > 0


def _transaction_names(ended: Iterable[Event]) -> tuple[str, ...]:
    return tuple(f"{event.node} {event.values[0]}" for event in ended)
