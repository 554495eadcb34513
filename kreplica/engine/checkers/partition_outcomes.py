"""Outcomes by partition: lost and unreadable records, time without a leader and below min.insync.replicas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kreplica.engine.checkers.delays import Span
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import ProducerSetup, Setup


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """Outcome of one partition.

    Args:
        partition: As ``topic-0``.
        sent: Number of records that plain producers sent to it.
        lost: Acknowledged records that are gone.
        unseen: Acknowledged records that no consumer can read.
        without_leader_ms: Milliseconds without a leader.
        read_only_ms: Milliseconds with the ISR below min.insync.replicas.
    """

    partition: str
    sent: int
    lost: tuple[str, ...]
    unseen: tuple[str, ...]
    without_leader_ms: float
    read_only_ms: float

    @property
    def is_harmed(self) -> bool:
        """True if records were lost or unseen, or the partition was unavailable or read-only."""
        return bool(self.lost or self.unseen or self.without_leader_ms or self.read_only_ms)


def partition_outcomes(setup: Setup, outcome: Outcome) -> tuple[PartitionOutcome, ...]:
    """Returns the outcome of each partition of a setup, in its order.

    Args:
        setup: The simulated cluster; its plain producers' sends name the partition of each record.
        outcome: Outcome of the run.
    """
    home = {
        send.value: send.partition
        for client in setup.clients
        if isinstance(client, ProducerSetup)
        for send in client.sends
    }
    sent = list(home.values())
    lost, unseen = outcome.histories.lost, outcome.histories.unseen
    return tuple(
        PartitionOutcome(
            partition=name,
            sent=sent.count(name),
            lost=tuple(value for value in lost if home.get(value) == name),
            unseen=tuple(value for value in unseen if home.get(value) == name),
            without_leader_ms=_milliseconds(outcome.measures.no_leader, name),
            read_only_ms=_milliseconds(outcome.measures.read_only, name),
        )
        for topic in setup.topics
        for name in topic.partitions
    )


def _milliseconds(spans: Iterable[Span], partition: str) -> float:
    return sum(span.end - span.begin for span in spans if span.partition == partition) / MICROSECONDS
