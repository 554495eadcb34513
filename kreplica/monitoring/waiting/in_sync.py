"""A cluster read until its replicas are in sync again, or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from kreplica.errors import ExitCode, UnreachableError
from kreplica.health.gates import Freshness, for_gate, gate_code
from kreplica.health.listing import partition_rows
from kreplica.health.wait_conditions import Goal, Left, what_is_left
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.selection import known_nodes, require_known, select
from kreplica.model.snapshot import MetadataMode
from kreplica.model.tables.rows import Int32, Meaning, of_partition
from kreplica.model.wording.durations import spell_duration
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.sources import Facet
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

TIMEOUT_SECONDS = 1800.0
POLL_SECONDS = 2.0
"""Seconds between two reads."""


class AwaitedPartition(Struct, frozen=True):
    """A partition that is not in sync yet; its fields mean what they mean in ``describe``."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    leader: Annotated[Int32 | None, Meaning("leader's broker id, null if none")]
    replicas: Annotated[Sequence[int], of_partition("replicas")]
    isr: Annotated[Sequence[int], of_partition("isr")]
    missing: Annotated[Sequence[int], Meaning("replicas that are not in sync")]


@dataclass(frozen=True, slots=True)
class Awaited:
    """Result of waiting.

    Args:
        reading: The last read.
        snapshot: Its selected partitions.
        left: The part of the goal that was not reached.
        waited: Seconds of waiting; None for a dump, which is read once.
    """

    reading: Reading
    snapshot: ClusterSnapshot
    left: Left
    waited: float | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        return (*(gap.message for gap in self.snapshot.gaps), *self.left.unknown)

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of a gate: never 0 on incomplete data."""
        return gate_code(not self.left.reached, self.missing)

    @property
    def reached(self) -> bool:
        """True if nothing is left as far as it is known."""
        return self.left.reached

    @property
    def rows(self) -> list[AwaitedPartition]:
        """The partitions that are left."""
        rows: list[dict[str, Any]] = partition_rows(Evaluator(self.snapshot), self.left.rows)
        names = AwaitedPartition.__struct_fields__
        return [AwaitedPartition(**{name: row[name] for name in names}) for row in rows]

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and the facts that are not known."""
        return [*self.reading.warnings(), *self.left.unknown]


@dataclass(frozen=True, slots=True)
class _Question:
    goal: Goal
    brokers: Sequence[int]
    topics: str | None
    exclude_internal: bool


def wait(
    handle: ClusterHandle,
    goal: Goal,
    brokers: Sequence[int] = (),
    *,
    timeout: float = TIMEOUT_SECONDS,
    topics: str | None = None,
    exclude_internal: bool = False,
    most_age: float | None = None,
    report: Callable[[str], None] | None = None,
) -> Awaited:
    """Reads a cluster until a goal is reached, or the time is up.

    Args:
        handle: The cluster; a dump is read once.
        goal: The goal.
        brokers: Of these brokers; of all if empty, which IN_SYNC does not take.
        timeout: Seconds to wait; 0 reads once.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.
        most_age: Greatest age of a dump, in seconds; any age if None.
        report: Called with what is left, one clause, before each pause.

    Raises:
        UnreachableError: The cluster does not answer at the end either.
        UsageError: There is no such broker or topic.
        ValueError: IN_SYNC, and no broker.
    """
    if goal is Goal.IN_SYNC and not brokers:
        raise ValueError("in-sync needs a broker")
    question = _Question(goal, brokers, topics, exclude_internal)
    deadline = Deadline(0.0 if handle.dump is not None else timeout)
    while True:
        began = deadline.passed()
        try:
            found = _look(handle, question, deadline, Freshness(most_age))
        except UnreachableError as error:
            if not error.may_pass or not deadline.has_time_for(deadline.passed() - began):
                raise
            state = error.what
        else:
            if found.exit_code is ExitCode.OK or not deadline.has_time_for(deadline.passed() - began):
                return found
            state = found.left.words() or f"not known: {found.missing[0]}"
        if report is not None:
            report(f"{state}; {spell_duration(deadline.remaining())} left")
        time.sleep(deadline.pause(POLL_SECONDS, deadline.passed() - began))


def _look(handle: ClusterHandle, question: _Question, deadline: Deadline, freshness: Freshness) -> Awaited:
    """Reads the cluster; if the goal looks reached, also every broker, which shows hidden topics and silent brokers."""
    found = _read(handle, question, Facet.PARTITIONS, deadline, freshness)
    return _read(handle, question, Facet.LOG_DIRS | Facet.ANSWERS, deadline, freshness) if found.reached else found


def _read(
    handle: ClusterHandle, question: _Question, wanted: Facet, deadline: Deadline, freshness: Freshness
) -> Awaited:
    reading = read_clusters((replace(handle, timeout=deadline.bound(handle.timeout)),), wanted, freshness)
    whole = reading.snapshots[0]
    chosen = select(whole, topics=question.topics, exclude_internal=question.exclude_internal)
    snapshot = for_gate(chosen, freshness)
    _require_known(whole, question.brokers)
    left = what_is_left(snapshot, question.goal, question.brokers)
    return Awaited(reading, snapshot, left, None if handle.dump is not None else deadline.passed())


def _require_known(snapshot: ClusterSnapshot, brokers: Sequence[int]) -> None:
    """Refuses unknown brokers, except in ZooKeeper mode: ZooKeeper, unlike KRaft, forgets a broker that is down."""
    if snapshot.mode is not MetadataMode.ZOOKEEPER:
        require_known(brokers, known_nodes(snapshot))
