"""The answer of whatif fail: the failure played, its rows and the exit code, before any rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from commands.shared.printing.output import Answer, cluster_object
from commands.shared.stop_options import one_cluster
from commands.whatif.fail.question import COLUMNS, Question
from kreplica.errors import ExitCode, UsageError
from kreplica.health.impact.fail import FATES, MENDABLE, FailureJudgement, Fate, PlayedStep, judge_failure
from kreplica.health.impact.loss_ranges import Candidate, candidates, copies_to_ask, with_positions
from kreplica.health.impact.restart import judge_rolling_restart
from kreplica.health.quorum import active_controller
from kreplica.model.columns import Indices
from kreplica.model.schema import Kind
from kreplica.model.selection import brokers_named, select
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.monitoring.stop_gate import FACETS

if TYPE_CHECKING:
    from commands.shared.options import SourceOptions
    from kreplica.config.handle import ClusterHandle


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


@dataclass(frozen=True, slots=True)
class Played:
    """A question answered.

    Args:
        question: The options.
        reading: The cluster as read.
        snapshot: The selected partitions.
        target: The failing brokers, disks and controller.
        judgement: Effects on the partitions.
        candidates: Candidates for an unclean election in each step, by topic and partition.
        silent: Brokers that did not report their log end offsets.
    """

    question: Question
    reading: Reading
    snapshot: ClusterSnapshot
    target: Target
    judgement: FailureJudgement
    candidates: tuple[dict[tuple[str, int], list[Candidate]], ...]
    silent: tuple[int, ...]

    def mended(self, fate: Fate) -> Indices:
        """The partitions that changed settings save from a harm; none where brokers restart in turn."""
        steps = self.judgement.steps
        return steps[0].mended(fate) if steps and not self.question.rolling else np.array([], dtype=np.intp)

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        silent = ", ".join(map(str, self.silent))
        offsets = (f"log end offsets of brokers {silent} could not be read",) if silent else ()
        return (*(gap.message for gap in self.snapshot.gaps), *self.judgement.unknown, *offsets)

    @property
    def exit_code(self) -> ExitCode:
        """Findings where anything gets worse."""
        if self.judgement.harms:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.missing else ExitCode.OK

    @property
    def answer(self) -> Answer:
        """The answer of the contract."""
        return Answer(
            command="whatif-fail",
            rows_name="partitions",
            columns=COLUMNS,
            rows=list(self._rows()),
            clusters=[cluster_object(self.snapshot)],
            summary=_summary(self),
            warnings=[*self.reading.warnings(), *self.missing[len(self.snapshot.gaps) :]],
            kinds=_kinds(),
        )

    def _rows(self) -> Iterator[dict[str, object]]:
        for step, found in zip(self.judgement.steps, self.candidates, strict=True):
            yield from _rows_of(step, found, restarting=step.brokers[0] if self.question.rolling else None)


def play(sources: SourceOptions, question: Question) -> Played:
    """Reads the cluster and plays the failure.

    Raises:
        UsageError: The target does not exist, or cannot be found in this source.
    """
    handle = one_cluster(sources.handles(), "a failure is of one cluster")
    reading = read_clusters((handle,), FACETS)
    whole = reading.snapshots[0]
    target = _target(whole, question)
    snapshot = select(whole, topics=question.topics, exclude_internal=question.exclude_internal)
    if question.elr and snapshot.mode is MetadataMode.ZOOKEEPER:
        raise UsageError("--elr on cannot be played", "eligible leader replicas are KRaft's", "leave it out")
    if question.rolling:
        judgement = judge_rolling_restart(snapshot, target.brokers, question.changes)
    else:
        judgement = judge_failure(snapshot, target.brokers, target.disks, question.changes)
    found = [candidates(step, target.disks) for step in judgement.steps]
    measured, silent = _measured(handle, snapshot, found)
    grouped = tuple(_by_partition(some) for some in measured)
    return Played(question, reading, snapshot, target, judgement, grouped, tuple(silent))


def _target(snapshot: ClusterSnapshot, question: Question) -> Target:
    brokers = set(brokers_named(snapshot, question.brokers, question.racks))
    controller = active_controller(snapshot)
    if question.controller:
        if controller is None:
            raise UsageError("the active controller is not known", "this source does not tell", "name --broker")
        brokers.add(controller)
    for broker, path in question.disks:
        _check_disk(snapshot, broker, path)
    whole = {broker for broker, _ in question.disks if _online(snapshot, broker) <= _paths(question, broker)}
    if question.rolling and not (question.brokers or question.racks):
        brokers = {one for one in _listed(snapshot) if snapshot.is_alive(one) is not False}
        if not brokers:
            raise UsageError("no broker can restart", "none is known to be up", "name those to play: --broker ID,…")
    return Target(
        brokers=_in_turn(brokers | whole, controller),
        disks=tuple(disk for disk in question.disks if disk[0] not in brokers | whole),
        whole=tuple(sorted(whole)),
        controller=controller,
    )


def _in_turn(brokers: set[int], controller: int | None) -> tuple[int, ...]:
    """The brokers by id, the active controller last, so that the controller changes only once."""
    return tuple(sorted(brokers, key=lambda broker: (broker == controller, broker)))


def _listed(snapshot: ClusterSnapshot) -> list[int]:
    return [broker for broker in snapshot.brokers["broker"].to_list() if isinstance(broker, int)]


def _paths(question: Question, broker: int) -> set[str]:
    return {path for one, path in question.disks if one == broker}


def _online(snapshot: ClusterSnapshot, broker: int) -> set[str]:
    rows = snapshot.log_dirs.rows()
    return {str(row["path"]) for row in rows if row["broker"] == broker and row["error"] is None}


def _check_disk(snapshot: ClusterSnapshot, broker: int, path: str) -> None:
    known = {str(row["path"]) for row in snapshot.log_dirs.rows() if row["broker"] == broker}
    if path not in known:
        there = f"known are {', '.join(sorted(known))}" if known else "this source knows none of that broker"
        raise UsageError(f"broker {broker} has no log directory {path}", there)


def _measured(
    handle: ClusterHandle, snapshot: ClusterSnapshot, found: Sequence[list[Candidate]]
) -> tuple[list[list[Candidate]], list[int]]:
    """The candidates with their log end offsets, where brokers can be asked, and the brokers that did not answer."""
    asked = copies_to_ask(one for some in found for one in some)
    asked = {broker: some for broker, some in asked.items() if snapshot.is_alive(broker)}
    if handle.bootstrap_servers is None or not asked:
        return list(found), []
    from kreplica.sources.kafka.offsets import read_positions

    positions, silent = read_positions(handle, snapshot, asked)
    return [with_positions(some, positions) for some in found], silent


def _by_partition(some: Sequence[Candidate]) -> dict[tuple[str, int], list[Candidate]]:
    grouped: dict[tuple[str, int], list[Candidate]] = {}
    for one in some:
        grouped.setdefault((one.topic, one.partition), []).append(one)
    return grouped


def _rows_of(
    step: PlayedStep, found: dict[tuple[str, int], list[Candidate]], *, restarting: int | None
) -> Iterator[dict[str, object]]:
    rows = np.flatnonzero(step.fates >= 0)
    before, after = step.before.partitions, step.after.partitions
    columns = [before[name].take(rows).to_list() for name in ("topic", "partition", "leader", "replicas", "isr", "elr")]
    columns += [after[name].take(rows).to_list() for name in ("leader", "isr", "elr", "last_known_elr", "min_isr")]
    columns += [step.fates[rows].tolist(), step.already[rows].tolist()]
    for topic, number, leader, replicas, isr, elr, led, isr_after, elr_after, known, min_isr, fate, already in zip(
        *columns, strict=True
    ):
        yield {
            "topic": topic,
            "partition": number,
            "restarting": restarting,
            "effect": FATES[fate].value,
            "already": already,
            "leader": None if leader == -1 else leader,
            "leader_after": None if led == -1 else led,
            "replicas": replicas,
            "isr": isr,
            "isr_after": isr_after,
            "elr": elr,
            "elr_after": elr_after,
            "last_known_elr_after": known,
            "min_isr": min_isr,
            "unclean": FATES[fate] is Fate.UNCLEAN_LEADER,
            "candidates": [one.as_row() for one in found.get((topic, number), ())],
        }


def _summary(played: Played) -> dict[str, object]:
    judgement, question, target = played.judgement, played.question, played.target
    words = {ExitCode.OK: "no_harm", ExitCode.FINDINGS: "harm", ExitCode.INCOMPLETE: "incomplete"}
    quorum = judgement.steps[0].quorum if judgement.steps and not question.rolling else None
    return {
        "verdict": words[played.exit_code],
        "rolling_restart": question.rolling,
        "brokers": list(target.brokers),
        "disks": [{"broker": broker, "path": path} for broker, path in target.disks],
        "controller": target.controller,
        "changes": {"min_isr": question.min_isr, "unclean": question.unclean, "elr": question.elr},
        "partitions": len(played.snapshot.partitions),
        "effects": {fate.value: judgement.count(fate) for fate in FATES},
        "already": {fate.value: judgement.count(fate, already=True) for fate in FATES},
        "mended": {fate.value: len(played.mended(fate)) for fate in MENDABLE},
        "quorum": None if quorum is None else quorum.as_row(),
        "leaders": [asdict(one) for one in judgement.leaders],
        "complete": not played.missing,
    }


def _kinds() -> dict[str, Kind]:
    kinds = dict.fromkeys(COLUMNS, Kind.INT_LIST) | dict.fromkeys(("topic", "effect", "candidates"), Kind.STRING)
    kinds |= dict.fromkeys(("partition", "restarting", "leader", "leader_after", "min_isr"), Kind.INT32)
    return kinds | {"already": Kind.BOOL, "unclean": Kind.BOOL}
