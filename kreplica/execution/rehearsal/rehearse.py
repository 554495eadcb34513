"""A plan of replicas rehearsed on the reference engine before it touches the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.engine.checkers.causal_slice import causal_slice
from kreplica.engine.plans.text import step_words
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import KAFKAS_OWN
from kreplica.engine.trace import Event, Kind, sentence
from kreplica.errors import ExitCode
from kreplica.execution.moves.plans.plan_file import read_replica_plan
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.rehearsal.kinds import KIND_WORDS, ChosenMove, MoveKind
from kreplica.execution.rehearsal.performance import perform
from kreplica.execution.rehearsal.rehearsing import Harm, Rehearsal, Verdict, rehearsal_of, rehearse, worst_of
from kreplica.execution.rehearsal.rows import RehearsedMove
from kreplica.execution.rehearsal.staging import APPLICATIONS, MOST_MOVES, Staged, stage_of
from kreplica.model.wording.words import counted
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.engine.settings import Value
    from kreplica.execution.moves.plans.plan import ReplicaPlan
    from kreplica.execution.plan import PartitionKey

FACETS = Facet.TOPIC_CONFIGS | Facet.BROKER_CONFIGS | Facet.QUORUM
"""Partitions, settings of topics and brokers, and voters."""


def _never() -> bool:
    return False


def _say_nothing(_: str) -> None:
    """Takes what is told where nobody listens."""


@dataclass(frozen=True, slots=True)
class RehearseOptions:
    """Options of a rehearsal.

    Args:
        runs: Number of runs.
        seed: Seed of the first run; each next one has the next seed.
        failures: Failures of brokers in each run.
        moves: Most moves that are played.
        settings: Settings of the cluster, topics and producers, by Kafka's names; they win over the cluster's.
        kafka_version: Version whose rules apply; that of the brokers if None.
        processes: Number of processes; one for each core if 0.
        progress: Called with the progress, as text.
        stopping: Tells whether no more is to be played.
    """

    runs: int = 200
    seed: int = 0
    failures: int = 1
    moves: int = MOST_MOVES
    settings: Mapping[str, Value] = field(default_factory=dict)
    kafka_version: str | None = None
    processes: int = 0
    progress: Callable[[str], None] = _say_nothing
    stopping: Callable[[], bool] = _never


DEFAULTS = RehearseOptions()


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened in a run.

    Args:
        time_ms: Milliseconds since the run began.
        what: A sentence.
    """

    time_ms: float
    what: str


@dataclass(frozen=True, slots=True)
class WorstRun:
    """The run and the move with the greatest harm.

    Args:
        verdict: On the run.
        key: The partition.
        failures: What failed in it, in words.
        story: What happened to the partition in it, in order.
        why: Why a record was lost, or cannot be read; empty where none was.
    """

    verdict: Verdict
    key: PartitionKey
    failures: tuple[str, ...]
    story: tuple[Moment, ...]
    why: str

    @property
    def harm(self) -> Harm:
        """Harm to the partition."""
        return self.verdict.harm[self.key]


@dataclass(frozen=True)
class RehearsedPlan:
    """A plan that was rehearsed.

    Args:
        reading: The cluster.
        plan: The plan.
        staged: What was played of it.
        options: How.
        verdicts: One a run, by seed.
        worst: The worst run; None where nothing happened to any partition.
    """

    reading: Reading
    plan: ReplicaPlan
    staged: Staged
    options: RehearseOptions
    verdicts: tuple[Verdict, ...]
    worst: WorstRun | None

    @property
    def failing(self) -> int:
        """Number of runs in which acknowledged records were lost or cannot be read, or an invariant was broken."""
        return sum(bool(one.wrong) for one in self.verdicts)

    @property
    def failing_without(self) -> int:
        """Number of them in which the same failures do harm without the plan, too."""
        return sum(bool(one.wrong_without) for one in self.verdicts)

    @property
    def wrong(self) -> dict[str, int]:
        """Number of runs with each thing that went wrong."""
        return dict(sorted(Counter(name for one in self.verdicts for name in one.wrong).items()))

    @property
    def unwritten_ms(self) -> float:
        """Longest time in one run in which some partition took no writes, in milliseconds."""
        return max((one.unwritten_ms for one in self.verdicts), default=0.0)

    @property
    def kinds(self) -> dict[MoveKind, tuple[int, int]]:
        """Number of moves of each kind that can begin, and of those that were played."""
        able = Counter(kind for kinds in self.staged.kinds.values() for kind in kinds)
        played = Counter(kind for one in self.staged.chosen for kind in one.kinds)
        return {kind: (able[kind], played[kind]) for kind in KIND_WORDS if able[kind]}

    @property
    def gaps(self) -> list[str]:
        """Reasons why the answer is not complete."""
        unknown = [*(gap.message for gap in self.reading.snapshots[0].gaps), *self.staged.unknown]
        if len(self.verdicts) < self.options.runs:
            unknown.append(f"{len(self.verdicts)} of {counted(self.options.runs, 'run')} played")
        return list(dict.fromkeys(unknown))

    @property
    def warnings(self) -> list[str]:
        """Remarks on the cluster and on what was played."""
        return list(dict.fromkeys([*self.reading.warnings(), *self.gaps, *self.staged.remarks]))

    @property
    def word(self) -> str:
        """Verdict in a word."""
        if self.failing:
            return "FAILS"
        return "INCOMPLETE" if self.gaps else "HOLDS"

    @property
    def exit_code(self) -> ExitCode:
        """1 where a run failed, 5 where none did as far as is known."""
        codes = {"FAILS": ExitCode.FINDINGS, "INCOMPLETE": ExitCode.INCOMPLETE, "HOLDS": ExitCode.OK}
        return codes[self.word]

    @cached_property
    def rows(self) -> list[RehearsedMove]:
        """The moves that were played, in the order of the plan."""
        return [_row(one, self.verdicts) for one in self.staged.chosen]


