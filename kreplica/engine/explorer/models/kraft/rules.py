"""Rules of the models of a KRaft cluster: the engine's where they are the same, the published models' where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kreplica.engine.explorer.models.kraft.messages import (
    BROKER_EPOCH,
    FENCED,
    INELIGIBLE,
    ISR,
    LEADER_EPOCH,
    NO_ERROR,
    NOT_LEADER,
    PARTITION_EPOCH,
    SOURCE,
    UNKNOWN_EPOCH,
    isr_epoch,
    read,
)
from kreplica.engine.explorer.models.kraft.state import (
    KraftState,
    decide,
    epoch_of,
    log_end,
    now,
    partition_epoch_of,
    record_at,
)
from kreplica.engine.rules.controller.alter_partition import ineligible_replicas, kraft_alter_partition_error
from kreplica.engine.rules.controller.isr import kraft_eligible_leader_replicas
from kreplica.engine.rules.controller.leader_epoch_bump import kraft_leader_epoch
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import leader_epoch_error
from kreplica.engine.rules.replication.high_watermark import high_watermark_stands_still, leader_high_watermark
from kreplica.engine.rules.replication.replica_set import (
    NO_LEADER,
    contains,
    everybody,
    only,
    size,
    without,
)

NO_CHOICE = 0
"""The one choice where nothing is to be chosen."""


@dataclass(frozen=True, slots=True)
class KraftRules:
    """The rules in which the models differ.

    Args:
        change: Makes the controller's decision once the brokers that are active, or the ISR, have changed: state, new
            ISR, replicas that may have lost records, active brokers, min ISR, the replica to elect if several may be.
            False if that replica may not be.
        removed: The ISR without a broker: ISR, broker.
        stands_still: Whether the leader's high watermark stays where it is: its ISR, min ISR.
        tells_losses: Whether a broker that starts tells the controller that it may have lost records.
        loses: Whether a broker may lose its log: ISR, broker.
    """

    change: Callable[[KraftState, int, int, int, int, int], bool]
    removed: Callable[[int, int], int]
    stands_still: Callable[[int, int], bool]
    tells_losses: bool
    loses: Callable[[int, int], bool]


# -- leaders


def high_watermark_after(state: KraftState, leader: int, maximal: int) -> int:
    """The high watermark of a leader that counts with a maximal ISR: ``high_watermark.leader_high_watermark``."""
    count = len(state.status)
    # a peer that has not fetched yet has nothing for certain
    ends = [max(0, end_known(state, leader, peer)) for peer in range(count)]
    return leader_high_watermark(state.high_watermark[leader], ends, maximal | only(leader))


def end_known(state: KraftState, leader: int, peer: int) -> int:
    """The log end offset of a replica as a leader knows it."""
    return log_end(state, leader) if peer == leader else state.peer_end[leader * len(state.status) + peer]


def never_stands_still(_isr: int, _min_isr: int) -> bool:
    """The high watermark rises with an ISR of any size: before 3.7."""
    return False


def fetch_error(state: KraftState, leader: int, leads: bool, requested: int) -> int:
    """The error that a broker answers a fetch with: the leader epochs first, then whether it leads."""
    error = leader_epoch_error(requested, state.known_epoch[leader])
    if error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return UNKNOWN_EPOCH
    if error == ErrorCode.FENCED_LEADER_EPOCH:
        return FENCED
    return NO_ERROR if leads else NOT_LEADER


# -- logs


def end_of_epoch(state: KraftState, replica: int, epoch: int, leads: bool) -> tuple[int, int]:
    """The largest epoch in a log that is not above another, and where it ends: ``log_truncation.epoch_end_offset``.

    A leader has its own epoch from its election on.
    """
    end = log_end(state, replica)
    if end == 0 or (leads and state.known_epoch[replica] == epoch):
        return epoch, end
    if epoch_of(record_at(state, replica, end - 1)) == epoch:
        return epoch, end
    higher = 0
    while higher < end and epoch_of(record_at(state, replica, higher)) <= epoch:
        higher += 1
    if higher == 0:
        return epoch, 0
    return epoch_of(record_at(state, replica, higher - 1)), higher


def cut_after_answer(state: KraftState, follower: int, epoch: int, end: int) -> int:
    """The offset at which a follower cuts its log, told where an epoch ends: ``log_truncation.truncation_round``."""
    own, own_end = end_of_epoch(state, follower, epoch, False)
    return min(own_end, end) if own == epoch else own_end


# -- the controller


def removed_even_last(isr: int, broker: int) -> int:
    """The ISR without a broker, however many are left: with ELR."""
    return without(isr, only(broker))


def removed_but_last(isr: int, broker: int) -> int:
    """The same, but the last member stays: without ELR."""
    return isr if size(isr) == 1 else without(isr, only(broker))


def change_without_elr(state: KraftState, isr: int, _lost: int, active: int, _min_isr: int, chosen: int) -> bool:
    """Elects any active member of the ISR where there is no leader; of several, the engine takes the first."""
    at = now(state)
    leader, epoch = state.leader[at], state.leader_epoch[at]
    may = isr & active
    if contains(may, leader) or (leader == NO_LEADER and may == 0):
        if chosen != NO_CHOICE:
            return False
        if isr != state.isr[at]:
            decide(state, leader, epoch, isr, 0, 0)
        return True
    elected = NO_LEADER
    if may != 0:
        elected = chosen
        if not contains(may, elected):
            return False
    elif chosen != NO_CHOICE:
        return False
    decide(state, elected, new_epoch(epoch), isr, 0, 0)
    return True


def change_with_elr(state: KraftState, isr: int, lost: int, active: int, min_isr: int, chosen: int) -> bool:
    """The same with ELR (KIP-966): without an ISR, any active member of the ELR becomes leader and the ISR."""
    at = now(state)
    leader, epoch = state.leader[at], state.leader_epoch[at]
    elr = without(state.elr[at], lost)
    if lost == 0:
        elr = kraft_eligible_leader_replicas(state.isr[at], elr, isr, min_isr, 0)
    may = isr if isr != 0 else elr & active
    if contains(isr, leader) or (leader == NO_LEADER and may == 0):
        if chosen != NO_CHOICE:
            return False
        if isr != state.isr[at] or elr != state.elr[at]:
            write_with_elr(state, leader, epoch, isr, elr, min_isr)
        return True
    if may == 0:
        if chosen != NO_CHOICE:
            return False
        write_with_elr(state, NO_LEADER, new_epoch(epoch), isr, elr, min_isr)
        return True
    if not contains(may, chosen):
        return False
    write_with_elr(state, chosen, new_epoch(epoch), isr | only(chosen), without(elr, only(chosen)), min_isr)
    return True


def new_epoch(epoch: int) -> int:
    """The leader epoch once another leads, or nobody."""
    return kraft_leader_epoch(epoch, True, 0, 0, 0, 0, False)


def write_with_elr(state: KraftState, leader: int, epoch: int, isr: int, elr: int, min_isr: int) -> None:
    """Appends a record; who leaves the ELR is remembered until the ISR is large enough again.

    The published model; Kafka remembers the last leader alone (``isr.kraft_last_known_elr``).
    """
    at = now(state)
    known = 0
    if size(isr) < min_isr:
        known = state.last_known_elr[at] | without(state.elr[at], elr)
    decide(state, leader, epoch, isr, elr, known)


def isr_error(state: KraftState, request: int) -> int:
    """The error with which the controller answers a request for an ISR: ``alter_partition``.

    The model tells whatever is out of date as one error, that of another broker epoch included.
    """
    at = now(state)
    source, isr = read(request, SOURCE), read(request, ISR)
    if read(request, BROKER_EPOCH) != state.registered_epoch[source]:
        return FENCED
    everyone = everybody(len(state.status))
    other_epoch = 0
    for member in range(len(state.status)):
        epoch = isr_epoch(request, member)
        if contains(isr, member) and epoch not in (0, state.registered_epoch[member]):
            other_epoch |= only(member)
    fenced = without(everyone, state.unfenced[0])
    error = kraft_alter_partition_error(
        state.leader[at],
        state.leader_epoch[at],
        partition_epoch_of(state, at),
        everyone,
        False,
        source,
        read(request, LEADER_EPOCH),
        read(request, PARTITION_EPOCH),
        isr,
        False,
        ineligible_replicas(isr, everyone, fenced, 0, other_epoch),
    )
    if error == ErrorCode.NONE:
        return NO_ERROR
    return INELIGIBLE if error == ErrorCode.INELIGIBLE_REPLICA else FENCED


def any_loses(_isr: int, _broker: int) -> bool:
    """Any broker may lose its log when it crashes."""
    return True


def last_keeps(isr: int, broker: int) -> bool:
    """The last replica in sync keeps its log: the published model without ELR, where it is asked to."""
    return isr != only(broker)


WITHOUT_ELR = KraftRules(
    change=change_without_elr,
    removed=removed_but_last,
    stands_still=never_stands_still,
    tells_losses=False,
    loses=any_loses,
)
WITH_ELR = KraftRules(
    change=change_with_elr,
    removed=removed_even_last,
    stands_still=high_watermark_stands_still,
    tells_losses=True,
    loses=any_loses,
)
