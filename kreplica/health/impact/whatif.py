"""A failure described by a user, found in a cluster and played: what fails, and what becomes of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
import numpy as np

from kreplica.engine.projection.changes import Changes
from kreplica.errors import ExitCode, UsageError
from kreplica.health.impact.fail import FailureJudgement, PlayedStep, judge_failure
from kreplica.health.impact.loss_ranges import Candidate, candidates, copies_to_ask, with_positions
from kreplica.health.impact.restart import judge_rolling_restart
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact
from kreplica.health.quorum import active_controller
from kreplica.model.selection import brokers_named, select
from kreplica.model.snapshot import ClusterSnapshot, LogPosition, MetadataMode
from kreplica.model.tables.columns import Indices
from kreplica.model.tables.rows import Int32, Meaning, of_partition


@dataclass(frozen=True, slots=True)
class FailureCase:
    """A failure to play.

    Args:
        brokers, racks: Brokers that crash together, by id and by rack.
        disks: Log directories that go offline, as broker and path.
        controller: Whether the active controller's node fails.
        rolling: Whether the brokers restart in turn instead; all of them if none is named.
        min_isr, unclean, elr: min.insync.replicas, unclean.leader.election.enable and eligible leader replicas
            (KIP-966), changed before the failure; None leaves the current ones.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.
    """

    brokers: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    disks: tuple[tuple[int, str], ...] = ()
    controller: bool = False
    rolling: bool = False
    min_isr: int | None = None
    unclean: bool | None = None
    elr: bool | None = None
    topics: str | None = None
    exclude_internal: bool = False

    @property
    def changes(self) -> Changes:
        """The changed settings."""
        return Changes(self.min_isr, self.unclean, self.elr)

    @property
    def empty(self) -> bool:
        """True if nothing fails, restarts or changes."""
        fails = self.brokers or self.racks or self.disks or self.controller or self.rolling
        return not (fails or self.changes.any)


@dataclass(frozen=True, slots=True)
class Target:
    """The failing parts of the cluster as read.

    Args:
        brokers: Nodes that crash, or restart in turn.
        disks: Log directories that fail while their broker lives on.
        whole: Brokers that crash because every log directory they have fails.
        controller: The active controller, None where not known.
    """

    brokers: tuple[int, ...]
    disks: tuple[tuple[int, str], ...]
    whole: tuple[int, ...]
    controller: int | None


class FailedPartition(msgspec.Struct, frozen=True):
    """The worst impact of a failure on one partition."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    restarting: Annotated[
        Int32 | None, Meaning("the broker that restarts meanwhile, with --rolling-restart; otherwise null")
    ]
    effect: Annotated[
        str,
        Meaning(
            "the worst of what becomes of it: unclean_leader, led by a replica out of sync, so records can be lost;"
            " unavailable, no live leader; isr_frozen, no controller takes a lost replica out of the ISR, so that"
            " acks=all writes time out; under_min_isr, led, but acks=all writes fail; new_leader; smaller_isr"
        ),
    ]
    already: Annotated[bool, Meaning("whether it is so already")]
    leader: Annotated[Int32 | None, Meaning("who leads now, null if none")]
    leader_after: Annotated[Int32 | None, Meaning("who leads afterwards, null if none")]
    replicas: Annotated[list[int], of_partition("replicas")]
    isr: Annotated[list[int], Meaning("in-sync replicas now")]
    isr_after: Annotated[list[int], Meaning("in-sync replicas afterwards")]
    elr: Annotated[list[int] | None, of_partition("elr")]
    elr_after: Annotated[list[int] | None, Meaning("eligible leader replicas afterwards")]
    last_known_elr_after: Annotated[
        list[int] | None,
        Meaning("afterwards, last known eligible leader replicas: who led last, where nobody leads"),
    ]
    min_isr: Annotated[Int32 | None, Meaning("min.insync.replicas that it was played with")]
    unclean: Annotated[bool, Meaning("whether the new leader is outside the ISR and the ELR")]
    candidates: Annotated[
        list[dict[str, object]],
        Meaning(
            "where nobody can lead cleanly, the replicas that are left: objects with broker, elected (uncleanly),"
            " end_offset (its log end offset), lost_from and lost_to (the offsets that it lacks, the last not"
            " included); null where not known"
        ),
    ]


@dataclass(frozen=True, slots=True)
class PlayedFailure:
    """A failure that was played.

    Args:
        case: The failure.
        snapshot: The selected partitions.
        target: The failing brokers, disks and controller.
        judgement: Effects on the partitions.
        candidates: Candidates for an unclean election in each step, by topic and partition.
        silent: Brokers that did not report their log end offsets.
    """

    case: FailureCase
    snapshot: ClusterSnapshot
    target: Target
    judgement: FailureJudgement
    candidates: tuple[dict[tuple[str, int], list[Candidate]], ...]
    silent: tuple[int, ...] = ()

    def mended(self, impact: Impact) -> Indices:
        """The partitions that changed settings save from a harm; none where brokers restart in turn."""
        steps = self.judgement.steps
        return steps[0].mended(impact) if steps and not self.case.rolling else np.array([], dtype=np.intp)

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        silent = ", ".join(map(str, self.silent))
        offsets = (f"log end offsets of brokers {silent} could not be read",) if silent else ()
        return (*(gap.message for gap in self.snapshot.gaps), *self.judgement.unknown, *offsets)

    @property
    def exit_code(self) -> ExitCode:
        """1 where anything gets worse, 5 where nothing does as far as is known, but not all is."""
        if self.judgement.harms:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.missing else ExitCode.OK

    @property
    def rows(self) -> list[FailedPartition]:
        """The partitions that are affected, step by step."""
        pairs = zip(self.judgement.steps, self.candidates, strict=True)
        return [row for step, found in pairs for row in _rows_of(step, found, rolling=self.case.rolling)]

    def to_ask(self) -> dict[int, list[tuple[str, int]]]:
        """Copies whose log end offsets say what an unclean election may lose, by live broker."""
        asked = copies_to_ask(one for step in self.candidates for some in step.values() for one in some)
        return {broker: some for broker, some in asked.items() if self.snapshot.is_alive(broker)}

    def measured(self, positions: Sequence[LogPosition], silent: Sequence[int]) -> PlayedFailure:
        """The same with log end offsets of candidates, and the brokers that did not report theirs."""
        steps = [[one for some in step.values() for one in some] for step in self.candidates]
        found = tuple(_by_partition(with_positions(step, positions)) for step in steps)
        return replace(self, candidates=found, silent=tuple(silent))


