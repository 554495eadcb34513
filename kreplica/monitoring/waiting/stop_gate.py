"""A cluster read until brokers can be stopped safely, or the time is up; two reads in a row must say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.errors import ExitCode, UnreachableError
from kreplica.health.gates import Freshness, gate_code
from kreplica.health.impact.stop import Accepted, StopJudgement, judge_stop
from kreplica.health.impact.vocabulary import Impact
from kreplica.health.wait_conditions import changes_between
from kreplica.model.selection import brokers_named
from kreplica.model.tables.rows import Int32, Meaning, of_partition
from kreplica.model.wording.durations import spell_duration
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.sources import Facet
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

SETTLE_SECONDS = 10.0
"""Seconds between the two reads, where nothing else is asked for."""

POLL_SECONDS = 5.0
"""Seconds between two reads while the stop is not safe yet."""

MOST_TRIED = 8
"""Other brokers that are tried at most, to find those that can be stopped instead."""

FACETS = Facet.GATE | Facet.QUORUM
"""min.insync.replicas, the quorum, and log directories, whose files show topics that are hidden from listings."""

BrokersOf = Callable[["ClusterSnapshot"], Sequence[int]]
Report = Callable[[str], None]
NOTHING_ACCEPTED = Accepted()


@dataclass(frozen=True, slots=True)
class Round:
    """One read and its result.

    Args:
        reading: The cluster as read.
        judgement: Effects of stopping the brokers.
        at: Start of the read in seconds of the monotonic clock.
    """

    reading: Reading
    judgement: StopJudgement
    at: float

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster."""
        return self.reading.snapshots[0]

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        return (*(gap.message for gap in self.snapshot.gaps), *self.judgement.unknown)

    @property
    def exit_code(self) -> ExitCode:
        """Exit code by this read alone."""
        return gate_code(self.judgement.against, self.missing)


class StoppedPartition(Struct, frozen=True):
    """One effect of a stop on one partition, or on the controller quorum."""

    topic: Annotated[str | None, Meaning("topic name, null for the controller quorum")]
    partition: Annotated[Int32 | None, Meaning("partition index, null for the controller quorum")]
    effect: Annotated[
        Impact,
        Meaning(
            "under_min_isr: led, but acks=all writes fail; unavailable: no live leader; last_in_sync: nobody left"
            " that has every acknowledged record; quorum_lost: the controllers have no majority. One row for each"
            " that holds"
        ),
    ]
    already: Annotated[bool, Meaning("whether it is so already, and waits for these brokers or gets worse")]
    accepted: Annotated[str | None, Meaning("what accepted it: rf-one or topic; null if it stands against the stop")]
    reason: Annotated[str, Meaning("why there is no room for the stop")]
    leader: Annotated[Int32 | None, Meaning("who leads now, null if none")]
    leader_after: Annotated[Int32 | None, Meaning("who would lead, null if none")]
    replicas: Annotated[Sequence[int] | None, of_partition("replicas")]
    isr: Annotated[Sequence[int] | None, Meaning("in-sync replicas now")]
    isr_after: Annotated[Sequence[int] | None, Meaning("in-sync replicas afterwards")]
    min_isr: Annotated[Int32 | None, of_partition("min_isr")]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the last read.

    Args:
        last: The last read.
        before: The read before it if that one was safe, else None.
        changes: Changes of the cluster between the two.
    """

    last: Round
    before: Round | None
    changes: tuple[str, ...]

    @property
    def exit_code(self) -> ExitCode:
        """0 where the stop is safe, 1 where something speaks against it, 5 where not all is known."""
        return self.last.exit_code

    @property
    def safe(self) -> bool:
        """True where nothing speaks against the stop and all is known."""
        return self.exit_code is ExitCode.OK

    @property
    def rows(self) -> list[StoppedPartition]:
        """Effects of the stop, accepted ones too."""
        names = StoppedPartition.__struct_fields__
        return [
            StoppedPartition(**{name: getattr(each, name) for name in names}) for each in self.last.judgement.impacts
        ]

    @property
    def apart(self) -> float | None:
        """Seconds between the starts of the two reads."""
        return None if self.before is None else self.last.at - self.before.at

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and the facts that are not known."""
        return [*self.last.reading.warnings(), *self.last.judgement.unknown]


