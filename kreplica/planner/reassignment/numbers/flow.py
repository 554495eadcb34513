"""Exact planner: fewest moves, then fewest bytes, as a flow of least cost by OR-tools (the extra ``plan``).

    partition -> its cell in a rack -> the broker of a replica that stays     cost 0
                                    -> the rack's hub -> any broker of it     cost of a move
    broker -> sink                                                            within the broker's bounds

Hubs keep the number of arcs at partitions times racks. Cells are left out where they decide nothing: a rack that has to
hold one replica and has one broker to offer is a single arc from that broker to the hub. Where racks hold several
replicas of a partition a hub could send two of them to one broker; such partitions get arcs to every broker instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kreplica.errors import MissingExtraError
from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import Constraints, per_rack
from kreplica.planner.reassignment.numbers.placement import Choice, place
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Problem
from kreplica.system.packages import line_that_adds

MOST_DIRECT = 20_000
"""Partitions times brokers up to which every partition gets arcs to every broker."""

_MOST_COST = 1 << 59
"""Largest product of cost and nodes that the solver takes without an overflow."""


class _Network:
    """Nodes and arcs, collected as arrays: first a node for each broker, then a hub for each rack, then the sink."""

    def __init__(self, brokers: int, racks: int) -> None:
        self.brokers, self.racks = brokers, racks
        self.sink = brokers + racks
        self.nodes = self.sink + 1
        self.arcs = 0
        self.parts: list[tuple[Integers, Integers, Integers, Integers]] = []
        self.supplies: list[tuple[Integers, Integers]] = []

    def new_nodes(self, number: int) -> Indices:
        """Indices of so many new nodes."""
        first, self.nodes = self.nodes, self.nodes + number
        return np.arange(first, self.nodes)

    def add(self, tails: Any, heads: Any, capacities: Any, costs: Any) -> Indices:
        """Adds arcs and returns their indices; single values stand for all of them."""
        arcs = tuple(np.array(one, dtype=np.int64) for one in np.broadcast_arrays(tails, heads, capacities, costs))
        self.parts.append(arcs)  # type: ignore[arg-type]
        first, self.arcs = self.arcs, self.arcs + len(arcs[0])
        return np.arange(first, self.arcs)

    def supply(self, nodes: Any, amounts: Any) -> None:
        """Adds to the supply of nodes."""
        self.supplies.append(tuple(np.broadcast_arrays(nodes, amounts)))  # type: ignore[arg-type]

    def solved(self) -> Integers | None:
        """Flow on each arc, None if there is no flow that meets the bounds."""
        solver = _solver()
        tails, heads, capacities, costs = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        scale = 1 + int(np.abs(costs).max(initial=0)) * self.nodes // _MOST_COST
        solver.add_arcs_with_capacity_and_unit_cost(
            tails.astype(np.int32), heads.astype(np.int32), capacities, -(-costs // scale)
        )
        total = np.zeros(self.nodes, dtype=np.int64)
        for nodes, amounts in self.supplies:
            np.add.at(total, nodes, amounts)
        total[self.sink] -= total.sum()
        used = np.flatnonzero(total)
        solver.set_nodes_supplies(used.astype(np.int32), total[used])
        if solver.solve() != solver.OPTIMAL:
            return None
        flows: Integers = np.asarray(solver.flows(np.arange(self.arcs, dtype=np.int32)), dtype=np.int64)
        return flows


def _solver() -> Any:
    try:
        from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
    except ImportError:
        raise MissingExtraError(
            "a proof needs OR-tools", "it is not installed", f"install it with: {line_that_adds('plan')}"
        ) from None
    return SimpleMinCostFlow()


@dataclass(frozen=True, eq=False)
class _Facts:
    """Constraints of each partition less what is fixed."""

    free: Mask
    need: Integers
    least: Integers
    most: Integers
    in_rack: Integers
    costs: Integers


def plan_exactly(problem: Problem, constraints: Constraints, costs: Integers) -> Assignment | None:
    """The target of least cost, None if no target meets the constraints.

    Args:
        problem: The cluster.
        constraints: Conditions of a target.
        costs: Cost of each replica that a partition is given.

    Raises:
        MissingExtraError: OR-tools is not installed.
    """
    direct = np.full(len(problem), len(problem) * len(problem.brokers) <= MOST_DIRECT)
    alone = direct.copy()
    while True:
        found = _solved(problem, constraints, costs, direct, alone)
        if found is None:
            return None
        assignment, failed = found
        if not len(failed):
            return assignment
        direct[failed] |= alone[failed]
        alone[failed] = True


def _facts(problem: Problem, constraints: Constraints, costs: Integers) -> _Facts:
    fixed = per_rack(problem, constraints.fixed).astype(np.int64)
    free = constraints.keepable & ~constraints.fixed
    need = constraints.factor - fixed.sum(axis=1)
    least = np.maximum(constraints.least - fixed, 0)
    most = np.minimum(constraints.most - fixed, need[:, None])
    # A rack that must take all that the others cannot is bound to it.
    least = np.maximum(least, need[:, None] - (most.sum(axis=1, keepdims=True) - most))
    most = np.minimum(most, need[:, None] - (least.sum(axis=1, keepdims=True) - least))
    return _Facts(free, need, least, most, per_rack(problem, free).astype(np.int64), costs)


def _solved(
    problem: Problem, constraints: Constraints, costs: Integers, direct: Mask, alone: Mask
) -> tuple[Assignment, Indices] | None:
    """The target of least cost, and rows that got no legal one.

    Args:
        problem: The cluster.
        constraints: Conditions of a target.
        costs: Cost of each replica that a partition is given.
        direct: Rows with arcs to every broker.
        alone: Rows with nodes of their own.
    """
    facts = _facts(problem, constraints, costs)
    network = _Network(len(problem.brokers), len(problem.rack_names))
    kept = constraints.fixed.copy()
    wanted = np.zeros(facts.in_rack.shape, dtype=np.int16)
    fresh = np.full(problem.replicas.shape, NOBODY, dtype=np.int32)
    reader = _Cells(problem, constraints, facts, network, (direct, alone))
    receivers = np.flatnonzero(constraints.receivers)
    hubs = network.add(network.brokers + problem.racks[receivers], receivers, len(problem) * problem.width, 0)
    fixed_loads = np.bincount(problem.replicas[constraints.fixed], minlength=network.brokers)
    every = np.arange(network.brokers)
    lower = np.maximum(constraints.lower - fixed_loads, 0)
    upper = np.minimum(constraints.upper - fixed_loads, len(problem) * problem.width)
    if (upper < lower).any():
        return None
    sinks = np.full(network.brokers, network.sink)
    for total in constraints.totals:
        (node,) = network.new_nodes(1).tolist()
        sinks[total.brokers] = node
        network.supply([node], -(total.replicas - int((lower + fixed_loads)[total.brokers].sum())))
    network.add(every, sinks, upper - lower, 0)
    network.supply(every, -lower)
    flows = network.solved()
    if flows is None:
        return None
    quota = np.zeros(network.brokers, dtype=np.int64)
    quota[receivers] = flows[hubs]
    reader.read(flows, kept, wanted, fresh)
    crowded = np.flatnonzero((per_rack(problem, kept) + wanted > constraints.most).any(axis=1))
    if len(crowded):
        return problem.current, crowded
    rng = np.random.default_rng(problem.request.seed)
    return place(problem, Choice(kept, wanted, fresh), quota, rng)


class _Cells:
    """Partitions in the network, in the form of as few nodes as they need, and what the flow says of each."""

    def __init__(
        self,
        problem: Problem,
        constraints: Constraints,
        facts: _Facts,
        network: _Network,
        apart: tuple[Mask, Mask],
    ) -> None:
        direct, alone = apart
        self.problem, self.constraints, self.facts, self.network = problem, constraints, facts, network
        self.rack = np.where(problem.replicas == NOBODY, NOBODY, problem.racks[problem.replicas])
        self.direct = direct
        self.direct_arcs: list[tuple[Indices, Indices, Indices]] = []  # arcs, rows, brokers
        self.stay_arcs: list[tuple[Indices, Indices, Indices]] = []  # arcs, rows, columns
        self.leave_arcs: list[tuple[Indices, Indices, Indices]] = []  # arcs, rows, columns: the replica leaves
        self.new_arcs: list[tuple[Indices, Indices, int]] = []  # arcs, rows, rack
        self.forced: list[tuple[Indices, int, Integers]] = []  # rows, rack, number of new ones
        self.groups: list[tuple[Indices, Indices, Indices, Indices]] = []  # leaving arcs, rows, columns, groups
        self.hubs: list[tuple[Indices, Indices, Indices]] = []  # of the groups: number, rack, arcs to its hub
        split = (facts.least == facts.most).all(axis=1)
        clean = self._clean() & ~split & ~alone
        tree = ~split & ~clean
        self._group(np.flatnonzero(clean))
        roots = np.full(len(problem), -1, dtype=np.int64)
        roots[tree] = network.new_nodes(int(tree.sum()))
        network.supply(roots[tree], (facts.need - facts.least.sum(axis=1))[tree])
        for rack in range(network.racks):
            self._rack(rack, split | tree, roots)

    def _clean(self) -> Mask:
        """Partitions whose replicas may all stay, one in a rack; the other racks are free to take one of them."""
        facts = self.facts
        complete = facts.in_rack.sum(axis=1) == facts.need
        single = (facts.in_rack <= 1).all(axis=1) & (facts.most <= 1).all(axis=1)
        found: Mask = complete & single & ((facts.most >= facts.in_rack) & (facts.least <= facts.in_rack)).all(axis=1)
        return found

    def _group(self, rows: Indices) -> None:
        """Replicas on one broker that may go to the same racks leave it by one node: only their costs differ.

        That two replicas of one partition may not go to the same rack is left out; if it happens, the partition gets
        nodes of its own.
        """
        facts, network = self.facts, self.network
        if not len(rows):
            return
        free_racks = (facts.most[rows] > 0) & (facts.in_rack[rows] == 0)
        for column in range(self.problem.width):
            some = rows[facts.free[rows, column]]
            masks = free_racks[facts.free[rows, column]].copy()
            rack = self.rack[some, column]
            bound = facts.least[some, rack] > 0
            masks[bound] = False
            masks[np.arange(len(some)), rack] = True
            broker = self.problem.replicas[some, column]
            _, first, group = np.unique(_keys(broker, masks), return_index=True, return_inverse=True)
            nodes = network.new_nodes(len(first))
            network.supply(broker, np.ones(len(broker), dtype=np.int64))
            leave = network.add(broker, nodes[group], 1, facts.costs[some])
            number, to = np.nonzero(masks[first])
            hubs = network.add(nodes[number], network.brokers + to, len(rows), 0)
            self.groups.append((leave, some, np.full(len(some), column), group))
            self.hubs.append((number, to, hubs))

    def _rack(self, rack: int, rows: Mask, roots: Integers) -> None:
        """Cells of one rack: of partitions that have to hold some number there, and of those that choose."""
        facts, network = self.facts, self.network
        least, most, offered = facts.least[:, rack], facts.most[:, rack], facts.in_rack[:, rack]
        bound = rows & (least == most)
        hub = network.brokers + rack
        nobody = bound & (offered == 0) & (most > 0) & ~self.direct
        network.supply([hub], [int(most[nobody].sum())])
        self.forced.append((np.flatnonzero(nobody), rack, most[nobody]))
        one = bound & (offered == 1) & (most == 1) & ~self.direct
        self._single(np.flatnonzero(one), rack)
        cells = rows & (most > 0) & ~nobody & ~one
        empty = cells & (offered == 0) & ~self.direct
        free = np.flatnonzero(empty & (least == 0))
        arcs = network.add(roots[free], hub, most[free], facts.costs[free])
        self.new_arcs.append((arcs, free, rack))
        self._full(np.flatnonzero(cells & ~(empty & (least == 0))), rack, roots)

    def _single(self, rows: Indices, rack: int) -> None:
        """One replica has to be in the rack and one broker has it: it stays, or moves within the rack."""
        there = self.facts.free[rows] & (self.rack[rows] == rack)
        columns = np.argmax(there, axis=1)
        brokers = self.problem.replicas[rows, columns]
        self.network.supply(brokers, np.ones(len(rows), dtype=np.int64))
        arcs = self.network.add(brokers, self.network.brokers + rack, 1, self.facts.costs[rows])
        self.leave_arcs.append((arcs, rows, columns))

    def _full(self, rows: Indices, rack: int, roots: Integers) -> None:
        """Cells as nodes of their own."""
        facts, network = self.facts, self.network
        nodes = network.new_nodes(len(rows))
        least, most = facts.least[rows, rack], facts.most[rows, rack]
        network.supply(nodes, least)
        chosen = most > least
        network.add(roots[rows[chosen]], nodes[chosen], (most - least)[chosen], 0)
        for column in range(self.problem.width):
            there = facts.free[rows, column] & (self.rack[rows, column] == rack)
            arcs = network.add(nodes[there], self.problem.replicas[rows[there], column], 1, 0)
            self.stay_arcs.append((arcs, rows[there], np.full(len(arcs), column)))
        hub = ~self.direct[rows]
        arcs = network.add(nodes[hub], network.brokers + rack, most[hub], facts.costs[rows[hub]])
        self.new_arcs.append((arcs, rows[hub], rack))
        to = np.flatnonzero(self.constraints.receivers & (self.problem.racks == rack))
        for row, node in zip(rows[~hub].tolist(), nodes[~hub].tolist(), strict=True):
            others = to[~np.isin(to, self.problem.replicas[row])]
            arcs = network.add(node, others, 1, facts.costs[row])
            self.direct_arcs.append((arcs, np.full(len(arcs), row), others))

    def read(self, flows: Integers, kept: Mask, wanted: Any, fresh: Any) -> None:
        """Writes what the flow says: replicas that stay, racks of new ones, brokers of those with arcs to each."""
        for arcs, rows, columns in self.stay_arcs:
            used = flows[arcs] > 0
            kept[rows[used], columns[used]] = True
        for arcs, rows, columns in self.leave_arcs:
            used = flows[arcs] > 0
            kept[rows[~used], columns[~used]] = True
            np.add.at(wanted, (rows[used], self.rack[rows[used], columns[used]]), 1)
        for arcs, rows, rack in self.new_arcs:
            np.add.at(wanted[:, rack], rows, flows[arcs].astype(np.int16))
        for rows, rack, number in self.forced:
            wanted[rows, rack] += number.astype(np.int16)
        filled = np.zeros(len(kept), dtype=np.int64)
        for arcs, rows, brokers in self.direct_arcs:
            for row, broker in zip(rows[flows[arcs] > 0].tolist(), brokers[flows[arcs] > 0].tolist(), strict=True):
                fresh[row, filled[row]] = broker
                filled[row] += 1
        self._read_groups(flows, kept, wanted)

    def _read_groups(self, flows: Integers, kept: Mask, wanted: Any) -> None:
        found: list[tuple[Indices, Indices, Indices]] = []  # rows, own racks, racks that they go to
        for (leave, rows, columns, group), (number, to, hubs) in zip(self.groups, self.hubs, strict=True):
            used = flows[leave] > 0
            kept[rows[~used], columns[~used]] = True
            gone = np.flatnonzero(used)
            order = gone[np.argsort(group[gone], kind="stable")]
            by_group = np.lexsort((to, number))
            racks = np.repeat(to[by_group], flows[hubs[by_group]])
            assert len(racks) == len(order), "what enters a group leaves it"
            found.append((rows[order], self.rack[rows[order], columns[order]], racks))
        if not found:
            return
        rows, own, racks = (np.concatenate(column) for column in zip(*found, strict=True))
        racks = self._untangled(rows, own, racks, per_rack(self.problem, kept))
        np.add.at(wanted, (rows, racks), 1)

    def _untangled(self, rows: Indices, own: Indices, racks: Indices, held: Any) -> Indices:
        """Racks of replicas that leave such that no two of a partition go to one: pairs trade theirs, at no cost.

        Args:
            rows: Partition of each replica that leaves.
            own: Rack that it leaves.
            racks: Rack that it goes to.
            held: Replicas of each partition that stay in each rack.
        """
        facts = self.facts
        racks = racks.copy()
        used = held.astype(np.int64)
        np.add.at(used, (rows, racks), 1)
        open_ = (facts.most > 0) & (facts.in_rack == 0)
        bound = facts.least[rows, own] > 0
        for unit in np.flatnonzero(used[rows, racks] > 1).tolist():
            row, there = rows[unit], racks[unit]
            if used[row, there] <= 1 or bound[unit]:
                continue
            for rack in np.flatnonzero((open_[row] | (np.arange(self.network.racks) == own[unit])) & (used[row] == 0)):
                fits = (racks == rack) & ~bound & (used[rows, there] == 0) & (open_[rows, there] | (own == there))
                partners = np.flatnonzero(fits)
                if len(partners):
                    other = partners[0]
                    racks[unit], racks[other] = rack, there
                    used[row, there] -= 1
                    used[row, rack] += 1
                    used[rows[other], rack] -= 1
                    used[rows[other], there] += 1
                    break
        return racks


def _keys(broker: Any, masks: Mask) -> Integers:
    """A number for each pair of broker and set of racks; sets of racks are numbered as they come."""
    sets, index = np.unique(np.packbits(masks, axis=1), axis=0, return_inverse=True)
    keys: Integers = broker.astype(np.int64) * len(sets) + index.reshape(-1)
    return keys
