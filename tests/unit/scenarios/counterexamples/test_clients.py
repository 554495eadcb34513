"""Counterexamples of the models of clients as faults of a run: the same events, and what keeps a client from them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from engine.counterexample_steps import taken
from suite.second_python import first_on_each

from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.clients.models import model_of
from kreplica.engine.explorer.models.clients.trace import events_of
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.plans.file import plan_file_from_json, plan_file_to_json
from kreplica.engine.trace import Kind
from kreplica.report.moments import moments
from kreplica.report.space_time import space_time
from kreplica.scenarios import scenario_named
from kreplica.scenarios.counterexamples.clients.replays import HARMS, replay_of_clients, story
from kreplica.scenarios.counterexamples.clients.transactions import transaction_plan
from kreplica.scenarios.counterexamples.replays import replays_of
from kreplica.scenarios.playing import play_file

PLENTY = 1 << 30


def counterexamples(name: str, bounds: ClientBounds) -> tuple[Model, dict[str, list[Taken]]]:
    model = model_of(name, bounds)
    found = search(model, model.invariants, PLENTY)
    return model, {invariant: list(retraced(model, states)) for invariant, states in found.broken.items()}


BROKEN = {
    "retries": {"no-duplicate": ("m1",), "in-order": ("m1",)},
    "retries-one": {"no-duplicate": ("m1",)},
    "end-txn-1": {"ends-as-asked": ("transfer 2",), "not-half-visible": ("transfer 2",)},
    "commit-before": {"commit-behind": ("m1",), "nothing-skipped": ("m1",)},
    "commit-after": {"processed-once": ("m1",)},
    "commit-auto": {"processed-once": ("m1",)},
    "commit-handed-over": {"commit-behind": ("m1", "m2"), "nothing-skipped": ("m1",), "processed-once": ("m1",)},
}
"""By model and invariant, what the run comes to."""


@pytest.mark.parametrize("name", first_on_each(BROKEN))
@pytest.mark.parametrize(
    "bounds", [ClientBounds(2, 1), pytest.param(ClientBounds(3, 3), marks=pytest.mark.one_python)], ids=str
)
def test_a_run_goes_as_the_counterexample_does_and_comes_to_the_same(name: str, bounds: ClientBounds) -> None:
    model, found = counterexamples(name, bounds)
    assert set(found) == set(BROKEN[name])
    replays = replays_of(model, found)
    assert set(replays) == set(found), "each is played"
    for invariant, replay in replays.items():
        wanted = story(model, events_of(model.initial, found[invariant]))
        assert wanted
        assert story(model, replay.run.events)[: len(wanted)] == wanted
        assert HARMS[invariant](replay.run) == BROKEN[name][invariant]
        assert HARMS[invariant](replay.mended) == ()
        assert replay.run.missed == replay.mended.missed == ()
        read = plan_file_from_json(plan_file_to_json(replay.file), "")
        assert story(model, play_file(scenario_named(read.scenario), read).events) == story(model, replay.run.events)


LATE_BEFORE = (("send",), ("break",), ("arrive-late",), ("send-again", 0), ("arrive",))
"""The request of the broken connection arrives before what is sent again."""
HELD_UP = (
    ("send",),
    ("refuse",),
    ("send-again", 0),
    ("arrive",),
    ("send",),
    ("break",),
    ("send-again", 1),
    ("arrive",),
    ("arrive-late",),
)
"""One record is refused and sent again, the connection breaks with the next one under way."""


@pytest.mark.parametrize("choices", [LATE_BEFORE, HELD_UP], ids=["before", "refused, then late"])
def test_any_order_of_what_is_late_is_a_plan(choices: Sequence[tuple[str | int, ...]]) -> None:
    model = model_of("retries", ClientBounds(2, 2))
    steps = taken(model, choices)
    replay = replay_of_clients(model, "no-duplicate", steps)
    assert replay is not None
    wanted = story(model, events_of(model.initial, steps))
    assert story(model, replay.run.events)[: len(wanted)] == wanted
    assert sum(kind == Kind.APPENDED for kind, _, _ in wanted) > 1


BOTH = (("write",), ("end", 0), ("delay",), ("arrive",))
LATE_ENDS = {
    "before the second transaction": (*BOTH, ("arrive-late",), ("write",), ("write",), ("end", 1), ("arrive",)),
    "behind its first record": (*BOTH, ("write",), ("arrive-late",), ("write",), ("end", 1), ("arrive",)),
    "before what is sent again": (*BOTH[:3], ("arrive-late",), ("arrive",)),
}


@pytest.mark.parametrize("case", LATE_ENDS)
def test_a_late_end_goes_in_a_run_as_in_the_model(case: str) -> None:
    model = model_of("end-txn-1", ClientBounds(2, 1))
    steps = taken(model, LATE_ENDS[case])
    file = transaction_plan(model, steps)
    assert file is not None
    wanted = story(model, events_of(model.initial, steps))
    run = play_file(scenario_named(file.scenario), file)
    assert story(model, run.events)[: len(wanted)] == wanted


def test_what_is_done_before_a_crash_is_what_the_crash_waits_for() -> None:
    """Of two records the first is done and committed, the second done: only the second is done twice."""
    model = model_of("commit-after", ClientBounds(2, 1))
    done = (("poll",), ("process", 0), ("commit",), ("poll",), ("process", 1), ("crash",), ("poll",), ("process", 1))
    steps = taken(model, done)
    replay = replay_of_clients(model, "processed-once", steps)
    assert replay is not None
    assert HARMS["processed-once"](replay.run) == ("m2",)
    wanted = story(model, events_of(model.initial, steps))
    assert story(model, replay.run.events)[: len(wanted)] == wanted
    twice = (*done[:5], ("commit",), ("crash",), *done[:1])
    assert replay_of_clients(model, "processed-once", taken(model, twice[:7])) is None, "nothing is done twice"


def test_what_a_run_does_in_another_order_has_no_plan() -> None:
    """A producer sends again what it has to in an order of its own: of a broken connection the youngest first."""
    model = model_of("retries", ClientBounds(2, 1))
    way = (("send",), ("send",), ("break",), ("send-again", 0), ("arrive",), ("arrive-late",), ("arrive-late",))
    assert replay_of_clients(model, "no-duplicate", taken(model, way)) is None


def test_the_diagram_of_a_counterexample_has_the_lanes_of_its_run() -> None:
    model, found = counterexamples("retries", ClientBounds(2, 1))
    told = space_time(moments(events_of(model.initial, found["no-duplicate"])))
    assert told[0].split() == ["ms", "writer", "broker-1"]
    assert [line.partition(": ")[2] for line in told[1:] if "broker-1: " in line] == ["m1: LEO 1", "m1: LEO 2"]
