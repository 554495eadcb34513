"""What a plan may say: refused before anything is played, so that no step comes to nothing unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine import faults
from kreplica.engine.fault_words import name_of
from kreplica.engine.faults import At, Step, When
from kreplica.engine.rules.high_watermark import TO_HIGH_WATERMARK
from kreplica.engine.settings import SETTINGS, Scope, parse, setting_named
from kreplica.engine.simulator.simulation import ACTIVE_CONTROLLER, LEADER_OF
from kreplica.engine.trace import KINDS
from kreplica.engine.versions import ControllerKind
from kreplica.errors import UsageError
from kreplica.nearest_names import nearest_or_known

if TYPE_CHECKING:
    from kreplica.engine.simulator.simulation import Simulation


def check_step(simulation: Simulation, step: Step) -> None:
    """Refuses times, partitions, nodes and numbers that cannot be.

    Raises:
        UsageError: A step names a partition, a broker or a rack, or waits for an event, that there is not, sets what a
            topic cannot have, or happens before the run begins.
    """
    _check_numbers(step)
    if isinstance(step.when, When):
        _check_event(step.when)
    _check_nodes(simulation, step.do)
    _check_partitions(simulation, step.do)
    if isinstance(step.do, faults.Reassign):
        _check_reassignment(simulation, step.do)
    if isinstance(step.do, faults.RackLoss):
        _check_rack(simulation, step.do)
    if isinstance(step.do, faults.AlterTopic):
        _check_topic(simulation, step.do)
    if isinstance(step.do, faults.DeleteRecords):
        _check_deletion(simulation, step.do)


def _check_numbers(step: Step) -> None:
    when, what = step.when, name_of(step.do)
    if isinstance(when, At):
        _at_least(0, when.time, f"a time for {what}")
    else:
        _at_least(1, when.count, f"a count for {what}")
        _at_least(0, when.after, f"a delay after the event for {what}")
    for name in ("duration", "delay", "keep", "percent"):
        _at_least(0, getattr(step.do, name, 0), f"a {name} for {what}")
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


def _check_nodes(simulation: Simulation, action: faults.AnyAction) -> None:
    """Nodes by their names; who leads or controls is seen when the step is done."""
    named = [getattr(action, name, "") for name in ("node", "source", "target")] + [*getattr(action, "nodes", ())]
    for name in named:
        if name and name not in ("*", ACTIVE_CONTROLLER) and not name.startswith(LEADER_OF):
            simulation.node(name)
    if isinstance(action, faults.ExpireSession) and simulation.version.controller is ControllerKind.KRAFT:
        version = simulation.version.name
        raise UsageError(f"{action.node} has no session with ZooKeeper", f"{version} is in KRaft mode", "cut its links")


def _check_partitions(simulation: Simulation, action: faults.AnyAction) -> None:
    named = [getattr(action, "partition", None), *getattr(action, "partitions", ())]
    for partition in named:
        if partition is not None and partition not in simulation.assignments:
            known = ", ".join(simulation.assignments)
            raise UsageError(f"the plan names {partition!r}, which is no partition", "", f"one of {known}")


def _check_reassignment(simulation: Simulation, action: faults.Reassign) -> None:
    unknown = [broker for broker in action.replicas if broker not in simulation.brokers]
    if unknown or not action.replicas or len(set(action.replicas)) != len(action.replicas):
        told = f"the plan reassigns {action.partition} to {list(action.replicas)}"
        raise UsageError(told, "", f"give each of some of the brokers {list(simulation.brokers)} once")


def _check_rack(simulation: Simulation, action: faults.RackLoss) -> None:
    racks = sorted({broker.rack for broker in simulation.brokers.values()} - {""})
    if action.rack not in racks:
        told = f"one of {', '.join(racks)}" if racks else "its brokers are in no rack"
        raise UsageError(f"the plan names {action.rack!r}, which is no rack", "", told)


def _check_deletion(simulation: Simulation, action: faults.DeleteRecords) -> None:
    if action.before < TO_HIGH_WATERMARK:
        told = f"the plan deletes the records before offset {action.before}"
        raise UsageError(told, "", f"give 0 or more, or {TO_HIGH_WATERMARK} for the high watermark")
    if not simulation.version.deletes_records:
        version = simulation.version.name
        raise UsageError(f"brokers of {version} delete no records on request", "KIP-107 came with 0.11", "take 0.11")


def _check_topic(simulation: Simulation, action: faults.AlterTopic) -> None:
    if action.topic not in simulation.topics:
        known = ", ".join(simulation.topics)
        raise UsageError(f"the plan names {action.topic!r}, which is no topic", "", f"one of {known}")
    parse(action.setting, action.value)
    if setting_named(action.setting).scope is not Scope.TOPIC:
        known = ", ".join(name for name, setting in SETTINGS.items() if setting.scope is Scope.TOPIC)
        told = f"the plan sets {action.setting} of a topic, which is none of its settings"
        raise UsageError(told, "", f"one of {known}")
