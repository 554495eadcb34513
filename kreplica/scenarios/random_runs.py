"""Many runs of a scenario under random faults: verdicts counted, the first failing plans made smaller.

Every run depends on its own seed alone, so that the result is the same on any number of processes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from kreplica.engine.checkers.outcome import Outcome, observe
from kreplica.engine.checkers.partition_outcomes import PartitionOutcome, partition_outcomes
from kreplica.engine.fault_plan import Plan
from kreplica.engine.fuzzing.plans import random_plan
from kreplica.engine.fuzzing.shrinking import shrink
from kreplica.engine.fuzzing.smaller_setup import leave_out
from kreplica.engine.plans.omissions import LeaveOut, without
from kreplica.engine.settings import PROMISING, Value
from kreplica.engine.versions.supported import version_named
from kreplica.model.wording.words import counted
from kreplica.scenarios import scenario_named
from kreplica.scenarios.rows import RandomRun
from kreplica.scenarios.scenario import Scenario
from kreplica.system.processes import in_new_processes

SHRUNK = 3
MOST_RUNS = 150
"""Number of failing plans that are made smaller, and of plays for each."""

NOTHING = LeaveOut()

AT_ONCE = 16
"""Runs that a process takes in one go."""


@dataclass(frozen=True, slots=True)
class Job:
    """Runs of one scenario: what they have in common.

    Args:
        scenario: Its name.
        version: Under which it is played.
        settings: Over those of the scenario.
        own: The scenario itself, where it has no name that every process finds.
    """

    scenario: str
    version: str
    settings: Mapping[str, Value]
    own: Scenario | None = None

    @property
    def story(self) -> Scenario:
        """The scenario."""
        return self.own or scenario_named(self.scenario)


Played = tuple[RandomRun, Sequence[PartitionOutcome]]
"""The verdict on one run, and the partitions where something was lost, unseen or out of use."""


@dataclass(frozen=True, slots=True)
class SmallestPlan:
    """A failing plan made small.

    Args:
        plan: Its steps.
        leave_out: Parts of the scenario's cluster and clients that the failure does not need.
        seed: Seed with which it fails.
        wrong: Failures.
    """

    plan: Plan
    leave_out: LeaveOut
    seed: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """Result of many runs.

    Args:
        verdicts: One a run, by seed.
        harmed: Partitions where something was lost, unseen or out of use, run after run.
        wrong: Number of runs with each failure.
        idle: Number of runs that prove nothing: no fault, or nothing acknowledged.
        smallest: The smallest failing plan that was found; None if no run failed.
    """

    verdicts: tuple[RandomRun, ...]
    harmed: tuple[PartitionOutcome, ...]
    wrong: Mapping[str, int]
    idle: int
    smallest: SmallestPlan | None


def wrong_with(outcome: Outcome) -> tuple[str, ...]:
    """Failures of a run, by the names of the outcome."""
    histories = outcome.histories
    names = ("lost", "duplicated", "reordered", "aborted_read", "stale_read", "lost_read")
    found = [name for name in names if getattr(histories, name)]
    found.extend(dict.fromkeys(str(each.invariant) for each in outcome.findings))
    return tuple(found)


def is_failure(wrong: Sequence[str]) -> bool:
    """True for a failure that no setting of a client permits: loss, or a broken invariant."""
    return any(name not in ("duplicated", "reordered", "stale_read", "lost_read") for name in wrong)


def plan_of(scenario: Scenario, version: str, settings: Mapping[str, Value], seed: int) -> Plan:
    """The random plan of a seed."""
    setup = scenario.setup.with_settings(settings)
    return random_plan(setup, version_named(version), scenario.profile, Random(f"plan {seed}"))


def run_many(
    job: Job, first_seed: int, runs: int, processes: int = 0, progress: Callable[[str], None] = lambda _: None
) -> ManyRuns:
    """Plays a scenario's cluster and clients under random faults.

    Args:
        job: The scenario to play.
        first_seed: Of the first run; each next one has the next seed.
        runs: Number of runs.
        processes: Number of processes; one for each core if 0.
        progress: Called with the progress, as text.
    """
    seeds = range(first_seed, first_seed + runs)
    processes = processes or len(os.sched_getaffinity(0))
    several = processes > 1 and runs > AT_ONCE
    played = _reported(_in_processes(job, seeds, processes) if several else _in_turn(job, seeds), runs, progress)
    verdicts = tuple(verdict for verdict, _ in played)
    harmed = tuple(one for _, partitions in played for one in partitions)
    counted = Counter(name for verdict in verdicts for name in verdict.wrong)
    idle = sum(not verdict.faults or not verdict.acknowledged for verdict in verdicts)
    failed = [verdict for verdict in verdicts if is_failure(verdict.wrong)]
    return ManyRuns(verdicts, harmed, dict(sorted(counted.items())), idle, _smallest(job, failed[:SHRUNK], progress))


def _reported(played: Iterator[Played], runs: int, progress: Callable[[str], None]) -> list[Played]:
    known: list[Played] = []
    failing = 0
    for each in played:
        known.append(each)
        failing += is_failure(each[0].wrong)
        progress(f"{len(known)} of {counted(runs, 'run')} played, {failing} failing")
    return known


def _in_turn(job: Job, seeds: range) -> Iterator[Played]:
    return (_play(job, seed) for seed in seeds)


def _in_processes(job: Job, seeds: range, processes: int) -> Iterator[Played]:
    parts = [seeds[begin : begin + AT_ONCE] for begin in range(0, len(seeds), AT_ONCE)]
    for played in in_new_processes(partial(_part, job), parts, processes):
        yield from played


def _part(job: Job, seeds: range) -> list[Played]:
    return [_play(job, seed) for seed in seeds]


def _play(job: Job, seed: int) -> Played:
    plan = plan_of(job.story, job.version, job.settings, seed)
    outcome = _outcome(job, plan, seed)
    verdict = RandomRun(
        seed=seed,
        trace_hash=outcome.trace_hash,
        acknowledged=outcome.histories.acknowledged,
        faults=outcome.counts.get("fault", 0),
        wrong=wrong_with(outcome),
        lost=len(outcome.histories.lost),
        unavailable_ms=outcome.measures.unavailable_ms,
    )
    return verdict, [one for one in partition_outcomes(job.story.setup, outcome) if one.is_harmed]


def _outcome(job: Job, plan: Plan, seed: int, left_out: LeaveOut = NOTHING) -> Outcome:
    setup = without(job.story.setup, left_out).with_settings(job.settings)
    return observe(setup, plan, version_named(job.version), seed, keep=False)[0]


def _smallest(job: Job, failed: list[RandomRun], progress: Callable[[str], None]) -> SmallestPlan | None:
    """The smallest plan of some failing seeds, and the smallest setup with the same failure."""
    found = []
    for verdict in failed:
        progress(f"making the failing plan of seed {verdict.seed} smaller")
        plan = plan_of(job.story, job.version, job.settings, verdict.seed)
        found.append((shrink(plan, _same_failure(job, verdict), MOST_RUNS), verdict))
    if not found:
        return None
    plan, verdict = min(found, key=lambda one: len(one[0]))
    progress(f"leaving out what the failure of seed {verdict.seed} does not need")
    fails = _same_failure(job, verdict)
    setup = job.story.setup
    left_out = leave_out(setup, lambda more: fails(plan, more), stays={*job.settings, *PROMISING})
    return SmallestPlan(plan, left_out, verdict.seed, wrong_with(_outcome(job, plan, verdict.seed, left_out)))


def _same_failure(job: Job, failed: RandomRun) -> Callable[..., bool]:
    """A predicate: true if a plan, played with the reduced setup, fails as the run did."""
    target = next(name for name in failed.wrong if is_failure((name,)))

    def fails(plan: Plan, left_out: LeaveOut = NOTHING) -> bool:
        return target in wrong_with(_outcome(job, plan, failed.seed, left_out))

    return fails
