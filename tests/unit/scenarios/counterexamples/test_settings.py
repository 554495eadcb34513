"""Losses of power that the models of settings find, played as faults: the run decides and loses as the model does."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from engine.counterexample_steps import taken
from suite.second_python import first_on_each

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.explorer.models.settings.models import VERSIONS, model_of
from kreplica.engine.explorer.models.settings.state import SettingsBounds
from kreplica.engine.explorer.models.settings.trace import events_of
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.trace import Event, Kind
from kreplica.report.log_strips import log_strips
from kreplica.scenarios.counterexamples.replays import replay_of_settings, replays_of
from kreplica.scenarios.counterexamples.settings import BEGIN
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO
from kreplica.scenarios.playing import play_file

WITHOUT_ELR, FORGETFUL, WITH_ELR, _, MENDED = VERSIONS
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


def breaking(model: Model, choices: Iterable[tuple[str | int, ...]]) -> list[Taken]:
    steps = taken(model, choices)
    assert not model.invariants[0].holds(steps[-1].state)
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
    steps = breaking(model, choices)
    found = replay_of_settings(model, steps)
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


SHRUNK = (("write", 0), ("fetch", 1), ("fetch", 1), ("shrink-isr", 0, 2), ("all-lose-power", 0))
"""Broker 3 leaves the ISR without the record, and both others lose it."""
ALONE = SettingsBounds(3, 1, 1, 2, False, 2, 0, 0, 0, 1, 1, 1)
OTHERS = {
    "a follower that does not keep up": (
        (WITHOUT_ELR, BOUNDS._replace(faults=2, cut_offs=1)),
        (*SHRUNK, ("expire", 0), ("expire", 1), ("start", 1), ("unfence", 1), ("hear", 1)),
    ),
    "the same with an ELR": (
        (WITH_ELR, BOUNDS._replace(faults=2, cut_offs=1)),
        (*SHRUNK, ("expire", 0), ("expire", 1), ("start", 0), ("start", 1), ("unfence", 1), ("hear", 1)),
    ),
    "three machines one after the other, broker 2 first": (
        (WITH_ELR, BOUNDS._replace(faults=3, power_losses=3, power_losses_of_all=0, first_leader=2)),
        (
            *(("write", 1), ("fetch", 0), ("fetch", 0), ("lose-power", 0), ("lose-power", 2), ("shrink-isr", 1, 2)),
            *(("lose-power", 1), ("expire", 0), ("expire", 1), ("start", 0), ("start", 1), ("unfence", 1), ("hear", 1)),
        ),
    ),
    "broker 3 leads at first": (
        (WITHOUT_ELR, BOUNDS._replace(first_leader=3)),
        (
            *(("write", 2), ("fetch", 0), ("fetch", 0), ("fetch", 1), ("fetch", 1), ("all-lose-power", 0), *ALL_EXPIRE),
            *(("start", 2), ("unfence", 2), ("hear", 2)),
        ),
    ),
    "acks=1: the leader alone": (
        (WITH_ELR, ALONE._replace(first_leader=1)),
        (("write", 0), ("lose-power", 0), ("expire", 0), ("hear", 1)),
    ),
    "acks=1 with flush.messages=1": (
        (WITH_ELR, ALONE._replace(first_leader=1, flush_messages=1)),
        (("write", 0), ("lose-power", 0), ("expire", 0), ("hear", 1)),
    ),
    "acks=1: the preferred leader is elected": (
        (WITHOUT_ELR, ALONE._replace(first_leader=2)),
        (("write", 1), ("elect-preferred", 0), ("hear", 0)),
    ),
    "acks=1: a leader that runs is fenced": (
        (WITHOUT_ELR, ALONE._replace(first_leader=1)),
        (("write", 0), ("cut-off", 0), ("hear", 1)),
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_who_leads_is_cut_off_or_acknowledges_alone_loses_the_same_as_in_the_model(case: str) -> None:
    (name, bounds), choices = OTHERS[case]
    model = model_of(name, bounds)
    steps = breaking(model, choices)
    found = replay_of_settings(model, steps)
    assert found is not None
    assert found.run.missed == ()
    assert found.run.outcome.histories.lost == ("m1",)
    assert found.mended.outcome.is_safe
    assert found.names[1].endswith("acks=all" if bounds.acks == 1 else "flush.messages=1")
    ran = list(found.run.events)
    assert leaders(one for one in ran if one.time < BEGIN)[-1] == broker_of(model.initial.true_leader[0])
    assert leaders(ran)[-1] == leaders(events_of(model.initial, steps))[-1]


ALL_CRASH = BOUNDS._replace(faults=3, losses=3, stops=3, power_losses_of_all=0, first_leader=1, cut_offs=2)
OUT_OF_SYNC = (("write", 0), ("shrink-isr", 0, 1), ("shrink-isr", 0, 2), ("lose-log", 0), ("expire", 0))
"""Both followers leave the ISR without the record, and the only disk that has it is lost."""
COMES_BACK = (("start", 0), ("unfence", 0), ("hear", 0))
LOST_LOGS = {
    "the last member of the ISR": (
        (WITHOUT_ELR, ALL_CRASH),
        (*TOLD, ("crash", 1), ("crash", 2), ("expire", 1), ("expire", 2), ("lose-log", 0), ("expire", 0), *COMES_BACK),
    ),
    "the last in sync": ((WITHOUT_ELR, ALL_CRASH._replace(min_isr=1)), (*OUT_OF_SYNC, *COMES_BACK)),
    "the last in sync, with an ELR": ((WITH_ELR, ALL_CRASH._replace(min_isr=1)), (*OUT_OF_SYNC, *COMES_BACK)),
    "acks=1: the leader alone": (
        (WITH_ELR, ALONE._replace(first_leader=1, losses=1)),
        (("write", 0), ("lose-log", 0), ("expire", 0), ("hear", 1)),
    ),
}


@pytest.mark.parametrize("case", LOST_LOGS)
def test_a_log_that_is_lost_is_a_disk_that_is_empty_when_its_broker_starts(case: str) -> None:
    (name, bounds), choices = LOST_LOGS[case]
    model = model_of(name, bounds)
    steps = breaking(model, choices)
    found = replay_of_settings(model, steps)
    assert found is not None
    assert found.run.missed == ()
    assert found.run.outcome.histories.lost == ("m1",)
    assert found.mended.outcome.is_safe
    assert found.names[1].endswith("acks=all" if bounds.acks == 1 else "logs kept")
    assert [event.node for event in found.run.events if event.kind == Kind.DISK_LOST] == ["broker-1"]
    assert leaders(found.run.events)[-1] == leaders(events_of(model.initial, steps))[-1]


@pytest.mark.one_python
def test_a_new_disk_takes_away_who_is_eligible_up_to_4_2() -> None:
    """Broker 2 has the record and is eligible, until broker 1 is back with a new disk and tells its directory."""
    model = model_of(FORGETFUL, ALL_CRASH._replace(losses=1, stops=0))
    out_of_sync = (*TOLD[:3], ("shrink-isr", 0, 2), ("lose-log", 0), ("cut-off", 1), ("expire", 0))
    steps = breaking(model, (*out_of_sync, COMES_BACK[0], ("assign-directory", 0), *COMES_BACK[1:]))
    found = replay_of_settings(model, steps)
    assert found is not None
    assert found.names == ("4.1", "4.3")
    assert found.run.missed == ()
    assert found.run.outcome.histories.lost == ("m1",)
    assert leaders(found.run.events)[-1] == 1
    kept = model_of(WITH_ELR, ALL_CRASH._replace(losses=1, stops=0))
    assert kept.invariants[0].holds(taken(kept, (*out_of_sync, *COMES_BACK[:-1]))[-1].state)
    later = play_file(SCENARIO, found.file, "4.2")
    assert later.outcome.histories.lost == ("m1",)


CUT_OFF = BOUNDS._replace(faults=3, cut_offs=3, power_losses_of_all=0, first_leader=1)
MISSED_EPOCH = (
    *(("write", 1), ("fetch", 2), ("fetch", 2), ("elect-preferred", 0), ("hear", 0), ("hear", 2), ("fetch", 2)),
    *(("cut-off", 0), ("hear", 1), ("cut-off", 1), ("hear", 2)),
)
"""Broker 2 leads again, hears of both decisions at once, and commits what broker 3 has cut (Partition.makeLeader)."""
MISSED_AND_BACK = (
    *(*MISSED_EPOCH[:8], ("hear", 0), ("hear", 1), ("fetch", 0), ("unfence", 0), ("fetch", 0), ("cut-off", 0)),
    *(("cut-off", 1), ("hear", 2)),
)
ALL_TWICE = CUT_OFF._replace(unclean=True, flush_messages=1, power_losses_of_all=2)
HELD_BACK = {
    "an unclean election": (
        (WITHOUT_ELR, CUT_OFF._replace(unclean=True, min_isr=1)),
        (("write", 0), ("shrink-isr", 0, 1), ("shrink-isr", 0, 2), ("cut-off", 0), ("hear", 1)),
        "unclean.leader.election.enable=false",
    ),
    "an unclean election after another": (
        (WITH_ELR, CUT_OFF._replace(unclean=True)),
        (
            *(("write", 0), ("fetch", 1), ("fetch", 1), ("shrink-isr", 0, 2), ("cut-off", 0), ("hear", 1)),
            *(("cut-off", 1), ("hear", 2)),
        ),
        "unclean.leader.election.enable=false",
    ),
    "an epoch that was missed": ((WITHOUT_ELR, CUT_OFF._replace(first_leader=2)), MISSED_EPOCH, "heard at once"),
    "the same with an ELR": ((WITH_ELR, CUT_OFF._replace(first_leader=2)), MISSED_EPOCH, "heard at once"),
    "an epoch that was missed, and who led in it comes back": (
        (WITHOUT_ELR, CUT_OFF._replace(first_leader=2, min_isr=3)),
        MISSED_AND_BACK,
        "heard at once",
    ),
    "the same of min ISR 3 with an ELR": (
        (WITH_ELR, CUT_OFF._replace(first_leader=2, min_isr=3)),
        MISSED_AND_BACK,
        "heard at once",
    ),
    "an epoch that was missed, and machines without power": (
        (WITHOUT_ELR, CUT_OFF._replace(first_leader=2, power_losses=2)),
        (
            *(*MISSED_EPOCH[:7], ("lose-power", 0, 0), ("expire", 0), ("hear", 1)),
            *(("lose-power", 1, 0), ("expire", 1), ("hear", 2)),
        ),
        "heard at once",
    ),
    "sessions that all end after all machines lost power, that of the leader first": (
        (WITHOUT_ELR, ALL_TWICE._replace(first_leader=2, unclean=False)),
        (
            *(*MISSED_EPOCH[:9], ("all-lose-power", 0), ("expire", 1), ("expire", 2)),
            *(("start", 2), ("unfence", 2), ("hear", 2)),
        ),
        "heard at once",
    ),
    "a session that ends before that of whose machine failed earlier": (
        (WITHOUT_ELR, CUT_OFF._replace(power_losses=3)),
        (
            *(("write", 0), ("fetch", 1), ("fetch", 1), ("lose-power", 1, 0), ("shrink-isr", 0, 2)),
            *(("lose-power", 0, 0), ("expire", 0), ("expire", 1), ("start", 1), ("unfence", 1), ("hear", 1)),
        ),
        "flush.messages=1",
    ),
    "a record that is written after a fault": (
        (WITHOUT_ELR, ALL_TWICE._replace(min_isr=1)),
        (
            *(("all-lose-power", 0), *ALL_EXPIRE, ("start", 0), ("unfence", 0), ("hear", 0), ("write", 0)),
            *(("all-lose-power", 0), ("expire", 0), ("start", 1), ("unfence", 1), ("hear", 1)),
        ),
        "unclean.leader.election.enable=false",
    ),
    "a session that ends before that of who failed earlier": (
        (WITHOUT_ELR, CUT_OFF._replace(losses=1)),
        (
            *(("write", 0), ("fetch", 1), ("fetch", 1), ("lose-log", 1), ("shrink-isr", 0, 2), ("cut-off", 0)),
            *(("expire", 1), ("start", 1), ("unfence", 1), ("hear", 1)),
        ),
        "logs kept",
    ),
}


@pytest.mark.parametrize("case", first_on_each(HELD_BACK))
def test_a_broker_that_hears_late_or_does_not_fetch_loses_its_links_meanwhile(case: str) -> None:
    (name, bounds), choices, mends = HELD_BACK[case]
    model = model_of(name, bounds)
    steps = breaking(model, choices)
    found = replay_of_settings(model, steps)
    assert found is not None
    assert found.run.missed == ()
    assert found.run.outcome.histories.lost == ("m1",)
    assert found.mended.outcome.is_safe
    assert found.names[1].endswith(mends)
    after = leaders(one for one in found.run.events if one.time >= BEGIN)
    assert after == leaders(events_of(model.initial, steps))


def leaders(events: Iterable[Event]) -> list[int]:
    """Brokers that became leader, one after the other."""
    return [int(event.node.partition("-")[2]) for event in events if event.kind == Kind.BECAME_LEADER]


def test_what_has_no_run_has_no_plan() -> None:
    """The mended model is like no release; where everything is flushed, power is not what loses."""
    steps = breaking(model_of(WITHOUT_ELR, BOUNDS), LAST_MEMBER)
    mended = model_of(MENDED, BOUNDS)
    assert replay_of_settings(mended, breaking(mended, LAST_LEADER)) is None
    flushing = model_of(WITHOUT_ELR, BOUNDS._replace(flush_messages=1))
    assert replay_of_settings(flushing, steps) is None
    other = model_of(WITHOUT_ELR, BOUNDS._replace(first_leader=2))
    assert replays_of(other, {"acknowledged-kept": steps}) == {}
