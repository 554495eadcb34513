"""A long search for runs that break a promise, and how soon unsafe settings and missing rules are caught.

    python benchmarks/engine/safety.py --runs 100000
    python benchmarks/engine/safety.py --runs 100000 --keep FILE
    python benchmarks/engine/safety.py --sensitivity --runs 200

The first plays settings that promise safety: every promise holds. It prints the coverage of rules by outcome. With
``--keep`` it saves each part of the seeds, and continues from there. The last plays unsafe settings: the median number
of seeds until they show. All use all cores, or as many as ``--processes`` says, and give the same numbers on any of
them; they exit 1 when a promise is broken, or when something unsafe takes more than 200 seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO

from sensitivity import sensitivity

from kreplica.engine import Event, Judge, Trace, Version, simulate, version_named
from kreplica.engine.fuzzing.setups import random_run
from kreplica.engine.trace import rule_of

SAFE = ("2.1", "2.5", "2.7", "3.5", "3.7", "3.9", "3.9-kraft", "4.0", "4.1")
"""Versions that keep every promise: 2.8.0 to 3.4.0 lack KAFKA-14704, and 2.8.0 also KAFKA-13141.

2.1 keeps those of safety; of liveness not that a broker is noticed that was away briefly (KIP-380): see ``Liveness``.
"""

PART = 50
BROKEN, FAILED, SAFELY, IDLE, SETTLED = "broken", "failed", "safe", "idle", "judged for liveness"


def play(seed: int, version: Version) -> tuple[str, Counter[str]]:
    """The verdict of a run (``broken``, ``safe``, ``idle``), and how often each rule acted."""
    setup, plan = random_run(seed, version)
    trace = Trace(keep=False)
    judge = Judge(setup, version, trace, plan)
    rules: Counter[str] = Counter()

    def note(event: Event) -> None:
        if event.kind not in ("message", "dropped"):
            rules[rule_of(event)] += 1

    trace.subscribe(note)
    simulate(setup, plan, version, seed, trace)
    outcome = judge.outcome(setup.duration)
    if outcome.liveness_judged:
        rules[SETTLED] += 1
    if not outcome.keeps_promises:
        print(
            f"seed {seed} of {version.name}: {outcome.findings[:3]} {outcome.histories.lost_with_acks_all}", flush=True
        )
        return BROKEN, rules
    return (SAFELY if outcome.histories.acknowledged_under_faults else IDLE), rules


def search(seeds: range) -> dict[str, Any]:
    """Plays runs with settings that promise safety; returns verdicts, the rules that acted, and the broken seeds."""
    coverage: dict[str, Counter[str]] = {}
    verdicts: Counter[str] = Counter()
    broken = []
    for seed in seeds:
        verdict, rules = play_or_fail(seed)
        verdicts[verdict] += 1
        coverage.setdefault(verdict, Counter()).update(rules)
        if verdict in (BROKEN, FAILED):
            broken.append(seed)
    return {"first": seeds.start, "runs": len(seeds), "verdicts": verdicts, "coverage": coverage, "broken": broken}


def play_or_fail(seed: int) -> tuple[str, Counter[str]]:
    """Plays a run. An exception is a defect, but does not end the search: it counts as ``failed``."""
    try:
        return play(seed, version_named(SAFE[seed % len(SAFE)]))
    except Exception as error:
        print(f"seed {seed} of {SAFE[seed % len(SAFE)]}: {type(error).__name__}: {error}", flush=True)
        return FAILED, Counter()


def parts(first: int, runs: int) -> list[range]:
    return [range(begin, min(begin + PART, first + runs)) for begin in range(first, first + runs, PART)]


def pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes or len(os.sched_getaffinity(0)), mp_context=get_context("spawn"))


def safety(first: int, runs: int, processes: int, keep: Path | None) -> int:
    begin = time.perf_counter()
    known = [json.loads(line) for line in keep.read_text().splitlines()] if keep and keep.exists() else []
    done = {(part["first"], part["runs"]) for part in known}
    left = [seeds for seeds in parts(first, runs) if (seeds.start, len(seeds)) not in done]
    with pool(processes) as workers, (keep or Path(os.devnull)).open("a") as kept:
        known += [written(part, kept) for part in workers.map(search, left)]
    return told(known, time.perf_counter() - begin)


def written(part: dict[str, Any], kept: TextIO) -> dict[str, Any]:
    kept.write(json.dumps(part) + "\n")
    kept.flush()
    return part


def told(known: Iterable[dict[str, Any]], seconds: float) -> int:
    """Prints the results of all parts; returns 1 when a promise was broken or a run failed."""
    verdicts: Counter[str] = Counter()
    coverage: dict[str, Counter[str]] = {}
    broken: list[int] = []
    for part in known:
        verdicts.update(part["verdicts"])
        broken += part["broken"]
        for verdict, rules in part["coverage"].items():
            coverage.setdefault(verdict, Counter()).update(rules)
    print(f"{sum(verdicts.values())} runs, {seconds:.0f} s: {dict(verdicts)}; idle ones do not count")
    print(f"broken or failed: {sorted(broken) or 'none'}\n\n{'rule':<60}" + "".join(f"{name:>12}" for name in coverage))
    for rule in sorted({rule for rules in coverage.values() for rule in rules}):
        print(f"{rule or '(no rule)':<60}" + "".join(f"{coverage[name][rule]:>12}" for name in coverage))
    return 1 if broken else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--sensitivity", action="store_true")
    parser.add_argument("--enough", type=int, default=0, help="with --sensitivity: a row is done after so many catches")
    parser.add_argument("--processes", type=int, default=0, help="as many as there are cores if not given")
    parser.add_argument("--keep", type=Path, help="where finished parts are written, and read when it begins again")
    options = parser.parse_args()
    if not options.sensitivity:
        return safety(options.seed, options.runs, options.processes, options.keep)
    processes = options.processes or len(os.sched_getaffinity(0))
    with pool(processes) as workers:
        seeds = range(options.seed, options.seed + options.runs)
        return sensitivity(seeds, options.enough or options.runs, processes, workers)


if __name__ == "__main__":
    sys.exit(main())
