"""Losses of power that the models of settings find, played as faults: the run decides and loses as the model does."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kreplica.engine.explorer.model import Model, Taken, successors
from kreplica.engine.explorer.settings.models import VERSIONS, model_of
from kreplica.engine.explorer.settings.state import SettingsBounds
from kreplica.engine.explorer.settings.trace import events_of
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.trace import Event, Kind
from kreplica.report.log_strips import log_strips
from kreplica.scenarios.counterexamples import replay_of_power, replays_of

WITHOUT_ELR, WITH_ELR, MENDED = VERSIONS
BOUNDS = SettingsBounds(3, 1, ACKS_ALL, 2, False, 1, 0, 0, 1, 0, 0, 1)
TOLD = (("write", 0), ("fetch", 1), ("fetch", 1), ("fetch", 2), ("fetch", 2))
"""A record that both followers have, and the leader knows it."""
ALL_EXPIRE = (("expire", 0), ("expire", 1), ("expire", 2))
LAST_MEMBER = (*TOLD, ("all-lose-power", 0), *ALL_EXPIRE, ("start", 2), ("unfence", 2), ("hear", 2))
"""No disk has the record; the last member of the ISR comes back."""
LAST_LEADER = (*TOLD, ("all-lose-power", 0), *ALL_EXPIRE, ("start", 1), ("start", 2), ("unfence", 2), ("hear", 2))
"""The same with an ELR, which both who return leave: the last leader leads."""
TWO_DISKS = (*TOLD, ("all-lose-power", 0b011), *ALL_EXPIRE, ("start", 2), ("unfence", 2), ("hear", 2))
"""Brokers 1 and 2 have it on their disks; broker 3 leads without it."""
KILLED_BEFORE = (
    *(*TOLD, ("crash", 2), ("all-lose-power", 0), ("expire", 2), ("expire", 0), ("expire", 1)),
    *(("start", 1), ("unfence", 1), ("hear", 1)),
)
"""Broker 3 is killed first, and is fenced first; its page cache goes with those of the others."""


def taken(model: Model, choices: Iterable[tuple[str, int]]) -> list[Taken]:
    state, steps = model.initial, list[Taken]()
    for name, choice in choices:
        steps.append(
            next(one for one in successors(model, state) if (one.action.name, one.chosen[0]) == (name, choice))
        )
        state = steps[-1].state
    assert not model.invariants[0].holds(state)
    return steps


def decisions(events: Iterable[Event]) -> list[tuple[object, ...]]:
    """Who failed and came back, what the controller decided, and who led then."""
    found = list[tuple[object, ...]]()
    for event in events:
        if event.kind == Kind.PARTITION_CHANGED:
            found.append(("decided", *event.values[1:5]))
        elif event.kind in (Kind.CRASHED, Kind.STARTED) and event.node.startswith("broker"):
            found.append((event.kind, event.node))
        elif event.kind == Kind.BECAME_LEADER:
            found.append((event.kind, event.node, *event.values[1:]))
    return found


def logs(events: Iterable[Event]) -> dict[str, list[tuple[str, ...]]]:
    return {strip.node: [piece.values for piece in strip.pieces] for strip in log_strips(events) if strip.running}


@pytest.mark.parametrize(
    ("name", "choices"),
    [(WITHOUT_ELR, LAST_MEMBER), (WITH_ELR, LAST_LEADER), (WITHOUT_ELR, TWO_DISKS), (WITHOUT_ELR, KILLED_BEFORE)],
    ids=["last member", "last leader", "two disks", "killed before"],
)
def test_a_run_has_the_decisions_and_the_logs_of_the_model(name: str, choices: tuple[tuple[str, int], ...]) -> None:
    model = model_of(name, BOUNDS._replace(faults=2, stops=1))
    steps = taken(model, choices)
    found = replay_of_power(model, steps)
    assert found is not None
    assert found.run.missed == ()
    assert found.run.outcome.histories.lost == ("m1",)
    assert found.mended.outcome.is_safe
    model_events = events_of(model.initial, steps)
    wanted = decisions(model_events)
    led = [event for event in decisions(found.run.events) if event != ("became-leader", "broker-1", 0, (1, 2, 3), 0)]
    begins = next(place for place, event in enumerate(led) if event == wanted[0])
    assert led[begins : begins + len(wanted)] == wanted
    last = max(event.time for event in found.run.events if event.kind == Kind.BECAME_LEADER)
    assert logs(event for event in found.run.events if event.time <= last) == logs(model_events)


def test_what_has_no_run_has_no_plan() -> None:
    """The mended model is like no release; where everything is flushed, power is not what loses."""
    steps = taken(model_of(WITHOUT_ELR, BOUNDS), LAST_MEMBER)
    mended = model_of(MENDED, BOUNDS)
    assert replay_of_power(mended, taken(mended, LAST_LEADER)) is None
    flushing = model_of(WITHOUT_ELR, BOUNDS._replace(flush_messages=1))
    assert replay_of_power(flushing, steps) is None
    other = model_of(WITHOUT_ELR, BOUNDS._replace(first_leader=2))
    assert replays_of(other, {"acknowledged-kept": steps}) == {}
