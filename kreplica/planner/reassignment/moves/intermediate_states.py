"""States of a partition while its replicas move, each with brokers failing on top, judged by the controllers' rules.

    before    the replicas and the ISR as they are
    moving    both sets of replicas; each subset of the added ones in sync
    after     the new replicas, for each ISR that completes the move

Each state is judged as it is and with any ``margin`` of its own brokers failing: is there a leader, are there as many
in sync as min.insync.replicas asks for. A move is worse where a later state lacks what the state before did not lack.
What is lacking before is not held against the move. Bits are indexes in the merged assignment (``engine.rules``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from kreplica.engine.rules.controller.broker_failure import zookeeper_brokers_fail
from kreplica.engine.rules.controller.controlled_shutdown import kraft_broker_stops
from kreplica.engine.rules.controller.isr import kraft_change
from kreplica.engine.rules.controller.reassignment import Awaited, completed, completes, zookeeper_elect_reassigned
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody, members, only, size, without

DEFAULT_MARGIN = 1
"""Brokers that may fail on top while a partition moves, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller whose rules hold.

    Args:
        kraft: Whether it is a KRaft controller.
        elr: Whether it keeps eligible leader replicas.
        awaited: Replicas that have to be in sync before a move ends.
    """

    kraft: bool = True
    elr: bool = False
    awaited: Awaited = Awaited.ADDED


@dataclass(frozen=True, slots=True)
class MovingPartition:
    """A partition and its move, as bitmasks over the merged assignment: the new replicas, then those removed.

    Args:
        count: Replicas of the merged assignment.
        added, removed: Replicas that the move adds and removes.
        leader: Index of the leader, NO_LEADER for none.
        isr: In-sync replicas.
        elr: Eligible leader replicas.
        live: Replicas whose broker is alive and whose log directory is online.
        min_isr: min.insync.replicas; 1 where it is not known.
    """

    count: int
    added: int
    removed: int
    leader: int
    isr: int
    elr: int
    live: int
    min_isr: int


@dataclass(frozen=True, slots=True)
class Lack:
    """A state that lacks what the partition had before its move.

    Args:
        after: Whether the move is over then, and not still going on.
        failing: Indexes of the brokers that fail on top.
        leaderless: Whether nobody leads; otherwise too few are in sync.
        in_sync: Number of replicas that are in sync then.
    """

    after: bool
    failing: tuple[int, ...]
    leaderless: bool
    in_sync: int


_State = tuple[int, int, int, int]
"""Replicas, leader, ISR and ELR."""


@lru_cache(maxsize=1 << 16)
def first_lack(partition: MovingPartition, controller: Controller, margin: int = DEFAULT_MARGIN) -> Lack | None:
    """The first state of a move that lacks what was there before; None where it makes nothing worse.

    Args:
        partition: The partition and its move.
        controller: Its controller.
        margin: Most brokers that fail at once.
    """
    accepted = set()
    for _, lack in _lacks(partition, controller, _before(partition, controller), margin, after=False):
        accepted.add((len(lack.failing), lack.leaderless))
    later = ((False, state) for state in _moving(partition, controller))
    ended = ((True, state) for state in _after(partition, controller))
    for after, state in (*later, *ended):
        for _, lack in _lacks(partition, controller, state, margin, after=after):
            if (len(lack.failing), lack.leaderless) not in accepted and (len(lack.failing), True) not in accepted:
                return lack
    return None


def _lacks(
    partition: MovingPartition, controller: Controller, state: _State, margin: int, *, after: bool
) -> Iterator[tuple[_State, Lack]]:
    replicas = state[0]
    effective = min(partition.min_isr, size(replicas))
    live = members(replicas & partition.live)
    for count in range(margin + 1):
        for failing in combinations(live, count):
            failed = _failed(partition, controller, state, failing, effective)
            in_sync = size(failed[2])
            if failed[1] == NO_LEADER or in_sync < effective:
                yield failed, Lack(after, failing, failed[1] == NO_LEADER, in_sync)


def _before(partition: MovingPartition, controller: Controller) -> _State:
    replicas = without(everybody(partition.count), partition.added)
    return _settled(partition, controller, replicas, partition.isr)


def _moving(partition: MovingPartition, controller: Controller) -> Iterator[_State]:
    for in_sync in _subsets(partition.added):
        yield _settled(partition, controller, everybody(partition.count), partition.isr | in_sync)


def _after(partition: MovingPartition, controller: Controller) -> Iterator[_State]:
    every = everybody(partition.count)
    if partition.added | partition.removed == 0:
        return
    joined = [partition.isr | some for some in _subsets(partition.added)]
    for isr in (*joined, partition.isr | without(every, partition.removed)):
        if completes(every, partition.added, partition.removed, isr, controller.awaited):
            yield _over(partition, controller, isr)


def _over(partition: MovingPartition, controller: Controller, isr: int) -> _State:
    _, leader, _, elr = _settled(partition, controller, everybody(partition.count), isr)
    replicas, left = completed(everybody(partition.count), partition.removed, isr)
    acceptable = replicas & partition.live
    if not controller.kraft:
        return replicas, zookeeper_elect_reassigned(replicas, left, acceptable, leader), left, 0
    effective = min(partition.min_isr, size(replicas))
    leader, left, elr, _ = kraft_change(
        leader, isr, without(elr, partition.removed), 0, left, acceptable, effective, controller.elr, False
    )
    return replicas, leader, left, elr


def _settled(partition: MovingPartition, controller: Controller, replicas: int, isr: int) -> _State:
    """The state once the controller has noticed the brokers that are down."""
    state = (replicas, partition.leader, isr, partition.elr)
    down = tuple(members(without(isr, partition.live)))
    return _failed(partition, controller, state, down, min(partition.min_isr, size(replicas))) if down else state


def _failed(
    partition: MovingPartition, controller: Controller, state: _State, failing: tuple[int, ...], effective: int
) -> _State:
    """The state after brokers have failed, one after the other."""
    replicas, leader, isr, elr = state
    gone = sum(only(replica) for replica in failing)
    live = without(replicas & partition.live, gone)
    if not controller.kraft:
        leader, isr = zookeeper_brokers_fail(gone, leader, replicas, isr, live, False)
        return replicas, leader, without(isr, gone) if leader != NO_LEADER else isr, 0
    last_known = 0
    for replica in failing:
        leader, isr, elr, last_known = kraft_broker_stops(
            replica, leader, isr, elr, last_known, live, effective, controller.elr, False
        )
    return replicas, leader, isr, elr


def _subsets(replicas: int) -> Iterator[int]:
    """Every subset of a set, the empty one first."""
    some = 0
    while True:
        yield some
        if some == replicas:
            return
        some = (some - replicas) & replicas
