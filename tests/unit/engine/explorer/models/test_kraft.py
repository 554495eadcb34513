"""The KRaft models have the states and the shortest counterexamples that TLC counts of the published ones.

Vanlightly/kafka-tlaplus, v3.5 and KIP-966, in TLC 2.15, one worker, one value, deadlocks not checked.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.layout import Key, OutOfRangeError
from kreplica.engine.explorer.model import Invariant, Model, Taken, successors
from kreplica.engine.explorer.models.kraft.messages import MOST
from kreplica.engine.explorer.models.kraft.models import TABLES, model_of
from kreplica.engine.explorer.models.kraft.state import KraftBounds, decide, initial, layout, send, take_out
from kreplica.engine.explorer.models.kraft.trace import events_of, seen, told
from kreplica.engine.explorer.models.one_partition.state import epoch_at, log_end, record_at
from kreplica.engine.explorer.plain_search import search
from kreplica.report.log_strips import Strip, log_strips

PLENTY = 2**30
NEVER = Invariant("never", lambda _: True, "nothing breaks it, so the search goes to the end")


def within(replicas: int, min_isr: int, isr: int, fences: int, losses: int) -> KraftBounds:
    return KraftBounds(replicas, 1, min_isr, isr, fences, losses, stops=0, shrinks=0, messages=8)


COUNTED = {
    within(2, 1, 2, 0, 0): (14, 8),
    within(2, 1, 2, 0, 1): (945, 25),
    within(2, 1, 2, 1, 0): (1_260, 21),
    within(3, 2, 3, 0, 0): (128, 17),
}
"""Of both, the one without ELR where the last in sync does not lose its log (AvoidLastReplicaStanding)."""

DEFAULT = within(3, 2, 2, 1, 1)
"""The configuration that the specifications come with."""


@pytest.mark.parametrize("name", ["kraft-last-kept", "kip-966"])
@pytest.mark.parametrize("bounds", COUNTED)
def test_every_state_is_found_once(name: str, bounds: KraftBounds) -> None:
    found = search(model_of(name, bounds), [NEVER], PLENTY)
    assert (found.distinct, found.depth, found.complete) == (*COUNTED[bounds], True)


@pytest.mark.slow
@pytest.mark.timeout(900)  # half a minute of compiling, on a busy machine minutes
@pytest.mark.parametrize("name", ["kraft-last-kept", "kip-966"])
def test_the_largest_space_that_tlc_finished(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    model = model_of(name, within(3, 2, 3, 0, 1))
    found = compiled_search.search(model, model.invariants, PLENTY)
    assert (found.distinct, found.depth, found.complete) == (101_378, 40, True)
    assert not found.broken


def levels(model: Model, deepest: int) -> list[int]:
    """How many states are found up to each level."""
    level = [model.layout.key(model.initial)]
    known: set[Key] = set(level)
    found = [1]
    for _ in range(deepest - 1):
        reached = {model.layout.key(each.state) for key in level for each in successors(model, model.layout.state(key))}
        level = sorted(reached - known)
        known.update(level)
        found.append(len(known))
    return found


@pytest.mark.one_python
def test_the_first_levels_of_the_default_configuration() -> None:
    """Of the view of KIP-966 with the counters of faults besides; without them states with other budgets are one."""
    found = levels(model_of("kip-966", DEFAULT), 8)
    assert (found[5], found[7]) == (2_444, 14_238)


@pytest.mark.one_python
def test_the_last_replica_standing_loses_what_it_had_committed() -> None:
    """8 states by TLC; the same bounds with ELR have no such state."""
    model = model_of("kraft", DEFAULT)
    found = search(model, model.invariants[:1], PLENTY)
    way = found.broken["leader-completeness"]
    assert len(way) == 8
    steps = retraced(model, way)
    assert [step.action.name for step in steps] == [
        "write",
        "fence",
        "hear",
        "lose-log",
        "start",
        "register",
        "registered",
    ]
    words = [told(before, step) for before, step in zip(way, steps, strict=False)]
    assert words[1] == "the controller fences broker 2"
    assert words[3] == "broker 1 crashes and loses its log; nobody leads"
    assert words[5] == "the controller registers broker 1; broker 1 is elected"


def test_messages_are_a_set_in_order() -> None:
    bounds, chance = within(3, 2, 3, 0, 1), Random(1)
    state, expected = initial(bounds), set[int]()
    for _ in range(2_000):
        message = chance.randrange(1, 12)
        if chance.random() < 0.5 and len(expected | {message}) <= bounds.messages:
            send(state, message)
            expected.add(message)
        elif expected:
            slot = chance.randrange(len(expected))
            expected.remove(state.messages[slot])
            take_out(state, slot)
        assert state.messages == sorted(expected, reverse=True) + [0] * (bounds.messages - len(expected))
    assert state.overflow == [0]


def test_a_message_or_a_decision_without_room_is_an_error_not_a_lost_state() -> None:
    bounds = within(3, 2, 3, 0, 1)
    state = initial(bounds)
    for message in range(1, bounds.messages + 1):
        send(state, message)
    layout(bounds).key(state)
    send(state, 3)
    assert state.overflow == [0]
    send(state, MOST)
    with pytest.raises(OutOfRangeError, match="overflow is"):
        layout(bounds).key(state)
    state = initial(bounds)
    for _ in range(bounds.decisions):
        decide(state, 0, 1, 1, 0, 0)
    assert state.overflow == [1]
    narrow = within(2, 1, 2, 0, 0)._replace(messages=1)
    assert search(model_of("kip-966", narrow), [NEVER], PLENTY).distinct == 14
    with pytest.raises(OutOfRangeError, match="overflow is"):
        search(model_of("kip-966", narrow._replace(replicas=3, isr=3)), [NEVER], PLENTY)


WALKED = KraftBounds(3, 2, 1, 3, fences=1, losses=1, stops=1, shrinks=1, messages=12)


def walk(name: str, seed: int, steps: int = 120) -> tuple[Model, list[Taken]]:
    """A random way through a model."""
    model, chance = model_of(name, WALKED), Random(f"{name} {seed}")
    state, taken = model.initial, list[Taken]()
    for _ in range(steps):
        possible = list(successors(model, state))
        if not possible:
            break
        kind = chance.choice(sorted({one.action.name for one in possible}))
        taken.append(chance.choice([one for one in possible if one.action.name == kind]))
        state = taken[-1].state
        model.layout.key(state)
    return model, taken


def records(strip: Strip | None) -> list[tuple[int, str]]:
    return [(piece.epoch, value) for piece in strip.pieces for value in piece.values] if strip else []


@pytest.mark.parametrize("name", TABLES)
def test_the_events_of_a_walk_make_its_state_and_every_step_has_words(name: str) -> None:
    kinds, names = set[str](), set[str]()
    for seed in range(25):
        model, steps = walk(name, seed)
        events = events_of(model.initial, steps)
        kinds |= {event.kind for event in events}
        names |= {step.action.name for step in steps}
        strips = {strip.node: strip for strip in log_strips(events)}
        last = seen(steps[-1].state)
        for replica in range(WALKED.replicas):
            strip = strips.get(f"broker-{replica + 1}")
            held = [
                (epoch_at(last, replica, at), f"m{(record_at(last, replica, at) - 1) // 16 + 1}")
                for at in range(log_end(last, replica))
            ]
            assert records(strip) == held, seed
            if strip is not None and strip.running:
                assert (strip.high_watermark or 0) == last.high_watermark[replica], seed
        before = model.initial
        for step in steps:
            assert "{" not in told(before, step)
            before = step.state
    assert names == {action.name for action in model.actions}
    assert {"crashed", "stopped", "started", "broker-fenced", "broker-unfenced", "partition-changed"} <= kinds


@pytest.mark.one_python
@pytest.mark.parametrize("name", TABLES)
def test_an_action_that_cannot_be_taken_leaves_the_state(name: str) -> None:
    """The search takes the next action in the same state."""
    for seed in range(4):
        model, steps = walk(name, seed, 60)
        for step in steps:
            key = model.layout.key(step.state)
            for action in model.actions:
                for first in range(action.choices[0]):
                    for second in range(action.choices[1]) if len(action.choices) == 2 else [None]:
                        state = model.layout.state(key)
                        chosen = (first,) if second is None else (first, second)
                        assert action.take(state, *chosen) or model.layout.key(state) == key
