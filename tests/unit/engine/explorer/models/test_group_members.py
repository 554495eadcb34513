"""Consumer groups by the engine's rules with Kafka's client: states, mutants, and what stale heartbeats do.

The states are held against an enumeration of its own. Its client is ``plain/consumer.py``, in which local epochs of
assignments are numbers where the model has flags; its coordinator is CurrentAssignmentBuilder as ``plain/groups.py``
restates it. The steps of counterexamples are derived by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from engine.overtaken_heartbeats import FAULTS, STALE, way
from plain.consumer import Client
from plain.groups import PlainMember, current_assignment

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.models.coordinators.memberships.models import TABLES, is_member, model_of
from kreplica.engine.explorer.models.coordinators.memberships.rules import KAFKA_4_2, assignments
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    MembershipBounds,
    MembershipState,
    epoch_of,
    has,
    kind_of,
    message,
    partitions_of,
)
from kreplica.engine.explorer.models.coordinators.memberships.trace import seen, told
from kreplica.engine.explorer.models.one_partition.state import log_end
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.groups.assignors import uniform_assignor

PLENTY = 2**30
TWO = MembershipBounds(clients=2, partitions=2, faults=0, time_outs=0)
ONE_PARTITION = TWO._replace(partitions=1)
KAFKA = ["consumer-group-4.1", "consumer-group-4.2", "consumer-group-4.3"]


def explored(name: str, bounds: MembershipBounds, goals: bool = True) -> Explored:
    model = model_of(name, bounds)
    return search(model, model.invariants, PLENTY, goals=model.goals if goals else ())


# -- an enumeration of its own


@dataclass(frozen=True)
class Group:
    """ConsumerGroup: members by client, target assignment, epochs; expirations that are left."""

    clients: tuple[Client, ...]
    members: tuple[PlainMember | None, ...]
    previous: tuple[int, ...]
    target: tuple[int | None, ...]
    epoch: int = 0
    assignment_epoch: int = 0
    expirations: int = 0

    def with_client(self, place: int, client: Client) -> Group:
        return replace(self, clients=(*self.clients[:place], client, *self.clients[place + 1 :]))

    def with_member(self, place: int, member: PlainMember | None, previous: int) -> Group:
        members = (*self.members[:place], member, *self.members[place + 1 :])
        return replace(self, members=members, previous=(*self.previous[:place], previous, *self.previous[place + 1 :]))


def evenly(group: Group) -> tuple[int | None, ...]:
    """The target assignment of all who are there, by the assignor that is held against Kafka's own elsewhere."""
    there = [place for place, member in enumerate(group.members) if member is not None]
    had = {str(place): [("t", one) for one, owner in enumerate(group.target) if owner == place] for place in there}
    found = uniform_assignor(had, {"t": len(group.target)})
    owners = {partition: int(name) for name, has in found.items() for _, partition in has}
    return tuple(owners.get(partition) for partition in range(len(group.target)))


def served(group: Group, place: int) -> Group:
    """GroupMetadataManager.consumerGroupHeartbeat of 4.2, of a group whose members all subscribe to the same."""
    client = group.clients[place]
    assert client.request is not None
    epoch, owned, full = client.request
    client, member = replace(client, request=None), group.members[place]
    if member is None and epoch > 0:
        return group.with_client(place, replace(client, answer=("UNKNOWN_MEMBER_ID", 0, None)))
    if member is None:
        group = replace(group.with_member(place, PlainMember("Stable", 0, frozenset()), 0), epoch=group.epoch + 1)
        member = group.members[place]
    assert member is not None
    older = owned is not None and epoch == group.previous[place] and owned <= member.assigned
    if epoch > member.epoch or (0 < epoch < member.epoch and not older):
        return group.with_client(place, replace(client, answer=("FENCED_MEMBER_EPOCH", 0, None)))
    if group.epoch > group.assignment_epoch:
        group = replace(group, target=evenly(group), assignment_epoch=group.epoch)
    target = {one for one, owner in enumerate(group.target) if owner == place}
    held = {one for each in group.members if each for one in each.assigned | each.pending_revocation}
    names = None if owned is None else sorted(owned)
    after = current_assignment(member, target, group.assignment_epoch, names, held)
    previous = group.previous[place] if after is member else member.epoch
    named = after.assigned if epoch == 0 or full or after.assigned != member.assigned else None
    answered = replace(client, answer=("", after.epoch, named))
    return group.with_member(place, after, previous).with_client(place, answered)


