"""Plays a plan: does each step at its time, or when the event it waits for is in the trace.

Also checks of a plan: mistakes are refused before anything is played, so that no step is ignored unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine import fault_plan
from kreplica.engine.fault_plan import At, Plan, Step, When
from kreplica.engine.plans.text import detail_of, name_of
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.high_watermark import TO_HIGH_WATERMARK
from kreplica.engine.settings import SETTINGS, Scope, parse, setting_named
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.clients.consumer import Consumer
from kreplica.engine.simulator.environment import Link
from kreplica.engine.simulator.kraft.link import KraftLink
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.refusals import REFUSABLE, Refusal
from kreplica.engine.simulator.simulation import ACTIVE_CONTROLLER, LEADER_OF, NobodyError, Simulation
from kreplica.engine.trace import KINDS, PLAN, Event, Kind
from kreplica.engine.versions.supported import ControllerKind
from kreplica.errors import UsageError
from kreplica.model.wording.nearest_names import nearest_or_known

_OF_BROKERS = (
    fault_plan.PowerLoss,
    fault_plan.DiskLoss,
    fault_plan.SlowDisk,
    fault_plan.LateMetadata,
    fault_plan.ExpireSession,
    fault_plan.DirectoryFailure,
)
"""Actions whose node is a broker."""


def check_step(simulation: Simulation, step: Step) -> None:
    """Refuses invalid times, partitions, nodes and numbers.

    Raises:
        UsageError: A step names a partition, a broker or a rack, or waits for an event, that does not exist, sets what
            a topic cannot have, or happens before the run begins.
    """
    _check_numbers(step)
    if isinstance(step.when, When):
        _check_event(step.when)
    _check_nodes(simulation, step.do)
    _check_partitions(simulation, step.do)
    if isinstance(step.do, fault_plan.Reassign):
        _check_reassignment(simulation, step.do)
    if isinstance(step.do, fault_plan.RackLoss):
        _check_rack(simulation, step.do)
    if isinstance(step.do, fault_plan.AlterTopic):
        _check_topic(simulation, step.do)
    if isinstance(step.do, fault_plan.DeleteRecords):
        _check_deletion(simulation, step.do)
    if isinstance(step.do, fault_plan.RefuseRequest):
        _check_refusal(step.do)


def _check_numbers(step: Step) -> None:
    when, what = step.when, name_of(step.do)
    if isinstance(when, At):
        _at_least(0, when.time, f"a time for {what}")
    else:
        _at_least(1, when.count, f"a count for {what}")
        _at_least(0, when.after, f"a delay after the event for {what}")
    for name in ("duration", "delay", "keep", "percent"):
        _at_least(0, getattr(step.do, name, 0), f"a {name} for {what}")
    _at_least(1, getattr(step.do, "count", 1), f"a count of requests for {what}")
    if getattr(step.do, "percent", 0) > 100:
        raise UsageError(f"the plan has more than 100 percent for {what}", "", "give 0 to 100")


def _at_least(least: int, number: int, what: str) -> None:
    if number < least:
        raise UsageError(f"the plan has {what} of {number}", "", f"give {least} or more")


def _check_event(when: When) -> None:
    if when.kind not in KINDS:
        raise UsageError(
            f"a step waits for {when.kind!r}", "there is no such event", nearest_or_known(str(when.kind), KINDS)
        )
    unknown = set(when.fields) - set(KINDS[when.kind].fields)
    if unknown:
        known = ", ".join(KINDS[when.kind].fields)
        raise UsageError(f"{when.kind} has no field {', '.join(sorted(unknown))}", "", f"one of {known}")


def _check_nodes(simulation: Simulation, action: fault_plan.AnyAction) -> None:
    """Checks nodes by their names; the leader or controller is looked up when the step is done."""
    named = [getattr(action, name) for name in ("node", "source", "target") if hasattr(action, name)]
    by_role = ("*", ACTIVE_CONTROLLER) if hasattr(action, "source") else (ACTIVE_CONTROLLER,)
    check: Callable[[Simulation, str], Node] = _broker if isinstance(action, _OF_BROKERS) else Simulation.node
    if isinstance(action, fault_plan.StopPolling):
        check = _consumer
    for name in (*named, *getattr(action, "nodes", ())):
        if name not in by_role and not name.startswith(LEADER_OF):
            check(simulation, name)
    if isinstance(action, fault_plan.ExpireSession) and simulation.version.controller is ControllerKind.KRAFT:
        version = simulation.version.name
        raise UsageError(f"{action.node} has no session with ZooKeeper", f"{version} is in KRaft mode", "cut its links")
    if isinstance(action, fault_plan.LateMetadata) and simulation.version.controller is ControllerKind.ZOOKEEPER:
        version = simulation.version.name
        told = f"{version} is in ZooKeeper mode"
        raise UsageError(f"{action.node} reads no metadata log", told, "slow its link from the controller")


def _consumer(simulation: Simulation, name: str) -> Consumer:
    node = simulation.node(name)
    if not isinstance(node, Consumer):
        raise UsageError(f"{name} is no consumer of a group", "it does not poll", "name one of those of the setup")
    return node


def _check_partitions(simulation: Simulation, action: fault_plan.AnyAction) -> None:
    named = [getattr(action, "partition", None), *getattr(action, "partitions", ())]
    for partition in named:
        if partition is not None and partition not in simulation.cluster.assignments:
            known = ", ".join(simulation.cluster.assignments)
            raise UsageError(f"the plan names {partition!r}, which is no partition", "", f"one of {known}")


def _check_reassignment(simulation: Simulation, action: fault_plan.Reassign) -> None:
    unknown = [broker for broker in action.replicas if broker not in simulation.brokers]
    if unknown or not action.replicas or len(set(action.replicas)) != len(action.replicas):
        told = f"the plan reassigns {action.partition} to {list(action.replicas)}"
        raise UsageError(told, "", f"give each of some of the brokers {list(simulation.brokers)} once")


def _check_rack(simulation: Simulation, action: fault_plan.RackLoss) -> None:
    racks = sorted({broker.rack for broker in simulation.brokers.values()} - {""})
    if action.rack not in racks:
        told = f"one of {', '.join(racks)}" if racks else "its brokers are in no rack"
        raise UsageError(f"the plan names {action.rack!r}, which is no rack", "", told)


def _check_deletion(simulation: Simulation, action: fault_plan.DeleteRecords) -> None:
    if action.before < TO_HIGH_WATERMARK:
        told = f"the plan deletes the records before offset {action.before}"
        raise UsageError(told, "", f"give 0 or more, or {TO_HIGH_WATERMARK} for the high watermark")
    if not simulation.version.deletes_records:
        version = simulation.version.name
        raise UsageError(f"brokers of {version} delete no records on request", "KIP-107 came with 0.11", "take 0.11")


def _check_refusal(action: fault_plan.RefuseRequest) -> None:
    if action.request not in REFUSABLE:
        told = f"the plan refuses {action.request!r}, which is no request that a plan can refuse"
        raise UsageError(told, "", nearest_or_known(action.request, REFUSABLE))
    errors = [error.name for error in ErrorCode if error is not ErrorCode.NONE]
    if action.error not in errors:
        told = f"the plan refuses {action.request} with {action.error!r}, which is no error that the engine knows"
        raise UsageError(told, "", nearest_or_known(action.error, errors))


def _check_topic(simulation: Simulation, action: fault_plan.AlterTopic) -> None:
    if action.topic not in simulation.cluster.topics:
        known = ", ".join(simulation.cluster.topics)
        raise UsageError(f"the plan names {action.topic!r}, which is no topic", "", f"one of {known}")
    parse(action.setting, action.value)
    if setting_named(action.setting).scope is not Scope.TOPIC:
        known = ", ".join(name for name, setting in SETTINGS.items() if setting.scope is Scope.TOPIC)
        told = f"the plan sets {action.setting} of a topic, which is none of its settings"
        raise UsageError(told, "", f"one of {known}")


def play_plan(simulation: Simulation, plan: Plan) -> None:
    """Plays the time of the setup with the steps of a plan in it.

    Raises:
        UsageError: The plan names what there is not.
    """
    PlanPlayer(simulation, plan).arm()
    simulation.scheduler.run(simulation.setup.duration)


class PlanPlayer:
    """Watches the trace for the events that steps wait for, and does every step."""

    def __init__(self, simulation: Simulation, plan: Plan) -> None:
        self._simulation = simulation
        self._plan = plan
        self._waiting: dict[str, list[tuple[Step, list[int]]]] = {}

    def arm(self) -> None:
        """Checks and schedules the steps.

        Raises:
            UsageError: A step is invalid (``check_step``).
        """
        for step in self._plan:
            check_step(self._simulation, step)
            if isinstance(step.when, At):
                self._simulation.scheduler.at(step.when.time, act, self._simulation, step.do)
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
                    scheduler.at(scheduler.now + step.when.after, act, self._simulation, step.do)


def act(simulation: Simulation, action: fault_plan.AnyAction) -> bool:
    """Does an action now; false if nobody is there to do it."""
    simulation.trace.emit(simulation.scheduler.now, Kind.FAULT, PLAN, (name_of(action), detail_of(action)))
    try:
        _ACTIONS[type(action)](simulation, action)
    except NobodyError as error:
        simulation.trace.emit(simulation.scheduler.now, Kind.FAULT, PLAN, ("nothing", str(error)))
        return False
    return True


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


def _pause(simulation: Simulation, action: fault_plan.Pause) -> None:
    node = simulation.node(action.node)
    node.pause()
    simulation.scheduler.at(simulation.scheduler.now + action.duration, node.resume)


def _rack_loss(simulation: Simulation, action: fault_plan.RackLoss) -> None:
    for broker in simulation.brokers.values():
        if broker.rack == action.rack:
            broker.lose_power(0)


def _power_loss(simulation: Simulation, action: fault_plan.PowerLoss) -> None:
    for name in action.nodes:
        _broker(simulation, name).lose_power(action.keep)


def _on_links(
    simulation: Simulation,
    action: fault_plan.Cut | fault_plan.Slow | fault_plan.Lossy,
    change: Callable[[Link, int], None],
) -> None:
    """Changes the links that an action names, and restores them when its time is over."""
    pairs = _pairs(simulation, action.source, action.target)
    if not action.one_way:
        pairs += [(other, one) for one, other in pairs if (other, one) not in pairs]
    links = [simulation.network.link(one, other) for one, other in pairs]
    for link in links:
        change(link, 1)
        simulation.scheduler.at(simulation.scheduler.now + action.duration, change, link, -1)


def _nodes_of(simulation: Simulation, name: str) -> list[Node]:
    return list(simulation.nodes.values()) if name == "*" else [simulation.node(name)]


def _cut(simulation: Simulation, action: fault_plan.Cut) -> None:
    def change(link: Link, sign: int) -> None:
        link.cuts += sign

    _on_links(simulation, action, change)


def _slow(simulation: Simulation, action: fault_plan.Slow) -> None:
    def change(link: Link, sign: int) -> None:
        link.delay += sign * action.delay

    _on_links(simulation, action, change)


def _lossy(simulation: Simulation, action: fault_plan.Lossy) -> None:
    def change(link: Link, sign: int) -> None:
        link.loss += sign * action.percent

    _on_links(simulation, action, change)


def _pairs(simulation: Simulation, source: str, target: str) -> list[tuple[Node, Node]]:
    """The processes that two names mean, each of the one with each of the other."""
    sources, targets = _nodes_of(simulation, source), _nodes_of(simulation, target)
    return [(one, other) for one in sources for other in targets if one is not other]


def _break_connection(simulation: Simulation, action: fault_plan.BreakConnection) -> None:
    pairs = _pairs(simulation, action.source, action.target)
    connections = {frozenset((one.name, other.name)): (one, other) for one, other in pairs}
    for one, other in connections.values():
        simulation.network.break_connections(simulation.scheduler.pending(), one, other, action.delay)


def _refuse_request(simulation: Simulation, action: fault_plan.RefuseRequest) -> None:
    for one, other in _pairs(simulation, action.source, action.target):
        refusal = Refusal(one.name, other.name, action.request, ErrorCode[action.error], action.count)
        simulation.network.refusals.append(refusal)


def _slow_disk(simulation: Simulation, action: fault_plan.SlowDisk) -> None:
    broker = _broker(simulation, action.node)
    broker.disk_delay += action.delay

    def over() -> None:
        broker.disk_delay -= action.delay

    simulation.scheduler.at(simulation.scheduler.now + action.duration, over)


def _late_metadata(simulation: Simulation, action: fault_plan.LateMetadata) -> None:
    link = _broker(simulation, action.node).controller_link
    assert isinstance(link, KraftLink), "the plan was checked"
    link.apply_nothing_for(action.duration)


def _directory_failure(simulation: Simulation, action: fault_plan.DirectoryFailure) -> None:
    _broker(simulation, action.node).directory_fails(action.partitions)


def _alter_topic(simulation: Simulation, action: fault_plan.AlterTopic) -> None:
    simulation.cluster.topics[action.topic][action.setting] = parse(action.setting, action.value)
    simulation.controller_operations().topic_changed(action.topic, action.setting)


def _delete_records(simulation: Simulation, action: fault_plan.DeleteRecords) -> None:
    _broker(simulation, simulation.leader_of(action.partition).name).delete_records(action.partition, action.before)


_ACTIONS: dict[type, Callable[[Simulation, Any], object]] = {
    fault_plan.Crash: lambda simulation, action: simulation.node(action.node).kill(),
    fault_plan.PowerLoss: _power_loss,
    fault_plan.RackLoss: _rack_loss,
    fault_plan.DiskLoss: lambda simulation, action: _broker(simulation, action.node).lose_disk(),
    fault_plan.Start: lambda simulation, action: simulation.node(action.node).start(),
    fault_plan.Stop: lambda simulation, action: simulation.node(action.node).stop(),
    fault_plan.Pause: _pause,
    fault_plan.StopPolling: lambda simulation, action: _consumer(simulation, action.node).stop_polling(action.duration),
    fault_plan.Cut: _cut,
    fault_plan.Slow: _slow,
    fault_plan.Lossy: _lossy,
    fault_plan.BreakConnection: _break_connection,
    fault_plan.RefuseRequest: _refuse_request,
    fault_plan.SlowDisk: _slow_disk,
    fault_plan.LateMetadata: _late_metadata,
    fault_plan.ExpireSession: lambda simulation, action: simulation.expire_session(_broker(simulation, action.node)),
    fault_plan.DirectoryFailure: _directory_failure,
    fault_plan.ElectPreferred: lambda simulation, action: simulation.controller_operations().elect_preferred(
        action.partition
    ),
    fault_plan.ElectUnclean: lambda simulation, action: simulation.controller_operations().elect_unclean(
        action.partition
    ),
    fault_plan.Reassign: lambda simulation, action: simulation.controller_operations().reassign(
        action.partition, action.replicas
    ),
    fault_plan.CancelReassignment: lambda simulation, action: simulation.controller_operations().cancel_reassignment(
        action.partition
    ),
    fault_plan.DeleteRecords: _delete_records,
    fault_plan.AlterTopic: _alter_topic,
}
