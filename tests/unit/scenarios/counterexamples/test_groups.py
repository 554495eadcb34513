"""Counterexamples of consumer groups as faults of a run: the same changes of the group, the same partition twice."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from engine.overtaken_heartbeats import FAULTS, LATE, STALE, way
from plain.consumer import Client
from suite.second_python import first_on_each

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.coordinators.memberships.models import model_of, owned_once, released_first
from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds
from kreplica.engine.explorer.models.coordinators.memberships.trace import HEARTBEAT, events_of
from kreplica.engine.plans.file import plan_file_from_json, plan_file_to_json
from kreplica.engine.trace import Kind, fields_of
from kreplica.report.moments import moments
from kreplica.scenarios.counterexamples.groups import BROKEN, story
from kreplica.scenarios.counterexamples.replay import Replay
from kreplica.scenarios.counterexamples.replays import replays_of
from kreplica.scenarios.library.consumers.late_heartbeat import SCENARIO
from kreplica.scenarios.playing import play_file

ROOT = Path(__file__).resolve().parents[4]
KAFKA = ("consumer-group-4.1", "consumer-group-4.2", "consumer-group-4.3")
OTHER = LATE.translate(str.maketrans("01", "10"))
"""The same with the clients exchanged."""
ENDED = STALE.translate(str.maketrans("01", "10"))
FREE = f"{STALE[: STALE.index(' hear:0 heartbeat:0 serve:1 serve:0')]} serve:1"
"""The first session ends, and a partition counts as free: the second client has said that it has none."""


def steps_of(name: str, steps: str = LATE) -> list[Taken]:
    return way(name, MembershipBounds(2, 2, *FAULTS[STALE if "expire" in steps else LATE]), steps)


def played(name: str, steps: list[Taken], invariant: str = "owned-once") -> Replay | None:
    model = model_of(name, MembershipBounds(2, 2, 1, 1))
    return replays_of(model, {invariant: steps}).get(invariant)


@pytest.mark.parametrize("name", first_on_each(KAFKA, first=1))
def test_a_run_goes_as_the_counterexample_does_and_a_partition_is_owned_twice(name: str) -> None:
    steps = steps_of(name)
    assert not owned_once(steps[-1].state)  # type: ignore[arg-type]
    replay = played(name, steps)
    assert replay is not None
    wanted = story(events_of(model_of(name, MembershipBounds(2, 2, 0, 1)).initial, steps))  # type: ignore[arg-type]
    first, second = (moment for moment in wanted if moment[0] == Kind.ASSIGNED)
    assert (first[1], first[2][2]) == ("consumer-a", ("orders-0", "orders-1"))
    assert (second[1], second[2][2]) == ("consumer-b", ("orders-1",))
    assert story(replay.run.events)[: len(wanted)] == wanted
    assert owned_twice(replay.run.events) == ("orders-1",)
    assert owned_twice(replay.mended.events) == ()
    assert replay.run.missed == replay.mended.missed == ()
    assert replay.run.version.name == name.removeprefix("consumer-group-")
    read = plan_file_from_json(plan_file_to_json(replay.file), "")
    assert play_file(SCENARIO, read).outcome.trace_hash == replay.run.outcome.trace_hash


@pytest.mark.parametrize("name", first_on_each(KAFKA, first=2))
def test_a_session_that_ends_goes_as_its_counterexample_does(name: str) -> None:
    steps = steps_of(name, STALE)
    assert not owned_once(steps[-1].state)  # type: ignore[arg-type]
    replay = played(name, steps)
    assert replay is not None
    wanted = story(events_of(model_of(name, MembershipBounds(2, 2, 1, 0)).initial, steps))  # type: ignore[arg-type]
    assert [(moment[1], moment[2][2]) for moment in wanted if moment[0] == Kind.ASSIGNED] == [
        ("consumer-b", ("orders-0", "orders-1")),
        ("consumer-a", ("orders-1",)),
    ]
    assert story(replay.run.events)[: len(wanted)] == wanted
    assert owned_twice(replay.run.events) == ("orders-1",)
    assert owned_twice(replay.mended.events) == ()
    assert replay.run.missed == replay.mended.missed == ()


def test_the_second_consumer_says_what_kafkas_would_say() -> None:
    """Its heartbeats are those of a consumer that is written after Kafka's sources and told the same."""
    name = "consumer-group-4.3"
    replay = played(name, steps_of(name, STALE))
    assert replay is not None
    both = frozenset((0, 1))
    wanted, client = list[object](), Client()
    for answer, polls in ((("", 3, frozenset[int]()), False), (("", 4, both), True)):
        client = client.heartbeat()
        wanted.append(client.request and client.request[1])
        if polls:  # while the second heartbeat is under way
            begun = client.begun()
            taken = begun and begun.taken_over()
            assert taken is not None
            client = taken
        client = client.heard(answer)
    overtaken = client.heartbeat().request
    assert overtaken is not None
    wanted.append(overtaken[1])
    assert wanted == [frozenset(), None, frozenset()]
    said = [fields_of(event) for event in replay.run.events if event.kind == Kind.MESSAGE and event.node == "broker-3"]
    sent = [one["detail"][-1] for one in said if (one["source"], one["name"]) == ("consumer-b", HEARTBEAT)]
    assert [None if named is None else frozenset(named) for named in sent[:3]] == wanted


