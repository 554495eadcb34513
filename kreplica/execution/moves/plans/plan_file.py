"""A plan of replicas as a JSON file, and the kind of any plan's file.

As with plans of leaders, the file carries a digest over the rest (``execution/digest.py``): an edited one is refused.
"""

from __future__ import annotations

from pathlib import Path

from kreplica.errors import InputError
from kreplica.execution.digest import decode_document, read_document, read_schema, write_document
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.plan import SCHEMA, ReplicaPlan
from kreplica.execution.plan import SCHEMA as SCHEMA_OF_LEADERS
from kreplica.execution.plan import PartitionFacts, PlanKind
from kreplica.execution.plan_file import REMAKE
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.intermediate_states import DEFAULT_MARGIN
from kreplica.planner.reassignment.moves.order import DEFAULT_LIMITS

_KINDS = {SCHEMA_OF_LEADERS: PlanKind.LEADERS, SCHEMA: PlanKind.REPLICAS}
_WITHIN = "changed_directories"
_LIMITS_WITHIN = {
    "bytes_per_directory": DEFAULT_LIMITS.bytes_per_directory,
    "moves_per_directory": DEFAULT_LIMITS.moves_per_directory,
}
_REMAKE = "make it anew: kreplica rebalance replicas --out FILE"


def write_replica_plan(plan: ReplicaPlan, path: Path, *, replace: bool = False) -> str:
    """Writes the plan; a crash leaves the old file or the new one, never a part.

    Args:
        plan: What to write.
        path: Where to.
        replace: Whether a file that is there is replaced.

    Returns:
        The plan's digest.

    Raises:
        UsageError: The file exists, or the path cannot be written.
    """
    import msgspec

    document = msgspec.to_builtins(plan)
    if not plan.changed_directories:  # as a kreplica that does not know them reads it, too
        del document[_WITHIN]
        document["limits"] = {name: one for name, one in document["limits"].items() if name not in _LIMITS_WITHIN}
    return write_document(document, path, replace=replace)


def read_replica_plan(path: Path) -> tuple[ReplicaPlan, str]:
    """Reads a plan of replicas and its digest.

    Raises:
        InputError: It cannot be read, is no such plan, is damaged, was edited, or a newer kreplica made it.
    """
    document, digest = read_document(path, SCHEMA, _REMAKE)
    # Plans were made with these defaults before there was a choice.
    limits = document.get("limits")
    given = {"limits": {**_LIMITS_WITHIN, **limits}} if isinstance(limits, dict) else {}
    plan = decode_document(path, {"margin": DEFAULT_MARGIN, _WITHIN: [], **document, **given}, ReplicaPlan, _REMAKE)
    assert isinstance(plan, ReplicaPlan)
    if reason := _nonsense(plan):
        raise InputError(str(path), "", reason, _REMAKE)
    return plan, digest


def plan_kind(path: Path) -> PlanKind:
    """Kind of the plan in a file, by its schema.

    Raises:
        InputError: It cannot be read, or is no plan.
    """
    return _KINDS[read_schema(path, tuple(_KINDS), REMAKE)]


def _nonsense(plan: ReplicaPlan) -> str:
    """Faults that a digest cannot rule out, as a program that writes a plan of its own can compute the digest, too."""
    keys, facts = [change.key for change in plan.changes], plan.facts
    within = [one.replica for one in plan.changed_directories]
    reason = ""
    if plan.kind is not PlanKind.REPLICAS:
        reason = f"a plan of {plan.kind} has another schema than {SCHEMA}"
    elif len(set(keys)) != len(keys):
        reason = "a partition is changed twice"
    elif len(set(within)) != len(within):
        reason = "a replica changes its log directory twice"
    elif sorted({*keys, *(one.key for one in plan.changed_directories)}) != sorted(one.key for one in plan.made_from):
        reason = "its changes and what it was made from name other partitions"
    elif plan.inverse != tuple(change.inverse() for change in reversed(plan.changes)):
        reason = "its inverse does not undo its changes"
    elif plan.margin < 0:
        reason = "its margin is below 0"
    else:
        wrong = [(change.key, _wrong_change(change, facts[change.key])) for change in plan.changes]
        wrong += [(one.key, _wrong_directory(one, facts[one.key])) for one in plan.changed_directories]
        reason = next((f"{topic}-{number}: {why}" for (topic, number), why in wrong if why), "")
    return reason


def _wrong_change(change: ReplicaChange, facts: PartitionFacts) -> str:
    target = change.to_replicas
    if change.from_replicas != facts.replicas:
        return "it begins with other replicas than it was made from"
    if change.from_replicas == target:
        return "it changes nothing"
    if not target or len(set(target)) != len(target) or min(target) < 0:
        return "its new replicas are none, or name a broker twice"
    if any(broker not in change.adding for broker, _ in change.directories):
        return "it chooses a log directory for a broker that gets no replica"
    return ""


def _wrong_directory(change: ChangedDirectory, facts: PartitionFacts) -> str:
    if change.broker not in facts.replicas:
        return f"broker {change.broker} has no replica whose log directory could change"
    if change.source == change.destination or not change.destination:
        return "its log directory does not change"
    return "its size is below 0" if change.size < 0 else ""