def safe_to_stop(
    handle: ClusterHandle,
    brokers: Sequence[int] = (),
    racks: Sequence[str] = (),
    *,
    accepted: Accepted = NOTHING_ACCEPTED,
    settle: float = SETTLE_SECONDS,
    wait: float = 0.0,
    most_age: float | None = None,
    report: Report | None = None,
) -> Verdict:
    """Judges whether brokers can be stopped together without harm.

    Args:
        handle: The cluster.
        brokers, racks: The nodes to stop, by id and by rack.
        accepted: Harms that do not count.
        settle: Seconds between the two reads that have to agree; 0 for one read only. A dump is read once.
        wait: Seconds for which the cluster is read again while the stop is not safe.
        most_age: Greatest age of a dump, in seconds; any age if None.
        report: Called with the state, one clause, before each pause.

    Raises:
        UnreachableError: The cluster does not answer, and the time is up.
        UsageError: There is no such broker or rack.
        ValueError: Neither brokers nor racks are named.
    """
    if not brokers and not racks:
        raise ValueError("no broker is named")
    return read_until_safe(
        handle, lambda snapshot: brokers_named(snapshot, brokers, racks), accepted, settle, wait, most_age, report
    )


def read_until_safe(
    handle: ClusterHandle,
    brokers_of: BrokersOf,
    accepted: Accepted,
    settle: float,
    wait: float = 0.0,
    most_age: float | None = None,
    report: Report | None = None,
) -> Verdict:
    """Reads until the stop is safe twice in a row, or the time is up.

    No read goes on after the time to wait, except the one that confirms another, ``settle`` later. A cluster that does
    not answer is not safe.

    Args:
        handle: The cluster.
        brokers_of: Gives the brokers to stop in the cluster as read.
        accepted, settle, wait, most_age, report: As ``safe_to_stop`` takes them.

    Raises:
        UnreachableError: The cluster does not answer, and the time is up.
        UsageError: There is no such broker.
    """
    deadline = Deadline(0.0 if handle.dump is not None else wait)
    once = settle <= 0 or handle.dump is not None
    fine: Round | None = None
    while True:
        began = deadline.passed()
        try:
            asked = handle if fine else replace(handle, timeout=deadline.bound(handle.timeout))
            current = _read(asked, brokers_of, accepted, Freshness(most_age))
        except UnreachableError as error:
            if not error.may_pass or not deadline.has_time_for(deadline.passed() - began):
                raise
            fine, state = None, error.what
        else:
            safe = current.exit_code is ExitCode.OK
            if safe and (once or fine is not None):
                return _verdict(current, fine)
            if not safe and not deadline.has_time_for(deadline.passed() - began):
                return _verdict(current, fine)
            fine, state = (current, "safe, read again") if safe else (None, _state(current))
        if report is not None:
            report(f"{state}; {spell_duration(deadline.remaining())} left")
        time.sleep(settle if fine else deadline.pause(POLL_SECONDS, deadline.passed() - began))


def _read(handle: ClusterHandle, brokers_of: BrokersOf, accepted: Accepted, freshness: Freshness) -> Round:
    at = time.monotonic()
    reading = read_clusters((handle,), FACETS, freshness)
    snapshot = reading.snapshots[0]
    return Round(reading, judge_stop(snapshot, brokers_of(snapshot), accepted), at)


def _verdict(last: Round, before: Round | None) -> Verdict:
    changes = changes_between(before.snapshot, last.snapshot) if before is not None else ()
    return Verdict(last, before, changes)


def _state(current: Round) -> str:
    against = current.judgement.against
    if not against:
        return f"not known: {current.missing[0]}"
    places = {(item.topic, item.partition) for item in against}
    return f"not safe yet: {len(places)} against it, first {against[0].reason}"


def stoppable_instead(last: Round, accepted: Accepted, most: int = MOST_TRIED) -> list[int]:
    """Other live brokers, each of which could be stopped by this one read.

    Args:
        last: The read by which the brokers asked about cannot be stopped.
        accepted: Harms that do not count.
        most: Brokers that are tried at most.
    """
    snapshot, asked = last.snapshot, last.judgement.brokers
    brokers = [one for one in snapshot.brokers["broker"].to_list() if isinstance(one, int)]
    others = [one for one in brokers if one not in asked and snapshot.is_alive(one)][:most]
    return [one for one in others if _is_safe(snapshot, one, accepted)]


def _is_safe(snapshot: ClusterSnapshot, broker: int, accepted: Accepted) -> bool:
    judgement = judge_stop(snapshot, [broker], accepted)
    return not judgement.against and not judgement.unknown and not snapshot.gaps
