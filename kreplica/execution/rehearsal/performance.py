"""One performance of a plan: the engine plays the cluster, the run of moves carries the plan out, brokers fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kreplica.engine.checkers.outcome import Judge, Outcome
from kreplica.engine.fault_plan import At, Plan, Reassign, Step
from kreplica.engine.fuzzing.broker_failures import Moment
from kreplica.engine.setup import SECOND
from kreplica.engine.simulator.plan_player import PlanPlayer
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Trace
from kreplica.engine.versions.features import with_features
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UnreachableError
from kreplica.execution.moves.plans.journal import Entry
from kreplica.execution.moves.plans.progress import MoveState, replay_moves
from kreplica.execution.moves.preferred_leaders import Electing, elect_preferred_leaders
from kreplica.execution.moves.running.runner import run_moves
from kreplica.execution.moves.session import MoveOptions, MoveSession
from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import Operation
from kreplica.execution.rehearsal.played_cluster import PlayedClock, PlayedCluster, TimeOverError
from kreplica.execution.rehearsal.stage import BEGIN, Stage
from kreplica.execution.rehearsal.unwritten import Unwritten, covered

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot

FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Performance:
    """Result of one performance.

    Args:
        outcome: The engine's verdicts.
        states: What became of each move.
        moments: When each move was in flight, by partition: from the request until its end was seen.
        stopped: Why the run of moves stopped early, empty if it did not.
        unwritten: Microseconds in which a partition took no writes, by its name in the trace.
        unwritten_anywhere: Microseconds in which some partition took none.
        events: The trace, where it is kept.
    """

    outcome: Outcome
    states: Mapping[PartitionKey, MoveState]
    moments: Mapping[PartitionKey, Moment]
    stopped: str
    unwritten: Mapping[str, int]
    unwritten_anywhere: int
    events: Sequence[Event] = field(repr=False)


class _TimedJournal:
    """A journal in memory, with the virtual time of each entry."""

    def __init__(self, clock: PlayedClock) -> None:
        self._clock = clock
        self.entries: list[tuple[int, Entry]] = []

    def append(self, entry: Entry) -> None:
        """Notes an entry."""
        self.entries.append((round(self._clock.now() * SECOND), entry))


def perform(stage: Stage, seed: int, failures: Plan = (), *, moving: bool = True, keep: bool = False) -> Performance:
    """Plays the cluster once; it is a function of its arguments.

    Args:
        stage: Cluster and plan.
        seed: Seed of all randomness but that of the failures.
        failures: What fails, and when.
        moving: Whether the plan is carried out; otherwise the same cluster is left alone.
        keep: Whether the events are kept.
    """
    version = with_features(version_named(stage.version), stage.setup.settings)
    trace = Trace(keep)
    judge = Judge(stage.setup, version, trace, (*failures, *_moves(stage)))
    unwritten = Unwritten()
    trace.subscribe(unwritten)
    simulation = build(stage.setup, version, seed, trace)
    clock = PlayedClock(simulation, stage.setup.duration)
    cluster = PlayedCluster(simulation, stage, clock)
    journal = _TimedJournal(clock)
    PlanPlayer(simulation, failures).arm()
    stopped = ""
    try:
        clock.sleep(BEGIN / SECOND)
        if moving:
            stopped = _carry_out(stage, cluster, clock, journal)
    except TimeOverError:
        stopped = "it did not end in the time that was played"
    simulation.scheduler.run(stage.setup.duration)
    spans = unwritten.spans(stage.setup.duration)
    return Performance(
        outcome=judge.outcome(stage.setup.duration),
        states=_states(stage, journal),
        moments=_moments(stage, journal),
        stopped=stopped,
        unwritten={name: covered(some) for name, some in spans.items()},
        unwritten_anywhere=covered([span for some in spans.values() for span in some]),
        events=trace.events,
    )


def _moves(stage: Stage) -> Plan:
    """The moves as steps, for what judges the run: their times are those of the run."""
    return tuple(
        Step(At(time=BEGIN), Reassign(stage.played_name(change.key), change.to_replicas))
        for change in stage.plan.changes
    )


def _carry_out(stage: Stage, cluster: PlayedCluster, clock: PlayedClock, journal: _TimedJournal) -> str:
    """Carries the plan out as soon as there is a controller; returns why it stopped early."""
    options = MoveOptions(max_wait=FOREVER, clock=clock)
    session = MoveSession(cluster, stage.plan, replay_moves(stage.plan, ()), journal, options)

    def elected(before: ClusterSnapshot) -> tuple[str, tuple[str, ...]]:
        states = _states(stage, journal)
        made = [one for one in stage.plan.changes if states[one.key] in (MoveState.DONE, MoveState.ALREADY)]
        return elect_preferred_leaders(Electing(cluster, journal, Operation.APPLY, options), made, before)

    while True:
        try:
            return run_moves(session, Operation.APPLY, stage.plan.changes, afterwards=elected).stopped
        except UnreachableError:
            clock.sleep(options.poll)


def _states(stage: Stage, journal: _TimedJournal) -> Mapping[PartitionKey, MoveState]:
    return replay_moves(stage.plan, [one for _, one in journal.entries]).apply


def _moments(stage: Stage, journal: _TimedJournal) -> dict[PartitionKey, Moment]:
    begun = {note.key: time for time, one in journal.entries for note in one.moves}
    ended = {result.key: time for time, one in journal.entries for result in one.results}
    changes = {change.key: change for change in stage.plan.changes}
    return {
        key: Moment(
            begin,
            ended.get(key, stage.setup.duration),
            tuple(dict.fromkeys((*changes[key].from_replicas, *changes[key].to_replicas))),
        )
        for key, begin in begun.items()
    }