def play_failure(whole: ClusterSnapshot, case: FailureCase) -> PlayedFailure:
    """Plays a failure over a cluster.

    Args:
        whole: The cluster, with topics' min.insync.replicas, log directories and the quorum.
        case: The failure.

    Raises:
        UsageError: What shall fail is not there, or cannot be found in this source.
    """
    target = find_target(whole, case)
    snapshot = select(whole, topics=case.topics, exclude_internal=case.exclude_internal)
    if case.elr and snapshot.mode is MetadataMode.ZOOKEEPER:
        raise UsageError("--elr on cannot be played", "eligible leader replicas are KRaft's", "leave it out")
    if case.rolling:
        judgement = judge_rolling_restart(snapshot, target.brokers, case.changes)
    else:
        judgement = judge_failure(snapshot, target.brokers, target.disks, case.changes)
    found = tuple(_by_partition(candidates(step, target.disks)) for step in judgement.steps)
    return PlayedFailure(case, snapshot, target, judgement, found)


def find_target(snapshot: ClusterSnapshot, case: FailureCase) -> Target:
    """The parts of a cluster that fail.

    Raises:
        UsageError: One is not there, or cannot be found in this source.
    """
    brokers = set(brokers_named(snapshot, case.brokers, case.racks))
    controller = active_controller(snapshot)
    if case.controller:
        if controller is None:
            raise UsageError("the active controller is not known", "this source does not tell", "name --broker")
        brokers.add(controller)
    for broker, path in case.disks:
        _check_disk(snapshot, broker, path)
    whole = {broker for broker, _ in case.disks if _online(snapshot, broker) <= _paths(case, broker)}
    if case.rolling and not (case.brokers or case.racks):
        brokers = {one for one in _broker_ids(snapshot) if snapshot.is_alive(one) is not False}
        if not brokers:
            raise UsageError("no broker can restart", "none is known to be up", "name those to play: --broker ID,…")
    return Target(
        brokers=_in_turn(brokers | whole, controller),
        disks=tuple(disk for disk in case.disks if disk[0] not in brokers | whole),
        whole=tuple(sorted(whole)),
        controller=controller,
    )


def _in_turn(brokers: set[int], controller: int | None) -> tuple[int, ...]:
    """The brokers by id, the active controller last, so that the controller changes only once."""
    return tuple(sorted(brokers, key=lambda broker: (broker == controller, broker)))


def _broker_ids(snapshot: ClusterSnapshot) -> list[int]:
    return [broker for broker in snapshot.brokers["broker"].to_list() if isinstance(broker, int)]


def _paths(case: FailureCase, broker: int) -> set[str]:
    return {path for one, path in case.disks if one == broker}


def _online(snapshot: ClusterSnapshot, broker: int) -> set[str]:
    rows = snapshot.log_dirs.rows()
    return {str(row["path"]) for row in rows if row["broker"] == broker and row["error"] is None}


def _check_disk(snapshot: ClusterSnapshot, broker: int, path: str) -> None:
    known = {str(row["path"]) for row in snapshot.log_dirs.rows() if row["broker"] == broker}
    if path not in known:
        there = f"known are {', '.join(sorted(known))}" if known else "this source knows none of that broker"
        raise UsageError(f"broker {broker} has no log directory {path}", there)


def _by_partition(some: Sequence[Candidate]) -> dict[tuple[str, int], list[Candidate]]:
    grouped: dict[tuple[str, int], list[Candidate]] = {}
    for one in some:
        grouped.setdefault((one.topic, one.partition), []).append(one)
    return grouped


def _rows_of(
    step: PlayedStep, found: dict[tuple[str, int], list[Candidate]], *, rolling: bool
) -> Iterator[FailedPartition]:
    rows, restarting = np.flatnonzero(step.impacts >= 0), step.brokers[0] if rolling else None
    before, after = step.before.partitions, step.after.partitions
    columns = [before[name].take(rows).to_list() for name in ("topic", "partition", "leader", "replicas", "isr", "elr")]
    columns += [after[name].take(rows).to_list() for name in ("leader", "isr", "elr", "last_known_elr", "min_isr")]
    columns += [step.impacts[rows].tolist(), step.already[rows].tolist()]
    for topic, number, leader, replicas, isr, elr, led, isr_after, elr_after, known, min_isr, impact, already in zip(
        *columns, strict=True
    ):
        yield FailedPartition(
            topic=topic,
            partition=number,
            restarting=restarting,
            effect=FAILURE_IMPACTS[impact].value,
            already=already,
            leader=None if leader == -1 else leader,
            leader_after=None if led == -1 else led,
            replicas=replicas,
            isr=isr,
            isr_after=isr_after,
            elr=elr,
            elr_after=elr_after,
            last_known_elr_after=known,
            min_isr=min_isr,
            unclean=FAILURE_IMPACTS[impact] is Impact.UNCLEAN_LEADER,
            candidates=[one.as_row() for one in found.get((topic, number), ())],
        )