def test_a_partition_that_counts_as_free_is_played_as_the_one_that_is_owned_twice() -> None:
    steps = steps_of("consumer-group-4.3")
    free = next(place for place, step in enumerate(steps, 1) if not released_first(step.state))  # type: ignore[arg-type]
    assert steps[free - 1].action.name == "serve-late"
    sooner, later = played("consumer-group-4.3", steps[:free], "released-first"), played("consumer-group-4.3", steps)
    assert sooner is not None
    assert later is not None
    assert sooner.file == later.file


def test_an_ended_session_is_played_for_the_partition_that_counts_as_free_too() -> None:
    name = "consumer-group-4.3"
    steps = steps_of(name, FREE)
    assert not released_first(steps[-1].state)  # type: ignore[arg-type]
    sooner, later = played(name, steps, "released-first"), played(name, steps_of(name, STALE))
    assert sooner is not None
    assert later is not None
    assert sooner.file == later.file


def test_the_diagram_has_both_heartbeats_and_what_they_change() -> None:
    name = "consumer-group-4.3"
    steps = steps_of(name)
    found = moments(events_of(model_of(name, MembershipBounds(2, 2, 0, 1)).initial, steps))  # type: ignore[arg-type]
    senders = [moment.message.values[0] for moment in found if moment.message is not None]
    assert senders == ["consumer-a", "consumer-b", "consumer-a", "consumer-b"]
    assert [moment.node for moment in found if moment.message is None] == ["consumer-a", "consumer-b"]


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("consumer-group-4.3-mended", LATE),
        ("consumer-group-4.2-m8", LATE),
        ("consumer-group-4.3", OTHER),
        ("consumer-group-4.2-m8", STALE),
        ("consumer-group-4.3", ENDED),
    ],
    ids=["no release has the mending", "a mutant", "the second client is late", "a mutant's session", "another ends"],
)
def test_what_no_plan_can_have_is_not_played(name: str, steps: str) -> None:
    assert played(name, steps_of(name, steps)) is None


@pytest.mark.one_python
def test_the_page_links_to_every_run() -> None:
    """Plans as they are saved, named by model and invariant; none is left over."""
    written = {}
    for name, (cause, steps) in product(KAFKA, (("", LATE), ("-ended-session", STALE))):
        replay = played(name, steps_of(name, steps))
        assert replay is not None
        written |= dict.fromkeys((f"{name}{cause}-{one}.json" for one in BROKEN), plan_file_to_json(replay.file))
    text = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(losses/(consumer-group.+?)\)", text)) == set(written)
    assert written == {file.name: file.read_bytes() for file in (ROOT / "docs" / "losses").glob("consumer-group-*")}
