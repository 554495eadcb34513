"""The steps of a plan in words: for the trace, for diagrams and for readers of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kreplica.engine import fault_plan
from kreplica.engine.fault_plan import AnyAction, At, Step
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.settings import MICROSECONDS
from kreplica.model.wording.words import named


def name_of(action: AnyAction) -> str:
    """The name of an action in a plan's file."""
    return str(action.__struct_config__.tag)


def detail_of(action: AnyAction) -> str:
    """The target of an action and its duration, in words; times in milliseconds."""
    return _DETAILS[type(action)](action)


def step_words(step: Step) -> str:
    """A step in words: its time, and its action."""
    return f"{_moment(step)}: {name_of(step.do)} {detail_of(step.do)}"


def left_out_words(left_out: LeaveOut) -> list[str]:
    """The parts left out of a setup, a clause for each kind of part."""
    names = {
        "client": left_out.clients,
        "topic": left_out.topics,
        "partition": left_out.partitions,
        "broker": left_out.brokers,
        "setting": left_out.settings,
    }
    told = [named(what, list(map(str, each))) for what, each in names.items() if each]
    return [*told, *(_records(name, *places) for name, places in left_out.records.items())]


def _records(name: str, begin: int, end: int) -> str:
    kept = f"number {end}" if end - begin == 1 else f"numbers {begin + 1} to {end}"
    return f"the records of {name} but {kept}"


def _moment(step: Step) -> str:
    when = step.when
    if isinstance(when, At):
        return f"at {milliseconds(when.time)}"
    at = f" at {when.node}" if when.node else ""
    count = f" number {when.count}" if when.count > 1 else ""
    later = f", {milliseconds(when.after)} later" if when.after else ""
    return f"on {when.kind}{count}{at}{_fields(when.fields)}{later}"


def _fields(fields: Mapping[str, object]) -> str:
    told = (f"{name} {str(value).lower() if isinstance(value, bool) else value}" for name, value in fields.items())
    return f" with {', '.join(told)}" if fields else ""


def milliseconds(microseconds: int) -> str:
    """A time in milliseconds, as short as possible."""
    return f"{microseconds / MICROSECONDS:.12g} ms"


def _node(action: Any) -> str:
    return str(action.node)


def _partition(action: Any) -> str:
    return str(action.partition)


def _power_loss(action: fault_plan.PowerLoss) -> str:
    kept = f", {action.keep} of the records not flushed kept" if action.keep else ""
    return f"of {', '.join(action.nodes)}{kept}"


_BetweenNodes = (
    fault_plan.Cut | fault_plan.Slow | fault_plan.Lossy | fault_plan.BreakConnection | fault_plan.RefuseRequest
)


def _link(action: fault_plan.Cut | fault_plan.Slow | fault_plan.Lossy) -> str:
    source, target = _ends(action)
    ways = f"from {source} to {target}" if action.one_way else f"between {source} and {target}"
    return f"{ways} for {milliseconds(action.duration)}"


def _ends(action: _BetweenNodes) -> tuple[str, str]:
    source, target = ("every node" if name == "*" else name for name in (action.source, action.target))
    return source, target


def _broken(action: fault_plan.BreakConnection) -> str:
    later = f", what is under way {milliseconds(action.delay)} later" if action.delay else ""
    return "between {} and {}".format(*_ends(action)) + later


def _refused(action: fault_plan.RefuseRequest) -> str:
    count = f"{action.count} times " if action.count > 1 else ""
    return count + "{} from {} to {}: {}".format(action.request, *_ends(action), action.error)


def _directory(action: fault_plan.DirectoryFailure) -> str:
    return f"of {action.node}" + (f", with {', '.join(action.partitions)}" if action.partitions else "")


_DETAILS: dict[type, Callable[[Any], str]] = {
    fault_plan.Crash: _node,
    fault_plan.PowerLoss: _power_loss,
    fault_plan.RackLoss: lambda action: str(action.rack),
    fault_plan.DiskLoss: lambda action: f"of {action.node}",
    fault_plan.Start: _node,
    fault_plan.Stop: _node,
    fault_plan.Pause: lambda action: f"{action.node} for {milliseconds(action.duration)}",
    fault_plan.StopPolling: lambda action: f"{action.node} for {milliseconds(action.duration)}",
    fault_plan.Cut: _link,
    fault_plan.Slow: lambda action: f"by {milliseconds(action.delay)} {_link(action)}",
    fault_plan.Lossy: lambda action: f"{action.percent} % {_link(action)}",
    fault_plan.BreakConnection: _broken,
    fault_plan.RefuseRequest: _refused,
    fault_plan.SlowDisk: lambda action: (
        f"of {action.node} by {milliseconds(action.delay)} for {milliseconds(action.duration)}"
    ),
    fault_plan.LateMetadata: lambda action: f"of {action.node} for {milliseconds(action.duration)}",
    fault_plan.ExpireSession: lambda action: f"of {action.node}",
    fault_plan.DirectoryFailure: _directory,
    fault_plan.ElectPreferred: _partition,
    fault_plan.ElectUnclean: _partition,
    fault_plan.Reassign: lambda action: f"{action.partition} to {','.join(map(str, action.replicas))}",
    fault_plan.CancelReassignment: lambda action: f"of {action.partition}",
    fault_plan.DeleteRecords: lambda action: (
        f"of {action.partition} before {'the high watermark' if action.before < 0 else action.before}"
    ),
    fault_plan.AlterTopic: lambda action: f"{action.topic} {action.setting}={action.value}",
}
