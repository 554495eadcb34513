"""Reads a cluster until brokers can be stopped safely, or the time is up; two reads in a row must say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commands.shared.printing.progress import Progress
from commands.shared.values import spell_duration
from kreplica.errors import ExitCode, UnreachableError, UsageError
from kreplica.health.gates import Freshness, gate_code
from kreplica.health.impact.stop import StopJudgement, judge_stop
from kreplica.health.wait_conditions import changes_between
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.sources import Facet
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.health.impact.stop import Accepted
    from kreplica.model.snapshot import ClusterSnapshot

POLL_SECONDS = 5.0
"""Seconds between two reads while the stop is not safe yet."""

FACETS = Facet.GATE | Facet.QUORUM
"""min.insync.replicas, the quorum, and log directories, whose files show topics that are hidden from listings."""

BrokersOf = Callable[["ClusterSnapshot"], Sequence[int]]


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
    def apart(self) -> float | None:
        """Seconds between the starts of the two reads."""
        return None if self.before is None else self.last.at - self.before.at


def ask(
    handle: ClusterHandle,
    brokers_of: BrokersOf,
    accepted: Accepted,
    settle: float,
    wait: float,
    most_age: float | None = None,
) -> Verdict:
    """Reads until the stop is safe twice in a row, or the time is up.

    Args:
        handle: The cluster.
        brokers_of: Gives the brokers to stop in the cluster as read.
        accepted: Harms that do not count.
        settle: Seconds between the two reads; 0 for one read only. A dump is read once.
        wait: Seconds for which the cluster is read again while the stop is not safe; a cluster that does not answer is
            not safe. No read goes on after that time, except the one that confirms another, ``settle`` later.
        most_age: Greatest age of a dump, in seconds; any age if None.

    Raises:
        UnreachableError: The cluster does not answer, and the time is up.
        UsageError: There is no such broker.
    """
    deadline = Deadline(wait)
    once = settle <= 0 or handle.dump is not None
    fine: Round | None = None
    with Progress() as progress:
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
            progress.say(f"{state}; {spell_duration(deadline.remaining())} left")
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


def brokers_named(snapshot: ClusterSnapshot, brokers: Sequence[int], racks: Sequence[str]) -> list[int]:
    """The nodes named by id and by rack.

    Raises:
        UsageError: There is no such broker or rack.
    """
    known = set(known_nodes(snapshot))
    unknown = sorted(set(brokers) - known)
    if unknown:
        raise UsageError(f"no broker {_listed(unknown)}", f"known are {_listed(sorted(known))}")
    in_racks = set(snapshot.racks.values())
    strange = sorted(set(racks) - in_racks)
    if strange:
        there = f"known are {_listed(sorted(in_racks))}" if in_racks else "no broker tells its rack"
        raise UsageError(f"no rack {_listed(strange)}", there)
    return sorted({*brokers, *(broker for broker, rack in snapshot.racks.items() if rack in racks)})


def known_nodes(snapshot: ClusterSnapshot) -> list[int]:
    """Brokers of the cluster and of its assignments, and controllers of the quorum."""
    import numpy as np

    ids = [*snapshot.brokers["broker"].to_list(), *snapshot.quorum["node"].to_list()]
    assigned = np.unique(snapshot.lists("replicas").values).tolist()
    return sorted({node for node in (*ids, *assigned) if isinstance(node, int)})


def _listed(items: Sequence[object]) -> str:
    return ", ".join(map(str, items))