def following(group: Group) -> Iterator[Group]:
    """Every group that can come next."""
    for place, client in enumerate(group.clients):
        if client.request is None and client.answer is None:
            yield group.with_client(place, client.heartbeat())
        if client.request is not None:
            yield served(group, place)
        if client.answer is not None:
            yield group.with_client(place, client.heard(client.answer))
        for after in (client.begun(), client.taken_over()):
            if after is not None:
                yield group.with_client(place, after)
        if group.expirations > 0 and group.members[place] is not None:
            target = tuple(None if owner == place else owner for owner in group.target)
            gone = replace(group, target=target, epoch=group.epoch + 1, expirations=group.expirations - 1)
            yield gone.with_member(place, None, 0)


def without_local_epochs(group: Group) -> object:
    """What the model tells apart."""
    clients = tuple(
        (
            (client.status, client.epoch, client.current[1] if client.current[0] >= 0 else None),
            (client.target[1] if client.target[0] >= 0 else None, client.current == client.target),
            (client.step and client.step[1], client.step == client.target),
            (client.sent == client.current, client.reset, client.request, client.answer),
        )
        for client in group.clients
    )
    return replace(group, clients=()), clients


@pytest.mark.one_python
@pytest.mark.parametrize(("partitions", "expirations"), [(1, 0), (2, 0), (1, 1)])
def test_an_enumeration_of_its_own_finds_as_many_states(partitions: int, expirations: int) -> None:
    groups = [Group((Client(),) * 2, (None,) * 2, (0, 0), (None,) * partitions, expirations=expirations)]
    known = set(groups)
    for group in groups:
        new = [one for one in following(group) if one not in known]
        groups += dict.fromkeys(new)
        known.update(new)
    model = model_of("consumer-group-4.2", MembershipBounds(2, partitions, expirations, 0))
    model = replace(model, actions=tuple(one for one in model.actions if one.name not in {"leave", "crash"}))
    found = search(model, model.invariants[:1], PLENTY, goals=model.goals)
    assert found.distinct == len({without_local_epochs(group) for group in groups})
    assert (found.complete, dict(found.broken)) == (True, {})


# -- what holds


@pytest.mark.one_python
@pytest.mark.parametrize("name", [*KAFKA, "consumer-group-4.3-mended"])
def test_without_faults_everything_holds(name: str) -> None:
    found = explored(name, TWO)
    assert (found.complete, dict(found.broken)) == (True, {})


HEARS_AND_TAKES = ["hear", "reconcile", "take-over"]
JOINS = ["heartbeat", "serve"]

BREAKS = {
    # both join, and client 2 is given what client 1 has; both take it
    ("m1", TWO, "given-once"): [*JOINS, *JOINS],
    ("m1", TWO, "owned-once"): [*JOINS, *JOINS, *HEARS_AND_TAKES, *HEARS_AND_TAKES],
    # client 1 has both, sends a heartbeat; client 2 joins; the heartbeat counts as one that gives up partition 1
    ("m2", TWO, "released-first"): [*JOINS, *HEARS_AND_TAKES, "heartbeat", *JOINS, "serve"],
    # client 1 names what it is to have while it still takes over what it was to have before
    ("m3", TWO, "released-first"): [
        *(*JOINS, "hear", "heartbeat", "reconcile"),
        *(*JOINS, "serve", "hear", "heartbeat", "serve", "take-over"),
    ],
    # a heartbeat from before client 1 took both partitions says that it has none
    ("m4", TWO, "released-first"): [*JOINS, "hear", "heartbeat", "reconcile", "take-over", *JOINS, "serve"],
    # client 1 is to give up partition 1, in the epoch of the target
    ("m5", TWO, "epoch-earned"): [*JOINS, "hear", "heartbeat", *JOINS, "serve"],
    # client 1 is not known any more, keeps its partition and joins again; client 2 has it by then
    ("m6", ONE_PARTITION._replace(faults=1), "released-first"): [
        *(*JOINS, *HEARS_AND_TAKES, "expire", "heartbeat", "serve", "hear"),
        *(*JOINS, *JOINS, "hear"),
    ],
    # client 1 joins twice; as its first heartbeat arrives late, it is to have one of the partitions that it was told to
    # have, and nobody minds the epoch in which it goes on for ever
    ("m7", TWO._replace(time_outs=1), "group-settles"): [
        *("heartbeat", "heartbeat", "time-out"),
        *(*JOINS, "serve", "serve-late"),
    ],
    # client 1 has the partition and crashes: its session ends, nothing assigns the partition anew
    ("m8", ONE_PARTITION._replace(faults=1), "group-settles"): [*JOINS, *JOINS, "crash"],
}
"""A shortest way to a breach, for each guard that is left out."""


