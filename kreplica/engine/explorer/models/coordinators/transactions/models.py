"""The models of the transaction coordinator by their names, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

from kreplica.engine.explorer.model import Goal, Healing, Invariant, Model
from kreplica.engine.explorer.models.coordinators.transactions.actions import actions
from kreplica.engine.explorer.models.coordinators.transactions.rules import (
    PUBLISHED,
    PUBLISHED_IDS,
    VERSION_1,
    VERSION_2,
    CoordinatorRules,
    adds_for_anyone,
    gives_while_ending,
    gives_while_writing,
    gives_without_raising,
)
from kreplica.engine.explorer.models.coordinators.transactions.state import (
    BEGUN,
    NO_ID,
    CoordinatorBounds,
    CoordinatorState,
    committed,
    coordinates,
    initial,
    layout,
    message_of,
    tail,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import everybody
from kreplica.engine.rules.transactions.transaction_states import TransactionState

TABLES: dict[str, CoordinatorRules] = {
    "producer-ids": PUBLISHED_IDS,
    "coordinator": PUBLISHED,
    "coordinator-3.9": VERSION_1,
    "coordinator-4.1": VERSION_2,
    "coordinator-m1": replace(PUBLISHED, adds=adds_for_anyone),
    "coordinator-m2": replace(PUBLISHED, gives=gives_without_raising),
    "coordinator-m3": replace(PUBLISHED, gives=gives_while_writing),
    "coordinator-m4": replace(PUBLISHED, gives=gives_while_ending),
    "coordinator-m5": replace(PUBLISHED, raises_epoch=False),
    "coordinator-m6": replace(PUBLISHED, commits_replaced=True),
}
"""The rules of each model, by its name."""

MOST = CoordinatorBounds(clients=3, replicas=3, partitions=2, faults=2)
"""The largest bounds. These models are not compiled: plain Python has the states of two clients in seconds."""


def model_of(name: str, bounds: CoordinatorBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    taken = actions(bounds, TABLES[name])
    without_faults = tuple(action for action in taken if action.name != "elect")
    added = partial(partitions_added, every=everybody(bounds.partitions))
    goals = (
        Goal("ids-given", ids_given, "without further elections every producer has an id in the end"),
        Goal("partitions-added", added, "without further elections a producer has added its partitions in the end"),
    )
    return Model(
        name,
        layout(bounds),
        initial(bounds),
        taken,
        INVARIANTS,
        healing=Healing(without_faults, lambda _state: True, goals if TABLES[name].transacts else goals[:1]),
        compiles=False,
    )


def one_owner(state: CoordinatorState) -> bool:
    """True if no two clients were given the same epoch of a producer id."""
    owners = [each for each in zip(state.producer_id, state.epoch, strict=True) if each[0] != NO_ID]
    return len(owners) == len(set(owners))


def one_coordinator(state: CoordinatorState) -> bool:
    """True if no two brokers take themselves for the coordinator in the same epoch."""
    leading = [broker for broker in range(len(state.leader)) if coordinates(state, broker)]
    return all(
        state.coordinator_epoch[one] != state.coordinator_epoch[other] for one, other in combinations(leading, 2)
    )


def owner_adds(state: CoordinatorState) -> bool:
    """True if every transaction has partitions only from the producer whose id and epoch it has."""
    records = committed(state)
    for broker in range(len(state.leader)):
        records += tail(state, broker)
    for record in records:
        owner = (state.producer_id[record.client], state.epoch[record.client])
        if record.state == TransactionState.ONGOING and owner != (record.producer_id, record.epoch):
            return False
    return True


def valid_transitions(state: CoordinatorState) -> bool:
    """True if no coordinator has had to decide on a transition that may not follow its state."""
    return all(message_of(one).error != ErrorCode.UNKNOWN_SERVER_ERROR for one in state.message if one)


def ids_given(state: CoordinatorState) -> bool:
    """True if every client has a producer id."""
    return NO_ID not in state.producer_id


def partitions_added(state: CoordinatorState, every: int) -> bool:
    """True if a client that was not fenced has added each of some partitions to its transaction."""
    return any(doing == BEGUN and added == every for doing, added in zip(state.doing, state.added, strict=True))


INVARIANTS = (
    Invariant("one-owner", one_owner, "no two producers are given the same epoch of a producer id"),
    Invariant("one-coordinator", one_coordinator, "a coordinator epoch has one coordinator at most"),
    Invariant("owner-adds", owner_adds, "a transaction takes partitions only from the producer whose epoch it has"),
    Invariant("valid-transitions", valid_transitions, "no state of a transaction follows one that it may not follow"),
)
