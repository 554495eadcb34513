"""The models of requests for an ISR have the states that TLC counts of the published one.

AsyncIsr of hachikuji/kafka-specification in TLC 2.15, one worker, deadlocks not checked, with a constraint: no log end
offset and no version above a bound. In the mutant the high watermark is the least offset of the ISR alone.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from suite.second_python import first_on_each

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.asynchronous_isr.models import TABLES, AsyncBounds, model_of
from kreplica.engine.explorer.models.asynchronous_isr.trace import events_of, seen_of
from kreplica.engine.explorer.models.one_partition.state import log_end
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.trace import Kind
from kreplica.report.log_strips import log_strips

PLENTY = 2**30
COUNTED = {
    AsyncBounds(2, 1, 1): (24, 7),
    AsyncBounds(2, 2, 2): (84, 12),
    AsyncBounds(3, 1, 1): (220, 10),
    AsyncBounds(3, 1, 2): (1_460, 14),
    AsyncBounds(3, 2, 2): (4_088, 17),
    AsyncBounds(3, 2, 3): (22_456, 21),
}


@pytest.mark.parametrize("bounds", first_on_each(COUNTED))
def test_every_state_is_found_once_and_the_high_watermark_is_valid(bounds: AsyncBounds) -> None:
    model = model_of("async-isr", bounds)
    found = search(model, model.invariants, PLENTY)
    assert (found.distinct, found.depth, found.complete) == (*COUNTED[bounds], True)
    assert not found.broken


def test_without_what_is_pending_the_controller_admits_who_lacks_records() -> None:
    """7 states by TLC."""
    model = model_of("async-isr-m1", AsyncBounds(3, 2, 3))
    way = search(model, model.invariants, PLENTY).broken["valid-high-watermark"]
    assert len(way) == 7
    taken = [step.action.name for step in retraced(model, way)]
    assert sorted(taken) == ["change-isr", "expand-isr", "hear", "remove-from-isr", "remove-from-isr", "write"]


@pytest.mark.slow
def test_the_compiled_search_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    bounds = AsyncBounds(3, 2, 3)
    model = model_of("async-isr", bounds)
    found = compiled_search.search(model, model.invariants, PLENTY)
    assert (found.distinct, found.depth, found.broken) == (*COUNTED[bounds], {})


@pytest.mark.parametrize("name", TABLES)
def test_the_events_of_a_walk_make_its_state(name: str) -> None:
    seen, kinds = seen_of(name), set[str]()
    for seed in range(30):
        model, chance = model_of(name, AsyncBounds(3, 3, 5)), Random(seed)
        state, steps = model.initial, list[Taken]()
        while len(steps) < 30 and (possible := list(successors(model, state))):
            steps.append(chance.choice(possible))
            state = steps[-1].state
        events = events_of(seen)(model.initial, steps)
        kinds |= {event.kind for event in events}
        strips = {strip.node: strip for strip in log_strips(events)}
        last = seen(state)
        for replica in range(3):
            strip = strips.get(f"broker-{replica + 1}")
            held = sum(len(piece.values) for piece in strip.pieces) if strip else 0
            assert held == log_end(last, replica) == state.ends[replica]
    assert kinds >= {Kind.ISR_ASKED, Kind.PARTITION_CHANGED, Kind.APPENDED, Kind.BECAME_LEADER, Kind.HIGH_WATERMARK}