@pytest.mark.one_python
@pytest.mark.parametrize(("mutant", "bounds", "broken"), BREAKS, ids=str)
def test_a_mutant_breaks_its_promise_in_the_fewest_steps(mutant: str, bounds: MembershipBounds, broken: str) -> None:
    found = explored(f"consumer-group-4.2-{mutant}", bounds)
    assert len(found.broken[broken]) - 1 == len(BREAKS[mutant, bounds, broken])


# -- what stale heartbeats do


@pytest.mark.parametrize("name", KAFKA)
@pytest.mark.parametrize("steps", FAULTS)
def test_a_heartbeat_that_is_overtaken_frees_what_its_sender_has(name: str, steps: str) -> None:
    taken = way(name, MembershipBounds(2, 2, *FAULTS[steps]), steps)
    last: MembershipState = taken[-1].state
    assert all(is_member(last, client) for client in range(2))
    assert has(last, 0) & has(last, 1) != 0


@pytest.mark.slow
def test_the_compiled_search_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fewest steps to a breach by one session that ends are those above."""
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    model = model_of("consumer-group-4.2", TWO._replace(faults=1))
    plain = search(model, model.invariants, PLENTY)
    assert len(plain.broken["owned-once"]) - 1 == len(STALE.split())
    assert set(plain.broken) == {"owned-once", "released-first", "epoch-earned"}
    compiled = compiled_search.search(model, model.invariants, PLENTY)
    assert (compiled.distinct, compiled.depth, compiled.complete) == (plain.distinct, plain.depth, plain.complete)
    assert compiled.broken == plain.broken


# -- for people


def test_steps_are_told_and_shown_by_what_clients_have() -> None:
    model = model_of("consumer-group-4.2", TWO._replace(faults=1))
    before, sentences = model.initial, list[str]()
    for step in way(model.name, TWO._replace(faults=1), STALE)[:13]:
        sentences.append(told(before, step))
        before = step.state
    assert sentences[:4] == [
        "client 1 joins, has no partitions",
        "client 2 joins, has no partitions",
        "the coordinator answers client 1; target: partition 0 to 1, 1 to 1",
        "client 1 hears: member epoch 1, partitions 0,1",
    ]
    assert sentences[8:10] == [
        "client 2 begins to take over its assignment: no partitions",
        "client 2 has taken over its assignment: no partitions",
    ]
    assert sentences[10:] == [
        "the session of client 1 is over although it runs",
        "the coordinator answers client 1",
        "client 1 hears: UNKNOWN_MEMBER_ID",
    ]
    shown = seen(way(model.name, TWO._replace(faults=1), STALE)[18].state)
    assert [log_end(shown, client) for client in range(2)] == [0, 2]
    assert shown.epoch == [0, 3]


def test_a_message_is_a_number_and_back() -> None:
    for kind, epoch, partitions in ((0, 0, -1), (1, 30, 7), (2, 3, 0)):
        number = message(kind, epoch, partitions)
        assert (kind_of(number), epoch_of(number), partitions_of(number)) == (kind, epoch, partitions)
        assert number > 0


def test_the_target_is_the_engines_of_whoever_is_there() -> None:
    """Of two clients, of which client 1 has both partitions: one each if both are there, all if one is."""
    table = assignments(TWO, KAFKA_4_2.version)
    digits = 3**2
    assert [table[known * digits + 4] for known in (1, 2, 3)] == [4, 8, 1 + 2 * 3]
    assert table[0] == 0
    assert set(TABLES) >= set(KAFKA)
