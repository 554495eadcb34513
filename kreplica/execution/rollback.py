"""Brings back the leaders that a plan of elections has replaced.

Kafka has no request that makes a named replica the leader. A preferred election elects the first of the replicas, so
the way back of a partition is, with all its replicas in sync:

    replicas 1,2,3  leader 1      the plan elected 1; before it 2 led
    reorder  2,1,3  leader 1      AlterPartitionReassignments: the same replicas, no data moves, nobody else leads
    elect    2,1,3  leader 2      preferred election
    restore  1,2,3  leader 2      the order is as it was

The order is restored even if the election failed. What is noted before the first of these steps is enough to find
and restore every order after a kill at any point: the plan knows the original order and the one in between.

Not rolled back: a partition without a leader before (that state cannot be restored); one of which a replica is out
of sync (its reassignment would hang with a ZooKeeper controller); one that somebody else changed since. With
auto.leader.rebalance.enable, Kafka's default, the controller itself elects the preferred leaders again within
leader.imbalance.check.interval.seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kreplica.control.boundary import require_writable
from kreplica.control.reassign import reorder_replicas
from kreplica.errors import KreplicaError
from kreplica.execution.drift import StepCheck, look_at_steps
from kreplica.execution.elections import elect
from kreplica.execution.executor import Session, check_cluster, read_settled, remaining, run_steps
from kreplica.execution.journal import Event, Result, entry
from kreplica.execution.plan import LeaderChange, PartitionFacts, PartitionKey, Plan, Step
from kreplica.execution.plan_journal import Operation
from kreplica.execution.progress import State
from kreplica.sources import Facet, read_snapshot

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.progress import Progress
    from kreplica.model.snapshot import ClusterSnapshot

NOT_RESTORED = "the replica order is not restored"


def rollback(session: Session) -> str:
    """Brings back the leaders of every partition that the plan has changed, where that is possible.

    Returns:
        Why it stopped early, empty if it did not.

    Raises:
        ChangeRefusedError: The plan belongs to another cluster, or the handle may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    require_writable(session.handle)
    snapshot = read_snapshot(session.handle, Facet.PARTITIONS)
    check_cluster(session.plan, snapshot)
    half_way = reordered(session.plan, session.progress, snapshot)
    if half_way:
        errors = _restore(session.handle, session.plan, half_way)
        if errors:
            reason = "; ".join(f"{topic}-{number}: {error}" for (topic, number), error in errors.items())
            session.journal.append(entry(Event.STOPPED, Operation.ROLLBACK, message=reason))
            return reason
        snapshot = read_snapshot(session.handle, Facet.PARTITIONS)
    steps = still_to_roll_back(session.plan, session.progress)
    checks = look_back(session.plan, steps, snapshot)
    possible = remaining(steps, lambda change: not checks[change.key].drift)
    return run_steps(session, Operation.ROLLBACK, possible, bring_back_step, look_back)


def still_to_roll_back(plan: Plan, progress: Progress) -> list[Step]:
    """The inverse steps of what the plan has changed, or may have when a run died, less what is back already."""
    changed = (State.DONE, State.UNDER_WAY)
    back = (State.DONE, State.ALREADY)
    return remaining(
        plan.inverse,
        lambda change: progress.apply[change.key] in changed and progress.rollback.get(change.key) not in back,
    )


def look_back(plan: Plan, steps: Sequence[Step], snapshot: ClusterSnapshot) -> dict[PartitionKey, StepCheck]:
    """Tells which of the changes can be rolled back; ``drift`` says why one cannot."""
    checks = look_at_steps(plan, steps, snapshot)
    for change in (change for step in steps for change in step.changes):
        check = checks[change.key]
        if not check.already and not check.drift and check.leader != change.from_leader:
            now = f"broker {check.leader}" if check.leader is not None else "nobody"
            reason = f"{now} leads now, not broker {change.from_leader} as the plan left it: somebody else changed it"
            checks[change.key] = StepCheck(check.leader, False, reason)
    return checks


def reordered(plan: Plan, progress: Progress, snapshot: ClusterSnapshot) -> tuple[PartitionKey, ...]:
    """Partitions whose replica order a rollback has changed and not yet restored."""
    orders, facts = _orders_between(plan), plan.facts
    found = (key for key in progress.rollback if key in orders)
    return tuple(key for key in found if _order_seen(snapshot, facts[key]) == _text(orders[key]))


def _orders_between(plan: Plan) -> dict[PartitionKey, tuple[int, ...]]:
    """The order that each partition has for a moment, where that is not its own."""
    facts = plan.facts
    changes = [change for step in plan.inverse for change in step.changes if change.to_leader is not None]
    orders = {change.key: _with_first(facts[change.key], _wanted(change)) for change in changes}
    return {key: order for key, order in orders.items() if order != facts[key].replicas}


