"""Idempotence: a producer with enable.idempotence=true leaves no duplicate and no reordering in a partition.

Source: KIP-98. Holds where what was committed stays: a log that has lost records has lost the sequences with them, and
a producer's batch may stand there anew. Nor is it promised where a leader that knew nothing of a producer took a later
batch first: since 2.5 it takes any sequence (KIP-360), and the first batch then is out of order for good (KAFKA-14920
mends that for transactions alone).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kreplica.engine.histories import Histories, Place
from kreplica.engine.invariants import Finding, Invariant
from kreplica.engine.replica_logs import ReplicaLogs
from kreplica.engine.rules.producer_state import NO_PRODUCER_ID


def idempotence_findings(
    end: int,
    histories: Histories,
    sent: Iterable[tuple[Place, tuple[str, int]]],
    idempotent: frozenset[str],
    spoiled: frozenset[str],
    logs: ReplicaLogs,
) -> Iterator[Finding]:
    """What stands twice, or behind a later one, in the logs at the end although its producer is idempotent.

    Args:
        end: Of the run, in microseconds.
        histories: What the logs hold.
        sent: By partition and value: the producer, and its number.
        idempotent: The producers with enable.idempotence=true.
        spoiled: Partitions that have lost committed records, or elect uncleanly.
        logs: The replicas at the end.
    """
    where = {str(value): (partition, node) for (partition, value), (node, _) in sent}
    late = {where.get(str(value)) for value in _taken_first(logs)}
    for invariant, values, found in (
        (Invariant.IDEMPOTENCE_DUPLICATE, histories.duplicated, "more than once"),
        (Invariant.IDEMPOTENCE_ORDER, histories.reordered, "behind one that was sent later"),
    ):
        for value in values:
            partition, node = where.get(value, ("", ""))
            if node in idempotent and partition not in spoiled and (partition, node) not in late:
                yield Finding(end, invariant, partition, -1, node, f"{value} once and in its place", found)


def _taken_first(logs: ReplicaLogs) -> Iterator[object]:
    """The values that leaders took first of a producer and epoch although they are not its first."""
    for partition in logs.partitions:
        known: set[tuple[int, int]] = set()
        for record in logs.remaining(partition)[0].records:
            producer = record.producer_id, record.producer_epoch
            if record.producer_id != NO_PRODUCER_ID and producer not in known:
                known.add(producer)
                if record.sequence > 0:
                    yield record.value
