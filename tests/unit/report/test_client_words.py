"""Words about a client name everything that its setup says."""

from __future__ import annotations

import pytest

from kreplica.engine.setup import (
    SECOND,
    Application,
    Client,
    Commit,
    ConsumerSetup,
    OnFailure,
    ProducerSetup,
    ReaderSetup,
    Send,
    Transaction,
    TransactionalSetup,
    TransformSetup,
)
from kreplica.report.clients import client_words
from kreplica.scenarios import MODULES, scenario_named

M1, M2 = Send(1 * SECOND, "m1", "t-0"), Send(2500, "m2", "t-1")

SAID: dict[str, Client] = {
    "sends nothing": ProducerSetup("p"),
    "sends 1 record to t-0 at 1000 ms": ProducerSetup("p", (M1,)),
    "sends 2 records to t-0, t-1 from 2.5 ms to 1000 ms, each once the one before is answered": ProducerSetup(
        "p", (M1, M2), sync=True
    ),
    "writes in transactions from 3000 ms on: 1 record to t-0 at 1000 ms, committed; 1 record to t-1 at 2.5 ms with the"
    " offsets of group g, aborted from 4000 ms on": TransactionalSetup(
        "x",
        (Transaction((M1,)), Transaction((M2,), 4 * SECOND, commit=False, group="g", offsets=(("t-0", 1),))),
        {},
        start=3 * SECOND,
    ),
    "writes one record to b-0 for each of a-0, up to 4 in a transaction with the position of group g": TransformSetup(
        "w", "a-0", "b-0", "g", {}, records=4
    ),
    "reads t-0, t-1 from 1000 ms on": ReaderSetup("r", ("t-0", "t-1"), 1 * SECOND),
    "subscribes to t, u from 1000 ms on until 2000 ms; sees t-1 from 3000 ms on": ConsumerSetup(
        "c", ("t", "u"), 1 * SECOND, 2 * SECOND, sees={"t-1": 3 * SECOND}
    ),
}

HABITS: dict[str, Application] = {
    "10 ms for each record": Application(processing=10_000),
    "5 ms more for m4": Application(stalls={"m4": 5_000}),
    "another thread processes while it polls on": Application(hand_off=True),
    "commits without waiting for the answer": Application(commit=Commit.ASYNC),
    "commits before it processes": Application(commit=Commit.BEFORE),
    "commits nothing itself": Application(commit=Commit.NEVER),
    "cannot process a, b: tries again every 1000 ms": Application(fails_on=("a", "b")),
    "cannot process a: skips it": Application(fails_on=("a",), on_failure=OnFailure.SKIP),
    "cannot process a: writes it to dead-0 and goes on": Application(
        fails_on=("a",), on_failure=OnFailure.DEAD_LETTER, dead_letters="dead-0"
    ),
    "cannot process a: goes on and reads it again after 7 ms": Application(
        fails_on=("a",), on_failure=OnFailure.SET_ASIDE, again_after=7_000
    ),
    "writes a result to o-0 for each record": Application(writes_to="o-0"),
    "writes a result to o-0 for each record, in one transaction with its offsets": Application(
        writes_to="o-0", transactional=True
    ),
    "keeps the offset with the result and refuses one that is not newer": Application(keeps_offsets=True),
    "seeks offset 4 of t-0 at 9 ms": Application(seeks=((9_000, "t-0", 4),)),
}


@pytest.mark.parametrize("said", SAID)
def test_every_kind_of_client(said: str) -> None:
    assert client_words(SAID[said]) == said


@pytest.mark.parametrize("said", HABITS)
def test_every_habit_of_an_application(said: str) -> None:
    assert client_words(ConsumerSetup("c", ("t",), application=HABITS[said])) == f"subscribes to t; {said}"


def test_no_scenario_has_a_client_without_words() -> None:
    for name in MODULES:
        for client in scenario_named(name).setup.clients:
            assert "Setup" not in client_words(client), (name, client.name)
