"""Time, moves and gaps of plans of reassignments, beside the planners of Kafka and of Yelp's kafka-utils.

    python benchmarks/planning/reassignment.py
    python benchmarks/planning/reassignment.py --brokers 30 --partitions 2000 --kafka-utils PYTHON

All plan the same generated cluster (generated_cluster.py). Times are those of planning in a process that runs already,
the cluster in memory as arrays: wall and CPU, the least of three runs, of peers one. What each is after stands in the
table; numbers of moves can be compared where ranges of replicas, racks and leaders are as good.

With --verify plans are made by the command line from a snapshot on disk and verified instead: whole processes, their
start and the reading of plan and snapshot included, one run each.

With --states every state on the way of a plan by topic, some 80,000 moves, is judged and the moves are put in order, as
``rebalance replicas`` does before it shows a plan; one run.

PYTHON is that of an environment with kafka-utils: ``uv venv FOLDER``, then ``uv pip install --python FOLDER/bin/python
kafka-utils``. Exits 1 when a target is missed, which are those of 1000 brokers and 200,000 partitions, or when a peer
needs fewer moves, at any size, for replicas spread at least as well.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]

if TYPE_CHECKING:
    from generated_cluster import GeneratedCluster

    from kreplica.planner.reassignment.problem import Problem

Matrix = NDArray[np.int32]

TARGETS = {"greedy": 1.0, "proved": 15.0, "proved, 5 racks": 30.0, "leaders": 3.0, "bytes": 10.0}
"""Most seconds of planning 200,000 partitions on 1000 brokers."""
TARGET_GAP = 0.001
TARGET_STATES = 10.0
TARGET_VERIFY = 10.0
VERIFIED = (
    ("--balance", "count", "--prove"),
    ("--drain", "1", "--prove"),
    ("--balance", "count", "--max-moves", "1000"),
    ("--balance", "bytes"),
    ("--balance", "leaders"),
    ("--balance", "topic"),
)
KREPLICA = (sys.executable, "-c", "from commands.start import main; main()", "rebalance")
PEER_SECONDS = 300
RUNS = 3


@dataclass(slots=True)
class Result:
    """One plan: what it is after, what it took, what came of it, and a sentence on its bound."""

    name: str
    objective: str
    wall: float
    cpu: float | None
    replicas: Matrix
    bound: str = "-"
    missed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Quality:
    """A plan in numbers: copies, their bytes as a share of all, ranges over brokers, partitions in too few racks."""

    moves: int
    bytes_share: float
    counts: tuple[int, int]
    leaders: tuple[int, int]
    loads: tuple[float, float]
    violations: int


def main() -> int:
    """Prints the tables; 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka-utils", metavar="PYTHON", help="plan with kafka-utils, too; for small clusters")
    parser.add_argument("--without-java", action="store_true", help="leave Kafka's classes out")
    parser.add_argument("--verify", action="store_true", help="verify plans instead of comparing planners")
    parser.add_argument("--states", action="store_true", help="judge and order the moves of a large plan instead")
    options = parser.parse_args()
    missed: list[str] = []
    for racks in (3, 5):
        if options.states:
            missed += states_on_the_way(options, racks)
        else:
            missed += verifications(options, racks) if options.verify else run_all(options, racks)
    print(f"targets missed: {'; '.join(missed) or 'none'}")
    return 1 if missed else 0


