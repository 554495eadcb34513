"""Changes of replicas held against a cluster: those that cannot be made now, those that would make something worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kreplica.engine.projection.leaving_replicas import min_isr_known
from kreplica.engine.rules.controller.reassignment import Awaited
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody, members, without
from kreplica.model.snapshot import MetadataMode
from kreplica.model.wording.words import are, ids, named
from kreplica.planner.reassignment.moves.intermediate_states import (
    DEFAULT_MARGIN,
    Controller,
    Lack,
    MovingPartition,
    first_lack,
)

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.plan import PartitionKey
    from kreplica.model.snapshot import ClusterSnapshot


def controller_of(snapshot: ClusterSnapshot) -> Controller:
    """The rules of a cluster's controller; one whose release is not known waits for the added replicas alone.

    That is the shortest wait, and so the smallest ISR at the end.
    """
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        return Controller(kraft=False, elr=False, awaited=Awaited.TARGET)
    return Controller(kraft=True, elr=snapshot.elr_enabled, awaited=Awaited.ADDED)


def obstacle(snapshot: ClusterSnapshot, replicas: Sequence[int], change: ReplicaChange) -> str:
    """Reason why a change cannot begin now, empty if it can.

    Kafka takes some of these all the same: a KRaft controller begins a move to a dead broker, which then hangs.
    """
    row = snapshot.find_row(*change.key)
    if row is None:
        return "there is no such partition"
    return _not_as_planned(snapshot, row, replicas) or _not_possible(snapshot, row, change)


def _not_as_planned(snapshot: ClusterSnapshot, row: int, replicas: Sequence[int]) -> str:
    adding, removing = snapshot.lists("adding")[row], snapshot.lists("removing")[row]
    if adding or removing:
        return f"a reassignment is going on (adding {ids(adding or ())}, removing {ids(removing or ())})"
    now = tuple(snapshot.lists("replicas")[row] or ())
    return f"its replicas are {ids(now)}, not {ids(replicas)}" if now != tuple(replicas) else ""


def _not_possible(snapshot: ClusterSnapshot, row: int, change: ReplicaChange) -> str:
    leader = snapshot.integers("leader")[row]
    dead = [broker for broker in change.to_replicas if snapshot.is_alive(broker) is False]
    added = [broker for broker in dead if broker in change.adding]
    out = [broker for broker in change.from_replicas if broker not in (snapshot.lists("isr")[row] or ())]
    reason = ""
    if not change.to_replicas or len(set(change.to_replicas)) != len(change.to_replicas):
        reason = "its new replicas are none, or name a broker twice"
    elif leader is not None and (leader < 0 or snapshot.is_alive(leader) is False):
        reason = "no live broker leads it, so that there is nothing to copy from"
    elif added:
        reason = f"{named('broker', added)} {are(len(added))} not alive"
    elif dead:
        keeps = "which keeps a replica, is" if len(dead) == 1 else "which keep replicas, are"
        reason = f"{named('broker', dead)}, {keeps} not alive: the move might never end"
    elif out and not change.adding and not change.removing:
        reason = f"{named('broker', out)} {are(len(out))} out of sync, for which another order waits"
    return reason


def judge(
    snapshot: ClusterSnapshot, changes: Sequence[ReplicaChange], controller: Controller, margin: int = DEFAULT_MARGIN
) -> dict[PartitionKey, str]:
    """Changes that would make something worse on the way, each with what; the others are left out.

    Worse than now, and worse than with all of its replicas in sync: a broker that failed will be back, and what was
    refused before it failed is refused meanwhile.

    Args:
        snapshot: The cluster; it has every partition of the changes.
        changes: The changes.
        controller: Its controller.
        margin: Most brokers that fail on top.
    """
    rows = [snapshot.row_number(*change.key) for change in changes]
    min_isr = min_isr_known(snapshot)
    declared = snapshot.integers("min_isr")
    found: dict[PartitionKey, str] = {}
    for change, row in zip(changes, rows, strict=True):
        known = declared[row]
        partition = _moving(snapshot, change, row, max(1, known if known is not None else int(min_isr[row])))
        if lack := first_lack(partition, controller, margin):
            found[change.key] = lack_words(change, partition, lack)
        elif lack := first_lack(_in_sync(partition), controller, margin):
            found[change.key] = lack_words(change, partition, lack, "once all its replicas are in sync")
    return found


def _in_sync(partition: MovingPartition) -> MovingPartition:
    """The partition with all of its brokers alive and all of its replicas in sync."""
    every = everybody(partition.count)
    before = without(every, partition.added)
    leader = partition.leader if partition.leader != NO_LEADER else min(members(before), default=NO_LEADER)
    return replace(partition, leader=leader, isr=before, elr=0, live=every)


def left_copy(snapshot: ClusterSnapshot, brokers: Sequence[int]) -> str:
    """Clause on copies that stay on the disks of brokers that lose them now; empty where none does.

    A ZooKeeper controller tells a broker that is down nothing of copies to delete, neither now nor when it is back
    (ReplicaStateMachine); it then takes no replica of a later topic of that name (``Topic ID in memory``).
    """
    down = [broker for broker in brokers if snapshot.is_alive(broker) is False]
    if not down or snapshot.mode is not MetadataMode.ZOOKEEPER:
        return ""
    return f"{named('broker', down)} {are(len(down))} down: the copy stays on the disk there"


def merged_order(change: ReplicaChange) -> tuple[int, ...]:
    """Brokers by index in the merged assignment: the new replicas, then those removed."""
    return (*change.to_replicas, *change.removing)


def _moving(snapshot: ClusterSnapshot, change: ReplicaChange, row: int, min_isr: int) -> MovingPartition:
    order = merged_order(change)
    places = {broker: place for place, broker in enumerate(order)}

    def mask(brokers: Sequence[int] | None) -> int:
        return sum(1 << places[broker] for broker in dict.fromkeys(brokers or ()) if broker in places)

    offline = snapshot.lists("offline_replicas")[row] or ()
    leader = snapshot.integers("leader")[row]
    return MovingPartition(
        count=len(order),
        added=mask(change.adding),
        removed=mask(change.removing),
        leader=places.get(leader, -1) if leader is not None else 0,
        isr=mask(snapshot.lists("isr")[row]),
        elr=mask(snapshot.lists("elr")[row]),
        live=mask([broker for broker in order if broker not in offline and snapshot.is_alive(broker) is not False]),
        min_isr=min_isr,
    )


def lack_words(change: ReplicaChange, partition: MovingPartition, lack: Lack, compared: str = "now") -> str:
    """The clause that says what a change would make worse, and than what."""
    order = merged_order(change)
    when = "afterwards" if lack.after else "while it moves"
    failing = [order[place] for place in lack.failing]
    if_failing = f", if {named('broker', failing)} failed," if failing else ""
    if lack.leaderless:
        return f"{when}{if_failing} nobody could lead it, which is not so {compared}"
    short = f"only {lack.in_sync} in sync where min.insync.replicas is {partition.min_isr}"
    said = f"{when}{if_failing} it would have {short}, which is not so {compared}"
    if not failing and len(change.from_replicas) < partition.min_isr:
        # Up to as many replicas as it has now the setting counts as their number; with one more it counts as it is.
        return f"{said}: set min.insync.replicas of the topic to {len(change.from_replicas)} until it has moved"
    return said
