"""Decisions by which a KRaft controller can have changed a partition.

A record says what became of a partition, not why. What was asked for (an ISR, an assignment) is not in the log; where a
rule needs it, it is read off the state afterwards, and the rule has to give exactly that state, epochs included.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import NamedTuple

from kreplica.engine.rules.controller.alter_partition import ineligible_replicas, kraft_alter_partition_error
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, members, only, without
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.decisions import (
    Circumstances,
    broker_left,
    elected_uncleanly,
    ends_move,
    isr_accepted,
    isr_made,
    merged,
    move_begun,
    move_cancelled,
    preferred_elected,
    settled,
)
from kreplica.engine.traces.trace_rule import TraceRule

MOST_REMOVED = 6
"""Leaving replicas of one move of which every subset is tried as part of the ISR that ended it."""


class Brokers(NamedTuple):
    """Brokers as the controller knows them.

    Args:
        registered: All of them.
        fenced: Those that are fenced.
        shutting_down: Those in controlled shutdown.
    """

    registered: tuple[int, ...]
    fenced: tuple[int, ...]
    shutting_down: tuple[int, ...]


class Explanation(NamedTuple):
    """One decision that may have been made, and the state that it gives."""

    rule: TraceRule
    state: PartitionState


def agrees(predicted: PartitionState, seen: PartitionState) -> bool:
    """True if two states are the same; sets count by their brokers, whatever their indexes."""
    return comparable(predicted) == comparable(seen)


def comparable(state: PartitionState) -> dict[str, object]:
    """A state by the names of its parts, brokers by id."""
    return {
        "leader": state.leader_id,
        "leader epoch": state.leader_epoch,
        "partition epoch": state.partition_epoch,
        "ISR": sorted(state.members(state.isr)),
        "ELR": sorted(state.members(state.elr)),
        "last known ELR": sorted(state.members(state.last_known_elr)),
        "recovering": state.recovering,
        "replicas": list(state.replicas),
        "adding": list(state.adding),
        "removing": list(state.removing),
    }


def by_requests(
    old: PartitionState, seen: PartitionState, facts: Circumstances, brokers: Brokers
) -> Iterator[Explanation]:
    """Decisions that a broker, an operator or a timer asks for at any time.

    Args:
        old: The state before.
        seen: The state afterwards, off which it is read what was asked for.
        facts: What decides besides.
        brokers: Members of a proposed ISR have to be live, those of an assignment registered.
    """
    for rule, new in chain(
        _isr_changes(old, seen, facts, brokers), _moves(old, seen, facts, brokers), _elections(old, facts)
    ):
        yield Explanation(rule, settled(old, new, facts.rises_on_isr_shrink))


Decided = tuple[TraceRule, PartitionState]


def _isr_changes(
    old: PartitionState, seen: PartitionState, facts: Circumstances, brokers: Brokers
) -> Iterator[Decided]:
    """AlterPartition: the ISR that is there afterwards, with any leaving replicas where it ended a move."""
    if old.leader == NO_LEADER:
        return
    kept = old.places(seen.members(seen.isr))
    leaving = members(without(old.places(old.removing), kept))[:MOST_REMOVED]
    for number in range(len(leaving) + 1):
        for some in combinations(leaving, number):
            isr = kept | sum(map(only, some))
            if _is_accepted(old, isr, brokers):
                yield _isr_rule(old, isr, facts), isr_accepted(old, isr, facts)


def _is_accepted(old: PartitionState, isr: int, brokers: Brokers) -> bool:
    ineligible = ineligible_replicas(
        isr, old.places(brokers.registered), old.places(brokers.fenced), old.places(brokers.shutting_down), 0
    )
    leader, epoch, version = old.leader, old.leader_epoch, old.partition_epoch
    error = kraft_alter_partition_error(
        leader, epoch, version, old.everybody, old.recovering, leader, epoch, version, isr, False, ineligible
    )
    return error == ErrorCode.NONE


def _isr_rule(old: PartitionState, isr: int, facts: Circumstances) -> TraceRule:
    if ends_move(old, isr, facts):
        return TraceRule.move_ended
    if isr == old.isr:
        return TraceRule.recovered
    return TraceRule.isr_shrunk if without(isr, old.isr) == 0 else TraceRule.isr_expanded


def _moves(old: PartitionState, seen: PartitionState, facts: Circumstances, brokers: Brokers) -> Iterator[Decided]:
    """A reassignment to the target that the state afterwards shows, or the cancellation of one."""
    target = tuple(broker for broker in seen.replicas if broker not in seen.removing)
    for asked in dict.fromkeys((target, seen.replicas)):
        if asked and set(asked) <= set(brokers.registered):
            new = move_begun(old, asked, facts)
            moves = new.adding or new.removing
            yield TraceRule.move_begun if moves or not _moved(old, new) else TraceRule.move_ended, new
    if old.adding or old.removing:
        cancelled = move_cancelled(old, facts)
        if cancelled is not None:
            yield TraceRule.move_cancelled, cancelled


def _moved(old: PartitionState, new: PartitionState) -> bool:
    """True if a move that began and ended at once took replicas away; otherwise it only changed their order."""
    return set(old.replicas) != set(new.replicas)


def _elections(old: PartitionState, facts: Circumstances) -> Iterator[Decided]:
    preferred = preferred_elected(old, facts)
    if preferred is not None:
        yield TraceRule.preferred_election, preferred
    if old.leader == NO_LEADER:
        yield TraceRule.unclean_election, elected_uncleanly(old, facts)


def by_broker_leaving(
    old: PartitionState, broker: int, facts: Circumstances, rule: TraceRule, unclean: tuple[bool, ...] = (False,)
) -> Iterator[Explanation]:
    """The decisions on a partition when a broker leaves.

    One that may have lost records, or is unregistered, is also looked for where the controller's index names the
    partition for it, be it in the ELR or not (``elr_index``); the index is not in the log.

    Args:
        old: The state before.
        broker: The broker.
        facts: What decides besides.
        rule: Why it leaves.
        unclean: Whether it may have lost records; both are tried where the log does not say so.
    """
    for lossy in unclean:
        listed = lossy or rule is TraceRule.broker_unregistered
        new = broker_left(old, broker, facts, lossy, listed)
        yield Explanation(rule, settled(old, new, facts.rises_on_isr_shrink))


def by_directory_that_is_not_registered(
    now: PartitionState, before: PartitionState, broker: int, facts: Circumstances
) -> Iterator[Explanation]:
    """The second decision on a partition when a broker says that its replica is in a directory that is not online.

    ReplicationControlManager.handleAssignReplicasToDirs: it leaves the ISR, which is decided before the directory is
    written, and written behind it.

    Args:
        now: The state once the directory is written.
        before: The state before that.
        broker: The broker.
        facts: What decides besides.
    """
    decided = settled(before, broker_left(before, broker, facts), facts.rises_on_isr_shrink)
    if decided != before:
        yield Explanation(TraceRule.directory_failed, merged(now, before, decided))


def by_broker_back(old: PartitionState, facts: Circumstances) -> Iterator[Explanation]:
    """The decision on a partition without a leader when a broker is unfenced."""
    if old.leader == NO_LEADER:
        new = isr_made(old, old.isr, facts)
        yield Explanation(TraceRule.broker_back, settled(old, new, facts.rises_on_isr_shrink))