def bring_back_step(handle: ClusterHandle, plan: Plan, step: Step) -> tuple[Result, ...]:
    """Reorders, elects and restores the order of one step's partitions."""
    keys = tuple(change.key for change in step.changes)
    try:
        leaders, errors = _led_back(handle, plan, step)
        # Restore every order, even of requests that were refused or not answered.
        errors |= _restore(handle, plan, keys)
    except KeyboardInterrupt:
        _restore(handle, plan, keys)
        raise
    return tuple(Result(*key, leaders.get(key), not errors.get(key), errors.get(key, "")) for key in keys)


def _led_back(
    handle: ClusterHandle, plan: Plan, step: Step
) -> tuple[dict[PartitionKey, int | None], dict[PartitionKey, str]]:
    """Reorders and elects; returns the leaders then, and the errors."""
    facts = plan.facts
    orders = {change.key: _with_first(facts[change.key], _wanted(change)) for change in step.changes}
    errors: dict[PartitionKey, str] = {}
    leaders: dict[PartitionKey, int | None] = {}
    try:
        errors |= _reorder(handle, plan, orders)
        ready = [change for change in step.changes if not errors.get(change.key)]
        for outcome in elect(handle, ready):
            leaders[outcome.change.key] = outcome.leader
            if not outcome.done:
                errors[outcome.change.key] = outcome.error or f"broker {outcome.leader} leads"
    except KreplicaError as error:
        errors = {key: str(error) for key in orders} | errors
    return leaders, errors


def _wanted(change: LeaderChange) -> int:
    assert change.to_leader is not None, "drift refuses what nobody led"
    return change.to_leader


def _with_first(facts: PartitionFacts, leader: int) -> tuple[int, ...]:
    assert leader in facts.replicas, "an order is changed, no replica added"
    return (leader, *(broker for broker in facts.replicas if broker != leader))


def _restore(handle: ClusterHandle, plan: Plan, keys: Sequence[PartitionKey]) -> dict[PartitionKey, str]:
    """Asks for the original orders and returns the errors of the partitions that do not get theirs.

    Replicas that are neither in the original order nor in the one in between were changed by somebody else meanwhile:
    they are left alone. The original order is asked for even where it is seen: a request without an answer may come
    into effect later.
    """
    facts, between = plan.facts, _orders_between(plan)
    there: list[PartitionKey] = []
    try:
        snapshot = read_snapshot(handle, Facet.PARTITIONS)
        seen = {key: _order_seen(snapshot, facts[key]) for key in keys}
        there = [key for key in keys if seen[key] == _text(facts[key].replicas)]
        ours = [key for key in keys if seen[key] == _text(between[key])]
        errors = {key: f"its replicas are {seen[key]} now" for key in keys if key not in there and key not in ours}
        errors |= _reorder(handle, plan, {key: facts[key].replicas for key in (*there, *ours)})
    except KreplicaError as error:
        errors = {key: str(error) for key in keys if key not in there}
    return {key: f"{NOT_RESTORED} ({error})" for key, error in errors.items()}


def _reorder(
    handle: ClusterHandle, plan: Plan, orders: Mapping[PartitionKey, tuple[int, ...]]
) -> dict[PartitionKey, str]:
    """Changes the orders and reads until the cluster shows them; returns the errors of those that it does not."""
    errors = {key: error for key, error in reorder_replicas(handle, orders).items() if error}
    accepted = {key: order for key, order in orders.items() if key not in errors}
    return errors | _not_there(handle, plan, accepted)


def _not_there(
    handle: ClusterHandle, plan: Plan, orders: Mapping[PartitionKey, tuple[int, ...]]
) -> dict[PartitionKey, str]:
    facts = plan.facts

    def others(snapshot: ClusterSnapshot) -> dict[PartitionKey, str]:
        seen = {key: _order_seen(snapshot, facts[key]) for key in orders}
        return {key: found for key, found in seen.items() if found != _text(orders[key])}

    if not orders:
        return {}
    late = others(read_settled(handle, Facet.PARTITIONS, lambda now: not others(now)))
    return {key: f"its replicas are {found}, not {_text(orders[key])}" for key, found in late.items()}


def _order_seen(snapshot: ClusterSnapshot, facts: PartitionFacts) -> str:
    """The replicas of a partition as text, or why there are none."""
    try:
        row = snapshot.partition(*facts.key)
    except KeyError:
        return "gone"
    if facts.topic_id is not None and row["topic_id"] not in (None, facts.topic_id):
        return "those of another topic of that name"
    replicas = row["replicas"]
    assert isinstance(replicas, list)
    return _text(tuple(replicas)) + (" and moving" if row["adding"] or row["removing"] else "")


def _text(replicas: tuple[int, ...]) -> str:
    return ",".join(map(str, replicas))
