"""A long search for runs that lose acknowledged records, and how soon unsafe settings and missing rules are caught.

    python benchmarks/safety.py --runs 100000               settings that promise safety: nothing may be lost
    python benchmarks/safety.py --sensitivity --runs 200    what is unsafe: the median number of seeds until it shows

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
from multiprocessing import get_context

from sensitivity import sensitivity

from kreplica.engine import Event, Judge, Trace, Version, simulate, version_named
from kreplica.engine.random_setups import random_run
from kreplica.engine.trace import rule_of

SAFE = ("2.1", "2.5", "2.7", "3.0", "3.7", "3.9", "3.9-kraft", "4.0", "4.1")
PART = 50


def play(seed: int, version: Version) -> tuple[str, Counter[str]]:
    """The verdict of a run (``lost``, ``safe``, ``idle``), and how often each rule acted."""
    setup, plan = random_run(seed, version)
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
        return play(seed, version_named(SAFE[seed % len(SAFE)]))
    except Exception as error:
        print(f"seed {seed} of {SAFE[seed % len(SAFE)]}: {type(error).__name__}: {error}", flush=True)
        return "failed", Counter()


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--sensitivity", action="store_true")
    options = parser.parse_args()
    if not options.sensitivity:
        return safety(options.seed, options.runs)
    with pool() as workers:
        return sensitivity(parts(options.seed, options.runs), workers)


if __name__ == "__main__":
    sys.exit(main())
