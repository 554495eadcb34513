"""Ways of the models of a consumer group to two members that have the same partition, as steps of the models.

``Played`` takes them with members that are ``plain/consumer.py``, and a coordinator that answers them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from plain.consumer import Answer, Client, Request

from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.coordinators.memberships.models import model_of
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    ANSWERED,
    FENCED,
    NONE,
    MembershipBounds,
    MembershipState,
    epoch_of,
    has,
    kind_of,
    partitions_of,
)
from kreplica.engine.rules.replication.replica_set import members

STALE = (
    "heartbeat:0 heartbeat:1 serve:0 hear:0 heartbeat:0 serve:1 hear:1 heartbeat:1 reconcile:1 take-over:1"
    " expire:0 serve:0 hear:0 heartbeat:0 serve:1 hear:1 heartbeat:1 reconcile:1 take-over:1"
    " serve:0 hear:0 heartbeat:0 serve:1 serve:0 hear:0 reconcile:0 take-over:0"
)
"""Client 2 has nothing, and says so in a heartbeat that is overtaken by its taking over both partitions."""

LATE = (
    "heartbeat:0 heartbeat:1 time-out:0 heartbeat:0 serve:0 hear:0 reconcile:0 take-over:0"
    " serve:1 hear:1 heartbeat:1 serve-late:0 serve:1 hear:1 reconcile:1 take-over:1"
)
"""Client 1 joins twice, as its first heartbeat is late; when that arrives it has both partitions."""

FAULTS = {STALE: (1, 0), LATE: (0, 1)}
"""The faults and the time-outs that each takes."""


def way(name: str, bounds: MembershipBounds, steps: str) -> list[Taken]:
    """Some actions of a model, from its first state on: names with the client."""
    model = model_of(name, bounds)
    state, taken = model.initial, list[Taken]()
    for step in steps.split():
        action, client = step.rsplit(":", 1)
        found = [one for one in successors(model, state) if (one.action.name, one.chosen[0]) == (action, int(client))]
        taken.append(found[-1])
        state = taken[-1].state
    return taken


class Played(ABC):
    """A group whose coordinator is asked what the members of a way say."""

    def __init__(self) -> None:
        self.clients = {0: Client(), 1: Client()}
        self._late: dict[int, Request] = {}

    @abstractmethod
    def heartbeat(self, client: int, said: Request) -> Answer:
        """Sends a heartbeat."""

    @abstractmethod
    def let_go(self, client: int) -> None:
        """Ends a membership that the client takes for its own."""

    def play(self, model: str, steps: str) -> list[Taken]:
        """Takes a way, and asserts after each step that both members are where the model has them."""
        taken = way(model, MembershipBounds(2, 2, *FAULTS[steps]), steps)
        for step in taken:
            place = step.chosen[0]
            self.clients[place] = self._after(step.action.name, place, self.clients[place])
            for each, client in self.clients.items():
                _is_as_in(client, step.state, each)
        return taken

    def _after(self, action: str, place: int, client: Client) -> Client:
        if action == "serve":
            assert client.request is not None
            return replace(client, request=None, answer=self.heartbeat(place, client.request))
        if action == "serve-late":
            self.heartbeat(place, self._late.pop(place))
            return client
        if action == "expire":
            self.let_go(place)
            return client
        if action == "time-out":
            assert client.request is not None
            self._late[place] = client.request
            return client.timed_out()
        if action == "hear":
            assert client.answer is not None
            return client.heard(client.answer)
        after = {"heartbeat": client.heartbeat, "reconcile": client.begun, "take-over": client.taken_over}[action]()
        assert after is not None
        return after


def _is_as_in(client: Client, state: MembershipState, place: int) -> None:
    asked = state.request[place]
    request = (epoch_of(asked), _partitions(partitions_of(asked)), kind_of(asked) == 1) if asked else None
    assert client.request == request
    assert client.answer == (_answer(state.answer[place]) if state.answer[place] else None)
    assert (client.epoch, client.current[1]) == (state.epoch[place], frozenset(members(has(state, place))))


def _partitions(number: int) -> frozenset[int] | None:
    return None if number == NONE else frozenset(members(number))


def _answer(number: int) -> Answer:
    kinds = {ANSWERED: "", FENCED: "FENCED_MEMBER_EPOCH"}
    error = kinds.get(kind_of(number), "UNKNOWN_MEMBER_ID")
    return error, epoch_of(number), _partitions(partitions_of(number))
