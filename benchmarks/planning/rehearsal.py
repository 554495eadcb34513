"""Time of rehearsals: a plan of every kind of move, 50 of them played, under failures of brokers.

    python benchmarks/planning/rehearsal.py --runs 200

The plan moves 300 partitions of a cluster of 60 brokers in 3 racks, drawn by a seed. Prints a line for each mode: wall
time from the plan to the verdicts, processor time of all processes, and what came out. Exits 1 when 200 runs take more
processor time than 10 minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from datetime import UTC, datetime
from random import Random
from typing import Any

from kreplica.execution.moves.plans.plan import PlanRequest, ReplicaPlan, plan_replicas
from kreplica.execution.rehearsal.rehearsing import rehearsal_of, rehearse
from kreplica.execution.rehearsal.staging import stage_of
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table

BROKER_COUNT, RACKS, PARTITION_COUNT = 60, 3, 300
VERSIONS = ("4.1", "3.9")
"""KRaft, and ZooKeeper mode."""
MOST_SECONDS_A_RUN = 2 * 600 / 200


def generated(chance: Random) -> ClusterSnapshot:
    """A cluster whose partitions have three replicas in three racks, one in ten two of them and a min ISR of 1."""
    by_rack = [[broker for broker in range(BROKER_COUNT) if broker % RACKS == rack] for rack in range(RACKS)]
    rows = [_partition(number, by_rack, chance) for number in range(PARTITION_COUNT)]
    brokers = [{"broker": broker, "rack": f"r{broker % RACKS}", "alive": True} for broker in range(BROKER_COUNT)]
    return ClusterSnapshot(
        cluster_id="generated",
        name="generated",
        taken_at=datetime(2026, 1, 1, tzinfo=UTC),
        source="kafka",
        partitions=Table.from_rows(PARTITIONS, rows),
        brokers=Table.from_rows(BROKERS, brokers),
        features={"metadata.version": 25},
    )


def _partition(number: int, by_rack: list[list[int]], chance: Random) -> dict[str, Any]:
    racks = chance.sample(by_rack, RACKS)[: 2 if number % 10 == 9 else RACKS]
    replicas = [chance.choice(rack) for rack in racks]
    return {
        "topic": f"t{number}",
        "partition": 0,
        "internal": False,
        "leader": replicas[0],
        "leader_epoch": 1,
        "replicas": replicas,
        "isr": replicas,
        "adding": [],
        "removing": [],
        "min_isr": 1 if len(replicas) == 2 else 2,
        "unclean_leader_election": False,
    }


def planned(snapshot: ClusterSnapshot, chance: Random) -> ReplicaPlan:
    """A plan of these partitions: one, several or all replicas replaced, added, removed, put in another order."""
    targets = {}
    for row in snapshot.partitions.rows():
        replicas = row["replicas"]
        assert isinstance(replicas, list | tuple)
        targets[str(row["topic"]), 0] = tuple(_target(list(replicas), chance))
    return plan_replicas(snapshot, PlanRequest(targets), "2026-01-01T00:00:00+00:00")[0]


def _target(replicas: list[int], chance: Random) -> list[int]:
    others = [broker for broker in range(BROKER_COUNT) if broker not in replicas]
    kind = chance.randrange(6)
    if kind < 3:
        count = (1, min(2, len(replicas)), len(replicas))[kind]
        return [*chance.sample(others, count), *replicas[count:]]
    if kind == 3:
        return [*replicas, chance.choice(others)]
    return replicas[:-1] if kind == 4 and len(replicas) > 2 else replicas[::-1]


def main() -> None:
    """Rehearses the plan in each mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kafka-version", action="append", help="one or several instead of one of each mode")
    asked = parser.parse_args()
    slow = False
    print("| Kafka | moves played | brokers | runs | wall, s | CPU, s | CPU a run, s | failing | moves unfinished |")
    print("|---|---|---|---|---|---|---|---|---|")
    for version in asked.kafka_version or VERSIONS:
        chance = Random(asked.seed)
        snapshot = generated(chance)
        stage = stage_of(snapshot, planned(snapshot, chance), {}, version).stage
        wall, cpu = time.monotonic(), _processor_seconds()
        rehearsal = rehearsal_of(stage, 1)
        verdicts = rehearse(rehearsal, range(asked.runs), asked.processes, _tell)
        wall, cpu = time.monotonic() - wall, _processor_seconds() - cpu
        unfinished = sum(harm.state != "done" for one in verdicts for harm in one.harm.values())
        played, brokers = len(stage.plan.changes), len(stage.setup.brokers)
        failing = sum(bool(one.wrong) for one in verdicts)
        slow |= cpu / len(verdicts) > MOST_SECONDS_A_RUN
        cells = (version, played, brokers, len(verdicts), f"{wall:.0f}", f"{cpu:.0f}", f"{cpu / len(verdicts):.2f}")
        print(f"| {' | '.join(map(str, (*cells, failing, unfinished)))} |", flush=True)
    sys.exit(slow)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr)


def _processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
