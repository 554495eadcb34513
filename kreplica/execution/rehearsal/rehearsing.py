"""Many performances of a plan under random failures: each depends on its own seed alone, on any number of processes.

A performance that loses something is played once more with the same failures and without the plan: what is lost then,
too, the plan does not bring about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from kreplica.engine.checkers.partition_outcomes import partition_outcomes
from kreplica.engine.fault_plan import Plan
from kreplica.engine.fuzzing.broker_failures import Moment, broker_failures
from kreplica.engine.settings import MICROSECONDS
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.plan import PartitionKey
from kreplica.execution.rehearsal.performance import Performance, perform
from kreplica.execution.rehearsal.stage import BEGIN, Stage
from kreplica.model.wording.words import counted
from kreplica.scenarios.random_runs import is_failure, wrong_with
from kreplica.system.processes import in_new_processes

AT_ONCE = 2
"""Performances that a process takes in one go: each takes seconds."""

UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Facts that all performances share.

    Args:
        stage: Cluster and plan, with the time that they take.
        moments: When each move is in flight where nothing fails.
        failures: Failures of brokers in each performance.
    """

    stage: Stage
    moments: tuple[Moment, ...]
    failures: int

    def plan_of(self, seed: int) -> Plan:
        """The failures of a seed."""
        brokers = [broker.id for broker in self.stage.setup.brokers]
        return broker_failures(self.moments, brokers, self.failures, Random(f"failures {seed}"))


@dataclass(frozen=True, slots=True)
class Harm:
    """Harm to one partition in one performance.

    Args:
        lost: Acknowledged records that are gone.
        unseen: Acknowledged records that no consumer can read.
        unwritten_ms: Milliseconds in which it took no writes.
        state: What became of its move.
    """

    lost: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    unwritten_ms: float = 0.0
    state: MoveState = MoveState.DONE

    @property
    def rank(self) -> tuple[int, int, float]:
        """The larger, the worse."""
        return len(self.lost), len(self.unseen), self.unwritten_ms


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one performance.

    Args:
        seed: Its seed.
        trace_hash: The same for the same performance, everywhere.
        acknowledged: Number of records acknowledged.
        wrong: What went wrong that no setting of a client permits.
        wrong_without: What goes wrong with the same failures and without the plan; empty unless something is wrong.
        harm: Harm by partition; those that have none are left out.
        unwritten_ms: Milliseconds in which some partition took no writes.
        stopped: Why the run of moves stopped early, empty if it did not.
    """

    seed: int
    trace_hash: str
    acknowledged: int
    wrong: tuple[str, ...]
    wrong_without: tuple[str, ...]
    harm: Mapping[PartitionKey, Harm]
    unwritten_ms: float
    stopped: str


def rehearsal_of(stage: Stage, failures: int) -> Rehearsal:
    """Plays the plan once without failures, which tells how long it takes and when each move is in flight.

    Args:
        stage: Cluster and plan.
        failures: Failures of brokers in each performance.
    """
    once = perform(stage.lasting(0), 0)
    moments = tuple(once.moments[change.key] for change in stage.plan.changes if change.key in once.moments)
    moments = moments or (Moment(BEGIN, BEGIN, stage.plan.brokers),)
    return Rehearsal(stage.lasting(max(one.end for one in moments) - BEGIN), moments, failures)


def rehearse(
    rehearsal: Rehearsal,
    seeds: range,
    processes: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> tuple[Verdict, ...]:
    """Plays a plan under random failures.

    Args:
        rehearsal: What is played.
        seeds: One for each performance.
        processes: Number of processes; one for each core if 0.
        progress: Called with the progress, as text.
        stopping: Tells whether no more is to be played.

    Returns:
        The verdicts in order of the seeds; fewer where it was stopped.
    """
    processes = processes or len(os.sched_getaffinity(0))
    found: list[Verdict] = []
    played = _in_processes(rehearsal, seeds, processes) if processes > 1 and len(seeds) > AT_ONCE else None
    for verdict in played or (play(rehearsal, seed) for seed in seeds):
        found.append(verdict)
        failing = sum(bool(one.wrong) for one in found)
        progress(f"{len(found)} of {counted(len(seeds), 'run')} played, {failing} failing")
        if stopping():
            break
    return tuple(found)


def _in_processes(rehearsal: Rehearsal, seeds: range, processes: int) -> Iterator[Verdict]:
    parts = [seeds[begin : begin + AT_ONCE] for begin in range(0, len(seeds), AT_ONCE)]
    for played in in_new_processes(partial(_part, rehearsal), parts, processes, patient=True):
        yield from played


def _part(rehearsal: Rehearsal, seeds: range) -> list[Verdict]:
    return [play(rehearsal, seed) for seed in seeds]


def play(rehearsal: Rehearsal, seed: int) -> Verdict:
    """Plays the plan once, under the failures of a seed."""
    failures = rehearsal.plan_of(seed)
    done = perform(rehearsal.stage, seed, failures)
    wrong = _wrong_with(done)
    without = _wrong_with(perform(rehearsal.stage, seed, failures, moving=False)) if wrong else ()
    return Verdict(
        seed=seed,
        trace_hash=done.outcome.trace_hash,
        acknowledged=done.outcome.histories.acknowledged,
        wrong=wrong,
        wrong_without=without,
        harm=_harm(rehearsal.stage, done),
        unwritten_ms=done.unwritten_anywhere / MICROSECONDS,
        stopped=done.stopped,
    )


def _wrong_with(done: Performance) -> tuple[str, ...]:
    """Names of what no setting of a client permits: loss, broken invariants, records that nobody can read."""
    wrong = [name for name in wrong_with(done.outcome) if is_failure((name,))]
    return (*wrong, *([UNSEEN] if done.outcome.histories.unseen else []))


def _harm(stage: Stage, done: Performance) -> dict[PartitionKey, Harm]:
    found = {}
    for one in partition_outcomes(stage.setup, done.outcome):
        key = stage.key(one.partition)
        state = done.states.get(key, MoveState.PENDING)
        harm = Harm(one.lost, one.unseen, done.unwritten.get(one.partition, 0) / MICROSECONDS, state)
        if harm != Harm():
            found[key] = harm
    return found


def worst_of(verdicts: Sequence[Verdict]) -> tuple[Verdict, PartitionKey] | None:
    """The performance and the partition with the greatest harm, the first of several; None where there is none."""
    harmed = [(verdict, key) for verdict in verdicts for key, harm in verdict.harm.items() if any(harm.rank)]
    return max(harmed, key=lambda one: one[0].harm[one[1]].rank, default=None)
