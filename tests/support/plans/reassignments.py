"""Small clusters and requests for planners of reassignments, and a plain check of what a target may be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.problem import Assignment, Problem, make_problem
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request
from tests.support.clusters.generated import partition, snapshot_of

Placed = dict[int, list[int]]
"""Broker ids of each partition of one topic."""

BALANCE = Reason(ReasonKind.BALANCE, measure=Measure.COUNT)
RACK_AWARE = Reason(ReasonKind.RACK_AWARE)


@dataclass(frozen=True)
class SmallCluster:
    """What a failing test shows.

    Args:
        racks: Rack of each broker, None for none.
        replicas: Broker ids of each partition.
        sizes: Bytes of each partition.
        dead: Brokers that are down.
        lagging: Partition and broker of each replica out of sync.
    """

    racks: dict[int, str | None]
    replicas: Placed
    sizes: dict[int, int] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()
    lagging: frozenset[tuple[int, int]] = frozenset()

    def in_sync(self, number: int) -> list[int]:
        return [one for one in self.replicas[number] if one not in self.dead and (number, one) not in self.lagging]

    def snapshot(self) -> ClusterSnapshot:
        brokers = [{"broker": one, "rack": rack, "alive": one not in self.dead} for one, rack in self.racks.items()]
        partitions: list[dict[str, Any]] = []
        copies = []
        for number, replicas in self.replicas.items():
            isr = self.in_sync(number)
            partitions.append(partition(number=number, replicas=replicas, isr=isr, leader=isr[0] if isr else -1))
            copies += [(number, broker, self.sizes.get(number, 0)) for broker in replicas]
        rows = [
            {"topic": "orders", "partition": number, "broker": one, "log_dir": "/d", "size": size, "future": False}
            for number, one, size in copies
        ]
        return snapshot_of(partitions, brokers, replicas=Table.from_rows(REPLICAS, rows))

    def problem(self, request: Request) -> Problem:
        return make_problem(self.snapshot(), request)


def placed(problem: Problem, assignment: Assignment) -> Placed:
    """Broker ids of each planned partition."""
    rows = assignment.replicas.tolist()
    ids = problem.brokers.tolist()
    return {int(number): [ids[at] for at in row if at >= 0] for number, row in zip(problem.numbers, rows, strict=True)}


@st.composite
def small_clusters(draw: st.DrawFn, most_partitions: int = 8, most_brokers: int = 7) -> SmallCluster:
    """A few brokers in up to four racks, some dead, some replicas lagging."""
    brokers = list(range(1, draw(st.integers(2, most_brokers)) + 1))
    names = draw(st.sampled_from([("a", "b", "c"), ("a", "b"), ("a", "b", "c", "d"), (None,)]))
    racks = {broker: draw(st.sampled_from(names)) for broker in brokers}
    count = draw(st.integers(1, most_partitions))
    replicas = {
        number: draw(st.lists(st.sampled_from(brokers), unique=True, min_size=1, max_size=min(4, len(brokers))))
        for number in range(count)
    }
    sizes = {number: draw(st.integers(0, 9)) for number in range(count)}
    dead = draw(st.sets(st.sampled_from(brokers), max_size=1)) if draw(st.booleans()) else set()
    pairs = [(number, broker) for number, held in replicas.items() for broker in held]
    lagging = draw(st.sets(st.sampled_from(pairs), max_size=3)) if draw(st.booleans()) else set()
    return SmallCluster(racks, replicas, sizes, frozenset(dead), frozenset(lagging))


@st.composite
def requests(draw: st.DrawFn, cluster: SmallCluster) -> Request:
    """One to three reasons, now and then with brokers to use or to keep out."""
    some = st.lists(st.sampled_from(sorted(cluster.racks)), unique=True, min_size=1, max_size=2).map(tuple)
    kinds = st.sampled_from(["drain", "repair", "add", "rack-aware", "balance", "replication-factor"])
    reasons = []
    for kind in draw(st.lists(kinds, min_size=1, max_size=3, unique=True)):
        if kind in ("drain", "repair", "add"):
            reasons.append(Reason(ReasonKind(kind), draw(some)))
        elif kind == "replication-factor":
            factor = draw(st.integers(1, min(4, len(cluster.racks))))
            reasons.append(Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=factor))
        else:
            reasons.append(RACK_AWARE if kind == "rack-aware" else BALANCE)
    limits = draw(st.sampled_from(["none", "none", "to", "excluded"]))
    to, excluded = (draw(some) if limits == "to" else ()), (draw(some) if limits == "excluded" else ())
    return Request(tuple(reasons), to=to, excluded_brokers=excluded, seed=draw(st.integers(0, 3)))


def crowding(racks: dict[int, str | None], replicas: list[int]) -> int:
    """Replicas that share a rack with another one."""
    return sum(number - 1 for number in Counter(racks[one] for one in replicas).values())


def faults(cluster: SmallCluster, request: Request, stuck: set[int], target: Placed) -> list[str]:
    """What is illegal about a target, said of each partition."""
    leaving = set(request.brokers_of(ReasonKind.DRAIN, ReasonKind.REPAIR))
    found = []
    for number, after in target.items():
        before = cluster.replicas[number]
        factor = request.replication_factor or len(before)
        if number in stuck:
            found += [f"{number} is stuck and changes"] * (after != before)
            continue
        found += [f"{number} has a broker twice: {after}"] * (len(set(after)) < len(after))
        found += [f"{number} has {len(after)} replicas of {factor}"] * (len(after) != factor)
        found += [f"{number} stays on a broker that leaves: {after}"] * bool(leaving & set(after))
        new = set(after) - set(before)
        barred = leaving | cluster.dead | set(request.excluded_brokers)
        found += [f"{number} goes to {new}"] * bool(new & barred or (request.to and new - set(request.to)))
        if factor >= len(before):
            worse = crowding(cluster.racks, after) - crowding(cluster.racks, before) - (factor - len(before))
            found += [f"{number} is more crowded: {before} to {after}"] * (worse > 0 and not leaving & set(before))
        isr = set(cluster.in_sync(number))
        found += [f"{number} loses the last in sync"] * (len(isr) == 1 and len(before) > 1 and not isr & set(after))
    return found
