"""A long search for runs that lose acknowledged records, and how soon unsafe settings and missing rules are caught.

    python benchmarks/safety.py --runs 100000               settings that promise safety: nothing may be lost
    python benchmarks/safety.py --sensitivity --runs 400    what is unsafe: the median number of seeds until it shows

The first prints the coverage of rules by outcome. Both use all cores and give the same numbers on any of them; they end
with 1 when something is lost that must not be, or when something unsafe takes more than 200 seeds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import inf
from multiprocessing import get_context
from random import Random
from statistics import median

from kreplica.engine import Event, Judge, Trace, Version, observe, simulate, version_named
from kreplica.engine.outcome import measure
from kreplica.engine.random_plans import DEFAULT_PROFILE, KEEPS_DISKS, FaultKind, Profile, near_plan
from kreplica.engine.random_setups import random_run
from kreplica.engine.settings import Value
from kreplica.engine.trace import rule_of
from kreplica.engine.versions import Truncation
from kreplica.scenarios import scenario_named

SAFE = ("2.1", "2.5", "2.7", "3.0", "3.7", "3.9", "3.9-kraft", "4.0", "4.1")
MOST_SEEDS = 200
PART = 50

_DISKS = Profile((*KEEPS_DISKS, FaultKind.DISK_LOSS))
_POWER = Profile((*KEEPS_DISKS, FaultKind.POWER_LOSS))
_NO_IDEMPOTENCE: dict[str, Value] = {"enable.idempotence": False}
_V2_0, _V2_7, _V3_9, _V3_9_ZK = (version_named(name) for name in ("2.0", "2.7", "3.9-kraft", "3.9"))
_BY_MARK = Truncation.HIGH_WATERMARK

UNSAFE: dict[str, tuple[Version, dict[str, Value], Profile]] = {
    "acks=0": (_V3_9, {"acks": 0, **_NO_IDEMPOTENCE}, DEFAULT_PROFILE),
    "acks=1": (_V3_9, {"acks": 1, **_NO_IDEMPOTENCE}, DEFAULT_PROFILE),
    "unclean elections, ZooKeeper": (_V3_9_ZK, {"unclean.leader.election.enable": True}, DEFAULT_PROFILE),
    "unclean elections, KRaft": (_V3_9, {"unclean.leader.election.enable": True}, DEFAULT_PROFILE),
    "min.insync.replicas=1, disks lost": (_V3_9, {"min.insync.replicas": 1}, _DISKS),
    "disks lost": (_V3_9, {}, _DISKS),
    "power lost": (_V3_9, {}, _POWER),
    "0.10": (version_named("0.10"), {}, DEFAULT_PROFILE),
    "no KIP-101": (replace(_V2_0, truncation=_BY_MARK), {}, DEFAULT_PROFILE),
    "no KIP-101, 2.7": (
        replace(_V2_7, truncate_on_fetch=False, truncation=Truncation.HIGH_WATERMARK),
        {},
        DEFAULT_PROFILE,
    ),
    "no KIP-279": (replace(_V2_0, truncation=Truncation.KIP_101), {}, DEFAULT_PROFILE),
    "no KIP-320": (_V2_0, {}, DEFAULT_PROFILE),
    "fetches not fenced": (replace(_V2_7, fenced_fetch=False), {}, DEFAULT_PROFILE),
    "joins before the epoch's start": (replace(_V2_7, join_at_epoch_start=False), {}, DEFAULT_PROFILE),
    "no KIP-903, disks lost": (replace(_V3_9, broker_epoch_in_isr=False), {}, _DISKS),
}
"""By what is unsafe about it: version, settings over the safe ones, faults."""


NEAR: dict[str, tuple[str, Version, str]] = {
    "no KIP-101": ("hw-truncation-loss", replace(_V2_0, truncation=_BY_MARK), "lost"),
    "no KIP-279": (
        "fast-failover-divergence",
        replace(version_named("2.1"), truncation=Truncation.KIP_101),
        "diverged",
    ),
    "joins before the epoch's start": (
        "premature-isr-join",
        replace(version_named("2.1"), join_at_epoch_start=False),
        "lost",
    ),
    "fetches not fenced": ("unfenced-fetch", replace(version_named("2.1"), fenced_fetch=False), "lost"),
    "no ELR, disks lost": ("last-replica-standing", replace(version_named("4.1"), elr=False), "lost"),
}
"""What also is searched for around a scenario: its times moved by up to 5 ms, its links with jitter."""


def catch_near(name: str, seeds: range) -> list[int]:
    """The seeds around a scenario that catch what is unsafe."""
    scenario_name, version, wrong = NEAR[name]
    scenario = scenario_named(scenario_name)
    found = []
    for seed in seeds:
        chance = Random(f"near {seed}")
        setup = scenario.setup.with_settings({"jitter.us": chance.choice((0, 50, 200))})
        outcome, _ = observe(setup, near_plan(scenario.plan, chance), version, seed, keep=False)
        if measure(outcome, wrong):
            found.append(seed)
    return found


def play(seed: int, version: Version, changes: dict[str, Value], profile: Profile) -> tuple[str, Counter[str]]:
    """The verdict of a run (``lost``, ``safe``, ``idle``), and how often each rule acted."""
    setup, plan = random_run(seed, version, profile)
    setup = setup.with_settings(changes)
    trace = Trace(keep=False)
    judge = Judge(setup, version, trace)
    rules: Counter[str] = Counter()

    def note(event: Event) -> None:
        if event.kind not in ("message", "dropped"):
            rules[rule_of(event)] += 1

    trace.subscribe(note)
    simulate(setup, plan, version, seed, trace)
    outcome = judge.outcome(setup.duration)
    if not outcome.is_safe:
        return "lost", rules
    return ("safe" if outcome.histories.acknowledged_under_faults else "idle"), rules


def search(seeds: range) -> list[tuple[int, str, Counter[str]]]:
    """Runs with the settings that promise safety."""
    return [(seed, *play_or_fail(seed)) for seed in seeds]


def play_or_fail(seed: int) -> tuple[str, Counter[str]]:
    """A run that ends with an exception is a defect, and no reason to end the search: it counts as ``failed``."""
    try:
        return play(seed, version_named(SAFE[seed % len(SAFE)]), {}, DEFAULT_PROFILE)
    except Exception as error:
        print(f"seed {seed} of {SAFE[seed % len(SAFE)]}: {type(error).__name__}: {error}", flush=True)
        return "failed", Counter()


def catch(name: str, seeds: range) -> list[int]:
    """The seeds that catch what is unsafe."""
    version, changes, profile = UNSAFE[name]
    return [seed for seed in seeds if play(seed, version, changes, profile)[0] == "lost"]


def parts(first: int, runs: int) -> list[range]:
    return [range(begin, min(begin + PART, first + runs)) for begin in range(first, first + runs, PART)]


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn"))


def safety(first: int, runs: int) -> int:
    begin = time.perf_counter()
    verdicts: Counter[str] = Counter()
    coverage: dict[str, Counter[str]] = {}
    lost = []
    with pool() as workers:
        for seed, verdict, rules in flat(workers.map(search, parts(first, runs))):
            verdicts[verdict] += 1
            coverage.setdefault(verdict, Counter()).update(rules)
            if verdict in ("lost", "failed"):
                lost.append(seed)
    print(f"{runs} runs in {time.perf_counter() - begin:.0f} s: {dict(verdicts)}; idle ones do not count")
    print(f"lost, broken or failed: {lost or 'none'}\n\n{'rule':<60}" + "".join(f"{name:>12}" for name in coverage))
    for rule in sorted({rule for rules in coverage.values() for rule in rules}):
        print(f"{rule or '(no rule)':<60}" + "".join(f"{coverage[name][rule]:>12}" for name in coverage))
    return 1 if lost else 0


def flat(lists: Iterator[list[tuple[int, str, Counter[str]]]]) -> Iterator[tuple[int, str, Counter[str]]]:
    for each in lists:
        yield from each


def sensitivity(runs: int) -> int:
    """Prints how soon what is unsafe is caught: a rule counts by the better of both ways to search for it."""
    best: dict[str, float] = {}
    print(f"{'unsafe':<40}{'caught':>8}{'of':>6}{'median seeds until caught':>28}")
    with pool() as workers:
        searches = [(name, catch, "") for name in UNSAFE] + [(name, catch_near, " near") for name in NEAR]
        for name, search_for, where in searches:
            ranges = parts(0, runs)
            hits = [seed for found in workers.map(search_for, [name] * len(ranges), ranges) for seed in found]
            gaps = [after - before for before, after in zip([-1, *hits], hits, strict=False)]
            told = f"{median(gaps):g}" if gaps else f"more than {runs}"
            best[name] = min(best.get(name, inf), median(gaps) if gaps else inf)
            print(f"{name + where:<40}{len(hits):>8}{runs:>6}{told:>28}", flush=True)
    late = [name for name, seeds in best.items() if seeds > MOST_SEEDS]
    print(f"not caught within {MOST_SEEDS} seeds: {', '.join(late) or 'none'}")
    return 1 if late else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--sensitivity", action="store_true")
    options = parser.parse_args()
    return sensitivity(options.runs) if options.sensitivity else safety(options.seed, options.runs)


if __name__ == "__main__":
    sys.exit(main())
