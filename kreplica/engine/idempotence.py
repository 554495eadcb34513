"""Idempotence: a producer with enable.idempotence=true leaves no duplicate and no reordering in a partition.

Source: KIP-98. Holds where what was committed stays: a log that has lost records has lost the sequences with them, and
a producer's batch may stand there anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kreplica.engine.histories import Histories, Place
from kreplica.engine.invariants import Finding, Invariant


def idempotence_findings(
    end: int,
    histories: Histories,
    sent: Iterable[tuple[Place, tuple[str, int]]],
    idempotent: frozenset[str],
    spoiled: frozenset[str],
) -> Iterator[Finding]:
    """What stands twice, or behind a later one, in the logs at the end although its producer is idempotent.

    Args:
        end: Of the run, in microseconds.
        histories: What the logs hold.
        sent: By partition and value: the producer, and its number.
        idempotent: The producers with enable.idempotence=true.
        spoiled: Partitions that have lost committed records, or elect uncleanly.
    """
    where = {str(value): (partition, node) for (partition, value), (node, _) in sent}
    for invariant, values, found in (
        (Invariant.IDEMPOTENCE_DUPLICATE, histories.duplicated, "more than once"),
        (Invariant.IDEMPOTENCE_ORDER, histories.reordered, "behind one that was sent later"),
    ):
        for value in values:
            partition, node = where.get(value, ("", ""))
            if node in idempotent and partition not in spoiled:
                yield Finding(end, invariant, partition, -1, node, f"{value} once and in its place", found)
