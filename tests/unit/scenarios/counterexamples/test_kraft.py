"""Counterexamples of the models of a KRaft cluster, played as faults: the run decides and loses as the model does."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from engine.counterexample_steps import taken

from kreplica.engine.explorer.models.kraft.models import model_of
from kreplica.engine.explorer.models.kraft.state import KraftBounds
from kreplica.engine.explorer.models.kraft.trace import events_of
from kreplica.engine.trace import Event, Kind
from kreplica.scenarios.counterexamples.kraft import OUT_OF_SYNC
from kreplica.scenarios.counterexamples.replays import replay_of_kraft, replays_of

BOUNDS = KraftBounds(3, 1, 2, 2, fences=1, losses=1, stops=1, shrinks=1, messages=8)
COMES_BACK = (("lose-log", 0), ("start", 0), ("register", 0), ("registered", 0))
ALONE = (("write", 0), ("fence", 1), ("hear", 0, 1), *COMES_BACK)
"""Broker 1 alone has the record, stays in the ISR, and leads again without its log."""


def decided(events: Iterable[Event]) -> list[tuple[object, ...]]:
    """Leader and ISR of each decision of the controller."""
    return [(event.values[1], event.values[3]) for event in events if event.kind == Kind.PARTITION_CHANGED]


def test_the_last_replica_that_lost_its_log_leads_without_what_was_committed() -> None:
    """Before 3.7 the record counts as committed on one broker; eligible leader replicas keep what is."""
    model = model_of("kraft", BOUNDS)
    steps = taken(model, ALONE)
    found = replays_of(model, {"leader-completeness": steps})["leader-completeness"]
    assert found.names == ("3.6-kraft", "4.3")
    assert found.run.missed == ()
    assert found.run.outcome.committed_lost
    assert found.mended.outcome.is_safe
    after = [event for event in found.run.events if event.time >= OUT_OF_SYNC]
    assert decided(after) == decided(events_of(model.initial, steps))
    assert {event.node for event in after if event.kind == Kind.APPENDED} == {"broker-1"}


def test_two_replicas_are_two_brokers() -> None:
    two = model_of("kraft", BOUNDS._replace(replicas=2))
    found = replay_of_kraft(two, taken(two, ALONE))
    assert found is not None
    assert found.where.startswith("two brokers")
    assert found.run.outcome.committed_lost
    assert found.mended.outcome.is_safe


STOPPED = (("write", 0), ("stop", 1), ("hear", 0, 1), *COMES_BACK)


SLOW = (("write", 0), ("ask-for-isr", 0, 0b10), ("change-isr",), ("answered",), *COMES_BACK)


@pytest.mark.parametrize("way", [ALONE, STOPPED, SLOW], ids=["fenced", "stopped", "too slow"])
def test_as_many_lost_logs_as_min_isr_are_too_many_for_eligible_leader_replicas(
    way: tuple[tuple[str | int, ...], ...],
) -> None:
    model = model_of("kip-966", BOUNDS._replace(min_isr=1))
    steps = taken(model, way)
    assert not next(each for each in model.invariants if each.name == "committed-kept").holds(steps[-1].state)
    found = replay_of_kraft(model, steps)
    assert found is not None
    assert found.names == ("4.3", "4.3, logs kept")
    assert found.run.outcome.histories.lost == ("m1",)
    assert found.mended.outcome.is_safe
    assert found.file.settings["min.insync.replicas"] == "1"
    assert (1, (1,)) in decided(found.run.events)


def test_what_has_no_run_has_no_plan() -> None:
    """Four replicas are not the scenario's; no log is lost; in Kafka nobody is too slow who has all of the log."""
    four = model_of("kraft", BOUNDS._replace(replicas=4))
    assert replay_of_kraft(four, taken(four, ALONE)) is None
    model = model_of("kraft", BOUNDS)
    assert replay_of_kraft(model, taken(model, ALONE[:3])) is None
    has_all = (SLOW[0], ("fetch", 1), ("serve-fetch",), ("take-records",), *SLOW[1:])
    model = model_of("kraft", BOUNDS._replace(min_isr=1))
    assert replay_of_kraft(model, taken(model, has_all)) is None