def rebalance_rehearse(handle: ClusterHandle, path: Path, options: RehearseOptions = DEFAULTS) -> RehearsedPlan:
    """Plays a plan of replicas on the reference engine, with brokers that fail at random and come back.

    The same plan, cluster, options and seed give the same result. The cluster itself is only read.

    Args:
        handle: The cluster, or a snapshot of it.
        path: The plan's file.
        options: Number of runs, seed, settings.

    Raises:
        InputError: The file is no plan of replicas.
        UsageError: The plan was made for another cluster, nothing of it can begin, Kafka's version has to be named, or
            the version cannot play the settings.
        UnreachableError: The cluster did not answer.
    """
    plan, _ = read_replica_plan(path)
    reading = read_clusters((handle,), FACETS)
    staged = stage_of(reading.snapshots[0], plan, options.settings, options.kafka_version, options.moves)
    rehearsal = rehearsal_of(staged.stage, options.failures)
    seeds = range(options.seed, options.seed + options.runs)
    verdicts = rehearse(rehearsal, seeds, options.processes, options.progress, options.stopping)
    return RehearsedPlan(reading, plan, staged, options, verdicts, _worst(rehearsal, verdicts))


def _row(chosen: ChosenMove, verdicts: Sequence[Verdict]) -> RehearsedMove:
    change = chosen.change
    harmed = [(one.harm[change.key], one.seed) for one in verdicts if change.key in one.harm]
    worst = max(harmed, key=lambda one: one[0].rank, default=None)
    lost = [len(harm.lost) for harm, _ in harmed]
    unseen = [len(harm.unseen) for harm, _ in harmed]
    return RehearsedMove(
        topic=change.topic,
        partition=change.partition,
        from_replicas=list(change.from_replicas),
        to_replicas=list(change.to_replicas),
        kinds=[str(kind) for kind in chosen.kinds],
        chosen_for=str(chosen.chosen_for),
        runs_lost=sum(map(bool, lost)),
        lost=max(lost, default=0),
        runs_unseen=sum(map(bool, unseen)),
        unseen=max(unseen, default=0),
        runs_unfinished=sum(harm.state not in (MoveState.DONE, MoveState.ALREADY) for harm, _ in harmed),
        unwritten_ms=max((harm.unwritten_ms for harm, _ in harmed), default=0.0),
        worst_seed=worst[1] if worst is not None else None,
    )


# -- the worst run, told


def _worst(rehearsal: Rehearsal, verdicts: Sequence[Verdict]) -> WorstRun | None:
    found = worst_of(verdicts)
    if found is None:
        return None
    verdict, key = found
    failures = rehearsal.plan_of(verdict.seed)
    played = perform(rehearsal.stage, verdict.seed, failures, keep=True)
    assert played.outcome.trace_hash == verdict.trace_hash, "the same seed gives the same run"
    name = rehearsal.stage.played_name(key)
    harm = verdict.harm[key]
    record = next(iter((*harm.lost, *harm.unseen)), None)
    told = {step_words(step): None for step in failures}
    why = causal_slice(played.events, record).conclusion if record is not None else ""
    return WorstRun(verdict, key, tuple(told), tuple(_story(played.events, name)), why)


_TOLD = frozenset((Kind.PARTITION_CHANGED, Kind.BECAME_LEADER, Kind.RESIGNED, Kind.TRUNCATED, Kind.MOVE_REFUSED))
_OF_NODES = frozenset((Kind.CRASHED, Kind.STOPPED, Kind.STARTED, Kind.PAUSED, Kind.RESUMED))
_MOVED = ("reassign", "elect-preferred")


def _story(events: Sequence[Event], partition: str) -> Iterator[Moment]:
    """Events of a partition and of brokers, after all of them have started."""
    for event in events:
        if event.time and _is_told(event, partition):
            yield Moment(event.time / MICROSECONDS, sentence(event).replace(f"{APPLICATIONS}{KAFKAS_OWN}", KAFKAS_OWN))


def _is_told(event: Event, partition: str) -> bool:
    if event.kind == Kind.FAULT:
        what, detail = event.values
        return what not in _MOVED or detail.split(" ")[0] == partition
    if event.kind in _OF_NODES:
        return event.node.startswith("broker-")
    return event.kind in _TOLD and event.values[0] == partition
