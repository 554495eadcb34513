"""A plan as a JSON file: written whole or not at all, refused when edited.

The file carries a digest (``digest.py``): an edited plan is refused, because what it was made from would no longer
match what it does. The journal names the digest, too, and so belongs to one plan.
"""

from __future__ import annotations

from pathlib import Path

from kreplica.errors import InputError
from kreplica.execution.digest import decode_document, read_document, write_document
from kreplica.execution.plan import PRECONDITIONS, SCHEMA, STEPS, LeaderChange, PartitionFacts, Plan

REMAKE = "make it anew: kreplica rebalance leaders --out FILE, or kreplica rebalance replicas --out FILE"


def write_plan(plan: Plan, path: Path, *, replace: bool = False) -> str:
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

    return write_document(msgspec.to_builtins(plan), path, replace=replace)


def read_plan(path: Path) -> tuple[Plan, str]:
    """Reads a plan and its digest.

    Raises:
        InputError: It cannot be read, is no plan, is damaged, was edited, or a newer kreplica made it.
    """
    document, digest = read_document(path, SCHEMA, REMAKE)
    plan = decode_document(path, document, Plan, REMAKE)
    assert isinstance(plan, Plan)
    _check_sense(path, plan)
    return plan, digest


def _check_sense(path: Path, plan: Plan) -> None:
    """Checks what a digest cannot prove, as a program that writes a plan of its own can compute the digest, too."""
    keys, facts = [change.key for change in plan.changes], plan.facts
    reason = ""
    if plan.kind not in STEPS:
        reason = f"a plan of {plan.kind} has another schema than {SCHEMA}"
    elif len(set(keys)) != len(keys):
        reason = "a partition is changed twice"
    elif sorted(keys) != sorted(one.key for one in plan.made_from):
        reason = "its steps and what it was made from name other partitions"
    elif [step.number for step in plan.steps] != list(range(1, len(plan.steps) + 1)):
        reason = "its steps are not numbered from 1 on"
    elif any(step.action is not STEPS[plan.kind] for step in plan.steps):
        reason = f"a step does something else than {STEPS[plan.kind]}, which is what a plan of {plan.kind} does"
    elif lacking := _lacking(plan):
        reason = f"a step does not ask for {lacking}, without which it would act on a cluster that has changed"
    elif not all(_elects_the_first(change, facts[change.key]) for change in plan.changes):
        reason = "a step elects another than the first of the replicas"
    elif not all(_replaces_another_replica(change, facts[change.key]) for change in plan.changes):
        reason = "a step takes over from a broker that is none of the other replicas, which nobody could bring back"
    elif plan.inverse != tuple(step.inverse() for step in reversed(plan.steps)):
        reason = "its inverse does not undo its steps"
    if reason:
        raise InputError(str(path), "", reason, REMAKE)


def _lacking(plan: Plan) -> str:
    """Preconditions that the kind of a step requires and that it leaves out."""
    required = ((step, PRECONDITIONS[step.action]) for step in plan.steps)
    return ", ".join(dict.fromkeys(one for step, all_of in required for one in all_of if one not in step.preconditions))


def _replaces_another_replica(change: LeaderChange, facts: PartitionFacts) -> bool:
    return change.from_leader is None or change.from_leader in facts.replicas[1:]


def _elects_the_first(change: LeaderChange, facts: PartitionFacts) -> bool:
    return facts.replicas[:1] == (change.to_leader,)
