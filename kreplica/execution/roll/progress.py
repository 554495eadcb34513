"""Progress of a rolling restart: the journal and the cluster's state, compared with the plan.

A wave is done when every node of it is up again, was restarted, and every replica there is in sync. That a node was
restarted is known when it was seen down, or when it leads nothing in the same epoch as when it was named; where it led
nothing then, the operator has to say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kreplica.errors import ChangeRefusedError
from kreplica.execution.roll.journal import RollEntry, RollEvent
from kreplica.execution.roll.plan import RollPlan, restartable_nodes
from kreplica.health.quorum import active_controller, quorum_without
from kreplica.health.wait_conditions import Goal, what_is_left
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import PREFERRED_LEADER
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Mask
from kreplica.model.wording.words import counted, named

MOST_LED = 50
"""Most partitions for each node that a journal keeps as evidence, those with it as preferred leader first: no election
of preferred leaders takes these away from it meanwhile."""

Led = tuple[str, int, int, int]
"""Topic, partition, node that led it, leader epoch."""


class NodeState(StrEnum):
    """States of a node of the current wave."""

    RESTART = "restart"
    DOWN = "down"
    CATCHING_UP = "catching-up"
    NOT_TOLD = "not-told"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class RollState:
    """State of a roll.

    Args:
        wave: Number of the wave whose turn it is, None when all are done.
        states: Of each of its nodes.
        named_at: When its nodes were named, None if they were not.
        out_of_sync: Partitions with a replica on its nodes that is not in sync.
        drift: Differences since the plan was made, one clause each.
    """

    wave: int | None
    states: dict[int, NodeState]
    named_at: str | None
    out_of_sync: tuple[tuple[str, int], ...]
    drift: tuple[str, ...]

    @property
    def to_restart(self) -> tuple[int, ...]:
        """The nodes that are still to be restarted."""
        return tuple(node for node, state in self.states.items() if state is NodeState.RESTART)

    @property
    def over(self) -> bool:
        """True if the wave is done."""
        return bool(self.states) and all(state is NodeState.BACK for state in self.states.values())

    @property
    def may_begin(self) -> bool:
        """True if only the judgement of safety is left before restarting the remaining nodes."""
        waiting = {NodeState.DOWN, NodeState.CATCHING_UP, NodeState.NOT_TOLD}
        return bool(self.to_restart) and not waiting & set(self.states.values())


def check_roll(plan: RollPlan, snapshot: ClusterSnapshot) -> None:
    """Checks that the plan was made for this cluster.

    Raises:
        ChangeRefusedError: It was made for another one.
    """
    if snapshot.cluster_id != plan.cluster_id:
        found = snapshot.cluster_id or "not told"
        raise ChangeRefusedError(
            "the plan is of another cluster", f"it is of {plan.cluster_id}, this one is {found}", "name that cluster"
        )


def look_at_roll(
    plan: RollPlan, entries: Sequence[RollEntry], snapshot: ClusterSnapshot, *, reported: bool = False
) -> RollState:
    """Returns the state of the roll.

    Args:
        plan: The plan.
        entries: Its journal.
        snapshot: The cluster now.
        reported: Whether the operator says that the nodes of the wave that was named last were restarted.
    """
    done = {entry.wave for entry in entries if entry.event is RollEvent.DONE}
    numbers = [number for number in range(1, len(plan.waves) + 1) if number not in done]
    drift = tuple(_drift(plan, snapshot))
    if not numbers:
        return RollState(None, {}, None, (), drift)
    wave = numbers[0]
    mine = [entry for entry in entries if entry.wave == wave]
    named = [entry for entry in mine if entry.event is RollEvent.NAMED]
    seen_down = {node for entry in mine if entry.event is RollEvent.DOWN for node in entry.nodes}
    nodes = plan.waves[wave - 1]
    left = what_is_left(snapshot, Goal.IN_SYNC, nodes)
    states = {node: _state(snapshot, node, named, seen_down, reported=reported) for node in nodes}
    topics, partitions = (snapshot.partitions[name].take(left.rows).to_list() for name in ("topic", "partition"))
    out = tuple((str(topic), int(str(number))) for topic, number in zip(topics, partitions, strict=True))
    return RollState(wave, states, named[0].at if named else None, out, drift)


def _state(
    snapshot: ClusterSnapshot, node: int, named: Sequence[RollEntry], seen_down: set[int], *, reported: bool
) -> NodeState:
    if is_down(snapshot, node):
        return NodeState.DOWN
    if not named:
        return NodeState.RESTART
    led = {one for entry in named for one in entry.led if one[2] == node}
    if any(_leads(snapshot, one) for one in led):
        return NodeState.RESTART
    if not (led or reported or node in seen_down):
        return NodeState.NOT_TOLD
    left = what_is_left(snapshot, Goal.IN_SYNC, [node])
    return NodeState.CATCHING_UP if len(left.rows) else NodeState.BACK


def is_down(snapshot: ClusterSnapshot, node: int) -> bool:
    """True if a broker is not up, or a controller that is no broker does not fetch."""
    quorum = quorum_without(snapshot, ())
    if quorum is not None and node in quorum.voters and node in quorum.down:
        return True
    only_controller = quorum is not None and node in quorum.voters and node not in snapshot.brokers["broker"].to_list()
    return not only_controller and snapshot.is_alive(node) is False


def _leads(snapshot: ClusterSnapshot, led: Led) -> bool:
    topic, number, node, epoch = led
    row = snapshot.find_row(topic, number)
    if row is None:
        return False
    return snapshot.integers("leader")[row] == node and snapshot.integers("leader_epoch")[row] == epoch


def led_by(snapshot: ClusterSnapshot, nodes: Sequence[int]) -> list[Led]:
    """Some partitions that each node leads, with their leader epochs where these are known."""
    leader, epochs = snapshot.integers("leader"), snapshot.integers("leader_epoch")
    known: Mask = np.ones(len(leader), dtype=np.bool_) if epochs.valid is None else epochs.valid
    preferred = Evaluator(snapshot).integer(PREFERRED_LEADER).values
    found: list[Led] = []
    for node in nodes:
        rows = np.flatnonzero((leader.values == node) & known)
        rows = rows[np.argsort(preferred[rows] != node, kind="stable")][:MOST_LED]
        topics, numbers = (snapshot.partitions[name].take(rows).to_list() for name in ("topic", "partition"))
        values = epochs.values[rows].tolist()
        found += [(str(t), int(str(p)), node, epoch) for t, p, epoch in zip(topics, numbers, values, strict=True)]
    return found


def _drift(plan: RollPlan, snapshot: ClusterSnapshot) -> list[str]:
    """Differences since the plan was made; the safety of a wave is judged anew in any case."""
    found = []
    now, then = set(restartable_nodes(snapshot)), set(plan.nodes)
    strange = sorted(now - then)
    if strange and not plan.only_some:
        found.append(f"not in the plan: {named('node', strange)}")
    if len(snapshot.partitions) != plan.partitions:
        found.append(f"the cluster had {counted(plan.partitions, 'partition')} and has {len(snapshot.partitions)}")
    controller = active_controller(snapshot)
    waves = [wave for wave in plan.waves if controller in wave]
    if controller is not None and controller != plan.controller and waves and waves[0] != plan.waves[-1]:
        found.append(f"the active controller is {controller} now, which does not restart last")
    return found
