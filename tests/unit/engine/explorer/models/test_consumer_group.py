"""The consumer group protocol: the states of the published model as TLC counts them, mutants, and the engine's rule.

The published model is version 2 of KIP-848 in Vanlightly/kafka-tlaplus at 823615e (MIT), searched by TLC 2.15 with
one worker, deadlocks not checked, without the variable of the last message that was taken. Lengths of counterexamples
are TLC's, too, of the module with the same guard left out. TLC also finds EventuallyConverges to hold of two clients
and one topic without perturbation, and not of one client with one. Of two clients, one topic and one perturbation it
counts 518,117 states on 51 levels, and so does the search here, in a minute of processor time. Of two clients, two
topics and one perturbation it counts 4,589,665 states on 55 levels, and so does the search here, in 17 minutes.

TLC's dumped states were once compared with those of the search here: the 2,219 of two clients and one topic, and the
425 of one client, two topics and one perturbation, were the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.layout import OutOfRangeError
from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.coordinators.groups.models import model_of
from kreplica.engine.explorer.models.coordinators.groups.rules import reconciles_as_published
from kreplica.engine.explorer.models.coordinators.groups.state import (
    NOT_TOLD,
    SETTLED,
    GroupBounds,
    GroupMember,
    Heartbeat,
    heartbeat_of,
    member_of,
    number_of,
    send,
)
from kreplica.engine.explorer.models.coordinators.groups.trace import seen, told
from kreplica.engine.explorer.models.one_partition.state import log_end
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.groups.group_epochs import Member, MemberState, reconcile

PLENTY = 2**30
ONE_TOPIC = GroupBounds(clients=2, partitions=1, faults=0)

COUNTED = {
    GroupBounds(1, 1, 0): (17, 9),
    GroupBounds(1, 1, 1): (299, 19),
    GroupBounds(1, 2, 1): (425, 19),
    ONE_TOPIC: (2_219, 25),
    GroupBounds(2, 2, 0): (4_139, 25),
}


def searched(name: str, bounds: GroupBounds, goals: bool = False) -> Explored:
    """A search of a model for all that is asked of it."""
    model = model_of(name, bounds)
    return search(model, model.invariants, PLENTY, goals=model.goals if goals else ())


@pytest.mark.one_python
@pytest.mark.parametrize("bounds", COUNTED, ids=str)
def test_every_state_is_found_once(bounds: GroupBounds) -> None:
    found = searched("consumer-group", bounds, goals=True)
    assert (found.distinct, found.depth) == COUNTED[bounds]
    assert found.complete
    assert set(found.broken) == ({"converges"} if bounds.faults else set())


BREAKS = {
    "consumer-group-m1": {"owned-once": 9, "free-nobodys": 11},
    "consumer-group-m2": {"epoch-earned": 13, "owned-once": 17},
    "consumer-group-m3": {"stable-reconciled": 5},
}
"""States of the shortest counterexamples, the first one included."""


@pytest.mark.one_python
@pytest.mark.parametrize("name", BREAKS)
def test_a_mutant_breaks_its_invariants_in_the_fewest_steps(name: str) -> None:
    broken = searched(name, ONE_TOPIC).broken
    assert {invariant: len(way) for invariant, way in broken.items()} == BREAKS[name]


def test_a_step_is_the_engines_where_nothing_has_been_given_up_yet() -> None:
    """Every settled member of two partitions, each target, whatever others hold: the same partitions and epoch."""
    for assigned, target, others in product(range(4), repeat=3):
        held = assigned | others
        member = GroupMember(1, 0, 1, 1, 3, SETTLED, assigned, 0, 0, NOT_TOLD)
        published = reconciles_as_published(member, target, 2, [1 if held >> one & 1 else 0 for one in range(2)])
        engine = reconcile(Member(MemberState.STABLE, 1, assigned, 0), target, 2, assigned, held)
        told_of = (published.epoch, published.assigned, published.to_revoke)
        assert told_of == (engine.epoch, engine.assigned, engine.pending_revocation)
        assert (published.status == SETTLED) == (engine.state is MemberState.STABLE)


def way(steps: Sequence[tuple[str, tuple[int, ...]]]) -> list[Taken]:
    """Some actions of the model of one topic, from its first state on."""
    model = model_of("consumer-group", ONE_TOPIC)
    state, taken = model.initial, []
    for action, chosen in steps:
        found = (one for one in successors(model, state) if (one.action.name, one.chosen) == (action, chosen))
        taken.append(next(found))
        state = taken[-1].state
    return taken


def test_steps_are_told_and_shown_by_what_clients_own() -> None:
    taken = way([("heartbeat", (0, 1)), ("serve", (0, 0)), ("hear", (0,)), ("reconcile", (0,)), ("heartbeat", (1, 1))])
    before, sentences = model_of("consumer-group", ONE_TOPIC).initial, []
    for step in taken:
        sentences.append(told(before, step))
        before = step.state
    assert sentences == [
        "client 1 joins",
        "the coordinator answers client 1; target: partition 0 to 1 (member ids)",
        "client 1 hears: member epoch 1, partitions 0",
        "client 1 has taken and given up partitions",
        "client 2 joins",
    ]
    shown = seen(before)
    assert [log_end(shown, client) for client in range(2)] == [1, 0]
    assert (shown.true_isr, shown.epoch, shown.begun) == ([1], [1, 0], [2])


def test_members_and_heartbeats_are_numbers_and_too_many_are_told() -> None:
    member = GroupMember(3, 1, -1, 7, 3, 2, 1, 2, 0, NOT_TOLD)
    assert member_of(number_of(member)) == member
    state = model_of("consumer-group", ONE_TOPIC).initial
    for connection in range(6):
        heartbeat = Heartbeat(0, 0, connection, 0, 0, 1, NOT_TOLD)
        assert heartbeat_of(number_of(heartbeat)) == heartbeat
        send(state, heartbeat)
    with pytest.raises(OutOfRangeError, match="7 messages, and room for 6"):
        send(state, Heartbeat(0, 0, 6, 0, 0, 1, NOT_TOLD))
