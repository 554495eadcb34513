"""Plays a plan: does each step at its time, or when the trace has shown what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kreplica.engine import faults
from kreplica.engine.fault_words import detail_of, name_of
from kreplica.engine.faults import At, Plan, Step, When
from kreplica.engine.settings import parse
from kreplica.engine.simulator.broker import Broker
from kreplica.engine.simulator.network import Link
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.plan_checks import check_step
from kreplica.engine.simulator.simulation import NobodyError
from kreplica.engine.trace import KINDS, PLAN, Event, Kind
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.engine.simulator.simulation import Simulation


class PlanPlayer:
    """Watches the trace for the steps that wait for an event, and does every step."""

    def __init__(self, simulation: Simulation, plan: Plan) -> None:
        self._simulation = simulation
        self._plan = plan
        self._waiting: dict[str, list[tuple[Step, list[int]]]] = {}

    def arm(self) -> None:
        """Has the steps done.

        Raises:
            UsageError: A step says what cannot be (``plan_checks``).
        """
        for step in self._plan:
            check_step(self._simulation, step)
            if isinstance(step.when, At):
                self._simulation.scheduler.at(step.when.time, self._do, step)
            else:
                self._waiting.setdefault(step.when.kind, []).append((step, [step.when.count]))
        if self._waiting:
            self._simulation.trace.subscribe(self._saw)

    def _saw(self, event: Event) -> None:
        waiting = self._waiting.get(event.kind)
        if waiting is None:
            return
        for step, left in tuple(waiting):
            assert isinstance(step.when, When)
            if left[0] and _matches(step.when, event):
                left[0] -= 1
                if left[0] == 0:
                    scheduler = self._simulation.scheduler
                    scheduler.at(scheduler.now + step.when.after, self._do, step)

    def _do(self, step: Step) -> None:
        action = step.do
        simulation = self._simulation
        simulation.trace.emit(simulation.scheduler.now, Kind.FAULT, PLAN, (name_of(action), detail_of(action)))
        try:
            _ACTIONS[type(action)](simulation, action)
        except NobodyError as error:
            simulation.trace.emit(simulation.scheduler.now, Kind.FAULT, PLAN, ("nothing", str(error)))


def _matches(when: When, event: Event) -> bool:
    if when.node and when.node != event.node:
        return False
    fields = KINDS[event.kind].fields
    return all(event.values[fields.index(name)] == value for name, value in when.fields.items())


def _broker(simulation: Simulation, name: str) -> Broker:
    node = simulation.node(name)
    if not isinstance(node, Broker):
        raise UsageError(f"{name} is no broker", "", "name one as broker-1")
    return node


def _pause(simulation: Simulation, action: faults.Pause) -> None:
    node = simulation.node(action.node)
    node.pause()
    simulation.scheduler.at(simulation.scheduler.now + action.duration, node.resume)


def _rack_loss(simulation: Simulation, action: faults.RackLoss) -> None:
    for broker in simulation.brokers.values():
        if broker.rack == action.rack:
            broker.lose_power(0)


def _power_loss(simulation: Simulation, action: faults.PowerLoss) -> None:
    for name in action.nodes:
        _broker(simulation, name).lose_power(action.keep)


def _on_links(
    simulation: Simulation, action: faults.Cut | faults.Slow | faults.Lossy, change: Callable[[Link, int], None]
) -> None:
    """Changes the links that an action names, and changes them back when its time is over."""
    sources, targets = _named(simulation, action.source), _named(simulation, action.target)
    pairs = [(one, other) for one in sources for other in targets if one is not other]
    if not action.one_way:
        pairs += [(other, one) for one, other in pairs if (other, one) not in pairs]
    links = [simulation.network.link(one, other) for one, other in pairs]
    for link in links:
        change(link, 1)
        simulation.scheduler.at(simulation.scheduler.now + action.duration, change, link, -1)


def _named(simulation: Simulation, name: str) -> list[Node]:
    return list(simulation.nodes.values()) if name == "*" else [simulation.node(name)]


def _cut(simulation: Simulation, action: faults.Cut) -> None:
    def change(link: Link, sign: int) -> None:
        link.cuts += sign

    _on_links(simulation, action, change)


def _slow(simulation: Simulation, action: faults.Slow) -> None:
    def change(link: Link, sign: int) -> None:
        link.delay += sign * action.delay

    _on_links(simulation, action, change)


def _lossy(simulation: Simulation, action: faults.Lossy) -> None:
    def change(link: Link, sign: int) -> None:
        link.loss += sign * action.percent

    _on_links(simulation, action, change)


def _slow_disk(simulation: Simulation, action: faults.SlowDisk) -> None:
    broker = _broker(simulation, action.node)
    broker.disk_delay += action.delay

    def over() -> None:
        broker.disk_delay -= action.delay

    simulation.scheduler.at(simulation.scheduler.now + action.duration, over)


def _directory_failure(simulation: Simulation, action: faults.DirectoryFailure) -> None:
    _broker(simulation, action.node).directory_fails(action.partitions)


def _alter_topic(simulation: Simulation, action: faults.AlterTopic) -> None:
    simulation.topics[action.topic][action.setting] = parse(action.setting, action.value)
    simulation.controller_operations().topic_changed(action.topic, action.setting)


def _delete_records(simulation: Simulation, action: faults.DeleteRecords) -> None:
    _broker(simulation, simulation.leader_of(action.partition).name).delete_records(action.partition, action.before)


_ACTIONS: dict[type, Callable[[Simulation, Any], object]] = {
    faults.Crash: lambda simulation, action: simulation.node(action.node).kill(),
    faults.PowerLoss: _power_loss,
    faults.RackLoss: _rack_loss,
    faults.DiskLoss: lambda simulation, action: _broker(simulation, action.node).lose_disk(),
    faults.Start: lambda simulation, action: simulation.node(action.node).start(),
    faults.Stop: lambda simulation, action: simulation.node(action.node).stop(),
    faults.Pause: _pause,
    faults.Cut: _cut,
    faults.Slow: _slow,
    faults.Lossy: _lossy,
    faults.SlowDisk: _slow_disk,
    faults.ExpireSession: lambda simulation, action: simulation.expire_session(_broker(simulation, action.node)),
    faults.DirectoryFailure: _directory_failure,
    faults.ElectPreferred: lambda simulation, action: simulation.controller_operations().elect_preferred(
        action.partition
    ),
    faults.ElectUnclean: lambda simulation, action: simulation.controller_operations().elect_unclean(action.partition),
    faults.Reassign: lambda simulation, action: simulation.controller_operations().reassign(
        action.partition, action.replicas
    ),
    faults.CancelReassignment: lambda simulation, action: simulation.controller_operations().cancel_reassignment(
        action.partition
    ),
    faults.DeleteRecords: _delete_records,
    faults.AlterTopic: _alter_topic,
}