def run_all(options: argparse.Namespace, racks: int) -> list[str]:
    """One table; returns the targets that were missed."""
    from generated_cluster import build_cluster

    cluster = build_cluster(options.brokers, racks, options.partitions, seed=options.seed)
    added = max(racks, options.brokers // 100)
    wider = build_cluster(options.brokers, racks, options.partitions, empty=added, seed=options.seed)
    results = [untouched(cluster), *count_plans(cluster, racks)]
    own = results[1:]
    peers = kafka_plans(cluster, options.seed) if not options.without_java else []
    if options.kafka_utils:
        peers.append(kafka_utils_plan(cluster, options.kafka_utils))
    results += [*peers, *other_plans(cluster)]
    print(f"\n{options.brokers} brokers in {racks} racks, {options.partitions} partitions of 3 replicas:\n")
    table(cluster, results)
    print(f"\nthe same with the last {added} of the brokers empty:\n")
    grown = [untouched(wider), *add_plans(wider, racks, added), load_plan(wider)]
    table(wider, grown)
    print()
    full = options.brokers >= 1000 and options.partitions >= 200_000
    missed = [each for result in (*results, *grown) for each in result.missed if full]
    return missed + worse_than_a_peer(cluster, own, peers)


def untouched(cluster: GeneratedCluster) -> Result:
    return Result("as it is", "-", 0.0, 0.0, cluster.replicas)


def timed(work: Callable[[], Result], limit: str | None = None) -> Result:
    """Runs a planner three times; the least times count, and all plans have to be the same."""
    results, times = [], []
    for _ in range(RUNS):
        wall, cpu = time.perf_counter(), time.process_time()
        results.append(work())
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    result = results[0]
    assert all(np.array_equal(result.replicas, one.replicas) for one in results), "the same input gives the same plan"
    result.wall, result.cpu = (min(one) for one in zip(*times, strict=True))
    if limit is not None and result.wall > TARGETS[limit]:
        result.missed.append(f"{result.name} took {result.wall:.1f} s, not {TARGETS[limit]:.0f}")
    return result


def problem_of(cluster: GeneratedCluster, reasons: tuple[object, ...]) -> Problem:
    from kreplica.planner.reassignment.problem import make_problem
    from kreplica.planner.reassignment.request import Request

    return make_problem(cluster.snapshot(), Request(reasons=reasons))  # type: ignore[arg-type]


def flow_plans(cluster: GeneratedCluster, name: str, objective: str, reason: object, racks: int) -> list[Result]:
    """The greedy plan, with its bound, and the proved one."""
    from kreplica.planner.reassignment.constraints import make_constraints
    from kreplica.planner.reassignment.numbers.certified import plan
    from kreplica.planner.reassignment.numbers.greedy import plan_greedily

    problem = problem_of(cluster, (reason,))

    def greedy() -> Result:
        replicas = plan_greedily(problem, make_constraints(problem)).replicas
        return Result(f"kreplica {name}", objective, 0, 0, replicas)

    def proved() -> Result:
        planned = plan(problem, prove=True)
        gaps = [bound.gap for bound in planned.certificate.bounds]
        said = f"gaps {', '.join(map(str, gaps))}: " + ("optimal" if planned.certificate.optimal else "not proven")
        missed = [] if planned.certificate.optimal else [f"{name} is not proven"]
        return Result(f"kreplica {name} --prove", objective, 0, 0, planned.assignment.replicas, said, missed)

    return [timed(greedy, "greedy"), timed(proved, "proved" if racks == 3 else "proved, 5 racks")]


def count_plans(cluster: GeneratedCluster, racks: int) -> list[Result]:
    from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind

    count = Reason(ReasonKind.BALANCE, measure=Measure.COUNT)
    drain = Reason(ReasonKind.DRAIN, brokers=(1,))
    equal = flow_plans(cluster, "--balance count", "equal numbers, racks kept; fewest moves, then bytes", count, racks)
    return equal + flow_plans(
        cluster, "--drain 1", "broker 1 empty, racks kept; fewest moves, then bytes", drain, racks
    )


def add_plans(cluster: GeneratedCluster, racks: int, added: int) -> list[Result]:
    from kreplica.planner.reassignment.request import Reason, ReasonKind

    reason = Reason(ReasonKind.ADD, brokers=tuple(cluster.brokers[-added:].tolist()))
    objective = "the new hold their share, racks kept; fewest moves, then bytes"
    return flow_plans(cluster, f"--add {added} brokers", objective, reason, racks)


def other_plans(cluster: GeneratedCluster) -> list[Result]:
    return [leader_plan(cluster), load_plan(cluster), topic_plan(cluster)]


def leader_plan(cluster: GeneratedCluster) -> Result:
    from kreplica.planner.reassignment.balances.leaders import balance_leaders, leader_bounds, with_leaders

    preferred = cluster.replicas[:, 0].astype(np.int64)
    may_lead = np.ones(cluster.replicas.shape, np.bool_)

    def work() -> Result:
        plan = balance_leaders(cluster.replicas, len(cluster.brokers), preferred, may_lead)
        bounds = leader_bounds(cluster.replicas, preferred, may_lead, plan.levels, plan.prices)
        loads, changes = np.bincount(plan.leaders), int((plan.leaders != preferred).sum())
        proven = (int((loads * loads).sum()), changes) == (bounds.squares, bounds.changes)
        said = f"{changes} changes, {'optimal' if proven else 'not proven'}"
        replicas = with_leaders(cluster.replicas, plan.leaders)
        missed = [] if proven else ["leaders are not proven"]
        return Result(
            "kreplica --balance leaders", "equal leaders, no data; fewest changes", 0, 0, replicas, said, missed
        )

    return timed(work, "leaders")


def load_plan(cluster: GeneratedCluster) -> Result:
    from kreplica.planner.reassignment.balances.loads import balance_load, load_range
    from kreplica.planner.reassignment.board import Layout

    every, shape = np.ones(len(cluster.brokers), np.bool_), cluster.replicas.shape
    layout = Layout(cluster.replicas, cluster.racks, every, np.ones(shape, np.bool_), cluster.sizes)

    def work() -> Result:
        plan = balance_load(layout, cluster.sizes, load_range(layout, cluster.sizes, every, 0.1))
        said = f"gap {plan.gap:.4%}" + (f", {len(plan.outside)} brokers outside" if len(plan.outside) else "")
        ok = plan.gap <= TARGET_GAP and not len(plan.outside)
        missed = [] if ok else [f"bytes: {said}"]
        objective = "bytes within 10 % of the mean, racks kept; fewest bytes"
        return Result("kreplica --balance bytes", objective, 0, 0, plan.replicas, said, missed)

    return timed(work, "bytes")


def topic_plan(cluster: GeneratedCluster) -> Result:
    from kreplica.planner.reassignment.balances.topic_shares import balance_topics
    from kreplica.planner.reassignment.board import Layout

    every, shape = np.ones(len(cluster.brokers), np.bool_), cluster.replicas.shape
    layout = Layout(cluster.replicas, cluster.racks, every, np.ones(shape, np.bool_), cluster.sizes)

    def work() -> Result:
        plan = balance_topics(layout, cluster.topics, every)
        said = f"bound {plan.bound} moves, {plan.beyond} replicas beyond a share"
        return Result(
            "kreplica --balance topic", "a share of each topic, racks kept; fewest moves", 0, 0, plan.replicas, said
        )

    return timed(work)


def verifications(options: argparse.Namespace, racks: int) -> list[str]:
    """Plans of a snapshot on disk, written and verified by the command line; returns those that took too long."""
    from generated_cluster import build_cluster

    from kreplica.store.writing import write_snapshot

    cluster, missed = build_cluster(options.brokers, racks, options.partitions, seed=options.seed), []
    print(f"\n{options.brokers} brokers in {racks} racks, {options.partitions} partitions, plans verified:\n")
    print("| plan | changes | file, MB | verified in, s | CPU, s | verdict |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        dump, plan = Path(folder) / "dump", Path(folder) / "plan.json"
        write_snapshot(cluster.snapshot(), dump)
        for words in VERIFIED:
            made, _, _ = child("replicas", *words, "--dump", str(dump), "--out", str(plan), "--force", "-o", "json")
            changes = json.loads(made)["summary"]["partitions"]
            said, wall, cpu = child("verify", str(plan), "--dump", str(dump))
            cells = f"{changes} | {plan.stat().st_size / 1e6:.1f} | {wall:.1f} | {cpu:.1f} | {said.splitlines()[0]}"
            print(f"| {' '.join(words)} | {cells} |")
            if wall > TARGET_VERIFY or not said.startswith("HOLDS"):
                missed.append(f"{' '.join(words)} was verified in {wall:.1f} s: {said.splitlines()[0]}")
    return missed


def states_on_the_way(options: argparse.Namespace, racks: int) -> list[str]:
    """Time in which every state on the way of many moves is judged and the moves are put in order."""
    from generated_cluster import build_cluster

    from kreplica.execution.moves.plans.plan import PlanRequest, plan_replicas

    cluster = build_cluster(options.brokers, racks, options.partitions, seed=options.seed)
    snapshot, rows = cluster.snapshot(), topic_plan(cluster).replicas
    changed = np.flatnonzero((rows != cluster.replicas).any(axis=1))
    keys = [(str(row["topic"]), int(str(row["partition"]))) for row in snapshot.partitions.rows()]
    targets = {keys[row]: tuple(cluster.brokers[rows[row]].tolist()) for row in changed.tolist()}
    wall, cpu = time.perf_counter(), time.process_time()
    plan, left_out = plan_replicas(snapshot, PlanRequest(targets), "2026-01-01T00:00:00+00:00")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    moves = sum(len(change.adding) for change in plan.changes)
    print(
        f"{racks} racks: {len(plan.changes)} partitions, {moves} moves judged and ordered, {len(left_out)} left out: ",
        end="",
    )
    print(f"{wall:.1f} s, {cpu:.1f} CPU s")
    return [f"{moves} moves took {wall:.1f} s"] if wall > TARGET_STATES else []


def child(*words: str) -> tuple[str, float, float]:
    """What a process says, its wall time and CPU time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*KREPLICA, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[:500]}")
    return done.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def kafka_plans(cluster: GeneratedCluster, seed: int) -> list[Result]:
    """The classes of Kafka that --generate calls: they place each topic anew and do not look where it is."""
    said = [str(seed), str(len(cluster.brokers))]
    said += [
        f"{broker} rack-{rack}" for broker, rack in zip(cluster.brokers.tolist(), cluster.racks.tolist(), strict=True)
    ]
    counts = np.bincount(cluster.topics).tolist()
    said += [str(len(counts)), *(f"{count} {cluster.replicas.shape[1]}" for count in counts)]
    text = "\n".join(said)
    objective = "each topic anew, by racks in turn"
    return [
        kafka_plan("Kafka 3.9 AdminUtils", objective, "3.9.2", "AdminUtilsPlacements", text, cluster),
        kafka_plan("Kafka 4.3 StripedReplicaPlacer", objective, "4.3.1", "StripedPlacements", text, cluster),
    ]


def kafka_plan(name: str, objective: str, version: str, program: str, text: str, cluster: GeneratedCluster) -> Result:
    from kreplica.sandbox.distribution.jars import class_path
    from kreplica.system.java import find_java

    path = ":".join(map(str, class_path(version)))
    source = Path(__file__).parent / "peers" / f"{program}.java"
    command = [str(find_java().executable), "-cp", path, str(source)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PEER_SECONDS)
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr[:500]}; it needs a Java with its compiler, or --without-java")
    rows = [[int(one) for one in line.split()] for line in done.stdout.splitlines()]
    seconds = next(float(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("seconds"))
    return Result(name, objective, seconds, None, positions(cluster, rows), "none")


def kafka_utils_plan(cluster: GeneratedCluster, python: str) -> Result:
    given = {
        "brokers": cluster.brokers.tolist(),
        "racks": cluster.racks.tolist(),
        "replicas": cluster.brokers[cluster.replicas].tolist(),
    }
    source = Path(__file__).parent / "peers" / "kafka_utils_balance.py"
    done = subprocess.run(
        [python, str(source)], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=PEER_SECONDS
    )
    answer = json.loads(done.stdout)
    replicas = positions(cluster, answer["replicas"])
    return Result("kafka-utils 4.1.0", "equal numbers by rack and broker", answer["seconds"], None, replicas, "none")


def positions(cluster: GeneratedCluster, rows: list[list[int]]) -> Matrix:
    return np.searchsorted(cluster.brokers, np.array(rows)).astype(np.int32)


def quality(cluster: GeneratedCluster, replicas: Matrix) -> Quality:
    """Judged from both assignments alone, the same way for everybody."""
    brokers = len(cluster.brokers)
    new = ~(replicas[:, :, None] == cluster.replicas[:, None, :]).any(axis=2)
    counts, leaders = np.bincount(replicas.ravel(), minlength=brokers), np.bincount(replicas[:, 0], minlength=brokers)
    loads = np.bincount(replicas.ravel(), np.repeat(cluster.sizes, replicas.shape[1]).astype(float), brokers)
    racks = np.sort(cluster.racks[replicas], axis=1)
    distinct = 1 + (np.diff(racks, axis=1) != 0).sum(axis=1)
    duplicates = (np.diff(np.sort(replicas, axis=1), axis=1) == 0).any()
    assert not duplicates, "a partition is twice on one broker"
    return Quality(
        moves=int(new.sum()),
        bytes_share=float((new.sum(axis=1) * cluster.sizes).sum() / (cluster.sizes.sum() * replicas.shape[1])),
        counts=(int(counts.min()), int(counts.max())),
        leaders=(int(leaders.min()), int(leaders.max())),
        loads=(float(loads.min() / loads.mean()), float(loads.max() / loads.mean())),
        violations=int((distinct < min(replicas.shape[1], len(np.unique(cluster.racks)))).sum()),
    )


def table(cluster: GeneratedCluster, results: list[Result]) -> None:
    print("| planner | after | wall, s | CPU, s | moves | bytes moved | replicas | leaders | bytes / mean | bound |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in results:
        found = quality(cluster, one.replicas)
        assert found.violations == 0, "generated clusters and planners keep racks"
        cpu = "-" if one.cpu is None else f"{one.cpu:.2f}"
        ranges = f"{found.counts[0]}-{found.counts[1]} | {found.leaders[0]}-{found.leaders[1]}"
        loads = f"{found.loads[0]:.2f}-{found.loads[1]:.2f}"
        cells = f"{one.wall:.2f} | {cpu} | {found.moves} | {found.bytes_share:.2%} | {ranges} | {loads} | {one.bound}"
        print(f"| {one.name} | {one.objective} | {cells} |")


def worse_than_a_peer(cluster: GeneratedCluster, own: list[Result], peers: list[Result]) -> list[str]:
    """Peers that need fewer moves than our plan of equal numbers, and whose numbers are as equal."""
    ours = quality(cluster, own[0].replicas)
    found = []
    for peer in peers:
        theirs = quality(cluster, peer.replicas)
        as_equal = theirs.counts[1] - theirs.counts[0] <= ours.counts[1] - ours.counts[0]
        if theirs.moves < ours.moves and as_equal:
            found.append(f"{peer.name} needs {theirs.moves} moves, {own[0].name} {ours.moves}")
    return found


if __name__ == "__main__":
    sys.exit(main())
