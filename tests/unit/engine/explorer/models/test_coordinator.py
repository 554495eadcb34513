"""The transaction coordinator: the states of the published models as TLC counts them, mutants, the engine's own rules.

The published models are the first two of the transaction diary in Vanlightly/kafka-tlaplus at 823615e (MIT), searched
by TLC 2.15 with one worker, deadlocks not checked, the view on. Lengths of counterexamples are TLC's, too, of the
second module with the same guard left out; owner-adds was written for that, as the module has no such invariant.

TLC also finds both liveness properties to hold of one producer, two brokers and one election, and of two producers
without one, and not with three brokers. With the default bounds its dumped states were once compared with those of the
search here: 3,517 on each side, the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.coordinators.transactions.models import model_of
from kreplica.engine.explorer.models.coordinators.transactions.state import (
    CoordinatorBounds,
    CoordinatorState,
    Message,
    Record,
    message_of,
    number_of,
    record_of,
)
from kreplica.engine.explorer.models.coordinators.transactions.trace import seen, told
from kreplica.engine.explorer.models.one_partition.state import log_end
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.replication.error_codes import ErrorCode

PLENTY = 2**30
BOUNDS = CoordinatorBounds(clients=2, replicas=2, partitions=1, faults=1)

COUNTED = {
    ("producer-ids", BOUNDS._replace(clients=1, faults=0)): (14, 8),
    ("producer-ids", BOUNDS._replace(faults=0)): (316, 15),
    ("coordinator", BOUNDS._replace(clients=1)): (60, 14),
    ("coordinator", BOUNDS._replace(faults=0)): (324, 22),
    ("coordinator", BOUNDS): (3_517, 27),
    ("coordinator", BOUNDS._replace(replicas=3)): (3_414, 25),
}


def searched(name: str, bounds: CoordinatorBounds = BOUNDS, goals: bool = False) -> Explored:
    """A search of a model for all that is asked of it."""
    model = model_of(name, bounds)
    return search(model, model.invariants, PLENTY, goals=model.goals if goals else ())


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_every_state_is_found_once(case: tuple[str, CoordinatorBounds]) -> None:
    found = searched(*case)
    assert (found.distinct, found.depth) == COUNTED[case]
    assert found.complete
    assert not found.broken


BREAKS = {
    "coordinator-m1": ("owner-adds", 10),
    "coordinator-m2": ("one-owner", 9),
    "coordinator-m3": ("one-owner", 9),
    "coordinator-m4": ("valid-transitions", 15),
    "coordinator-m5": ("one-coordinator", 2),
    "coordinator-m6": ("one-owner", 10),
}
"""States of the shortest counterexample, the first one included."""


@pytest.mark.one_python
@pytest.mark.parametrize("name", BREAKS)
def test_a_mutant_breaks_its_invariant_in_the_fewest_steps(name: str) -> None:
    broken = searched(name).broken
    assert {invariant: len(way) for invariant, way in broken.items()} == dict([BREAKS[name]])


@pytest.mark.one_python
@pytest.mark.parametrize("name", ["producer-ids", "coordinator", "coordinator-3.9", "coordinator-4.1"])
def test_ids_are_given_and_partitions_added_in_the_end(name: str) -> None:
    assert not searched(name, BOUNDS._replace(faults=name != "producer-ids"), goals=True).broken


@pytest.mark.parametrize(
    ("name", "stuck"), [("coordinator", {"ids-given", "partitions-added"}), ("coordinator-4.1", set())]
)
def test_a_third_broker_has_to_hear_of_the_new_coordinator(name: str, stuck: set[str]) -> None:
    """The published model commits once all brokers know the epoch, and tells it to the old coordinator alone."""
    assert set(searched(name, CoordinatorBounds(1, 3, 1, 1), goals=True).broken) == stuck


def way(name: str, steps: Sequence[tuple[str, tuple[int, ...]]]) -> list[Taken]:
    """Some actions of a model, from its first state on."""
    model = model_of(name, BOUNDS)
    state, taken = model.initial, []
    for action, chosen in steps:
        found = (one for one in successors(model, state) if (one.action.name, one.chosen) == (action, chosen))
        taken.append(next(found))
        state = taken[-1].state
    return taken


OPENS = [
    *(("ask", (0, 0)), ("take-ask", (0,)), ("commit", (0,)), ("hear", (0,))),
    *(("add", (0, 0)), ("take-add", (0,)), ("commit", (0,))),
]
"""The first client gets an id and opens a transaction."""


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("coordinator", ErrorCode.CONCURRENT_TRANSACTIONS),
        ("coordinator-3.9", ErrorCode.PRODUCER_FENCED),
        ("coordinator-4.1", ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_a_producer_is_fenced_before_or_once_that_is_written(name: str, error: ErrorCode) -> None:
    """Up to 3.9 the raised epoch counts at once (TransactionMetadata.prepareFenceProducerEpoch); see KAFKA-18660."""
    model = model_of(name, BOUNDS._replace(partitions=2))
    steps = [
        *OPENS,
        *(("hear-added", (0,)), ("ask", (1, 0)), ("take-ask", (1,)), ("add", (0, 1)), ("take-add", (0,))),
    ]
    state: CoordinatorState = model.initial
    for action, chosen in steps:
        state = next(one.state for one in successors(model, state) if (one.action.name, one.chosen) == (action, chosen))
    assert message_of(state.message[0]).error == error


def test_a_new_coordinator_knows_what_is_in_the_log() -> None:
    """The published one also knows the id that its predecessor has not written yet; Kafka's gives another."""
    steps = [("ask", (0, 0)), ("take-ask", (0,)), ("elect", (1,)), ("follow", (0,)), ("hear", (0,)), ("ask", (0, 1))]
    for name, producer_id in (("coordinator", 1), ("coordinator-3.9", 2), ("coordinator-4.1", 2)):
        last = way(name, [*steps, ("take-ask", (0,))])[-1].state
        assert last.known_id == [0, producer_id]


def test_steps_are_told_and_shown_with_the_log() -> None:
    taken = way("coordinator", [*OPENS, ("elect", (1,)), ("follow", (0,))])
    model = model_of("coordinator", BOUNDS)
    before, sentences = model.initial, []
    for step in taken:
        sentences.append(told(before, step))
        before = step.state
    assert sentences[1:4] == [
        "broker 1 takes the request of client 1: writes empty 1/0",
        "broker 1 has empty 1/0 committed",
        "client 1 hears: producer id 1, epoch 0",
    ]
    shown = seen(before)
    assert [log_end(shown, broker) for broker in range(2)] == [2, 2]
    assert (shown.true_leader, shown.leader, shown.begun) == ([1], [1, 1], [2])


def test_records_and_messages_are_numbers() -> None:
    for record in (Record(0, -1, -1, 1, -1, 0), Record(7, 2, 1, 3, 5, 3)):
        assert record_of(number_of(record)) == record
    for message in (Message(1, 0), Message(4, 2, ErrorCode.UNKNOWN_SERVER_ERROR, 1, 2, 3)):
        assert message_of(number_of(message)) == message
