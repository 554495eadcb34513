"""Walks through a model as traces: whoever folds the events has the logs and high watermarks of the model's state."""

from __future__ import annotations

from random import Random

import pytest

from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds, PartitionState, epoch_at, log_end, record_at
from kreplica.engine.explorer.models.one_partition.trace import events_of
from kreplica.engine.trace import Kind
from kreplica.report.log_strips import Strip, log_strips
from kreplica.report.moments import moments
from kreplica.report.space_time import space_time

BOUNDS = Bounds(3, 3, 3, 3)


def walk(name: str, seed: int, steps: int = 40) -> tuple[PartitionState, list[Taken]]:
    """A random way through a model."""
    model, chance = model_of(name, BOUNDS), Random(f"{name} {seed}")
    state, taken = model.initial, list[Taken]()
    for _ in range(steps):
        possible = list(successors(model, state))
        if not possible:
            break
        kinds = sorted({one.action.name for one in possible})
        kind = chance.choice(kinds)
        taken.append(chance.choice([one for one in possible if one.action.name == kind]))
        state = taken[-1].state
    return model.initial, taken


def records(strip: Strip) -> list[tuple[int, str]]:
    return [(piece.epoch, value) for piece in strip.pieces for value in piece.values]


def held(state: PartitionState, replica: int) -> list[tuple[int, str]]:
    found = [(epoch_at(state, replica, at), record_at(state, replica, at)) for at in range(log_end(state, replica))]
    return [(epoch, f"m{(record - 1) // BOUNDS.epochs + 1}") for epoch, record in found]


@pytest.mark.parametrize("name", ["truncate-to-hw", "kip-101", "kip-320-first-try", "kip-320"])
def test_the_events_of_a_walk_make_its_state(name: str) -> None:
    kinds = set()
    for seed in range(40):
        initial, steps = walk(name, seed)
        events = events_of(initial, steps)
        kinds |= {event.kind for event in events}
        strips = {strip.node: strip for strip in log_strips(events)}
        last = steps[-1].state
        for replica in range(BOUNDS.replicas):
            strip = strips.get(f"broker-{replica + 1}")
            assert (records(strip) if strip else []) == held(last, replica), seed
            assert (strip.high_watermark or 0 if strip else 0) == last.high_watermark[replica]
    assert kinds == {
        Kind.MESSAGE,
        Kind.PARTITION_CHANGED,
        Kind.BECAME_LEADER,
        Kind.BECAME_FOLLOWER,
        Kind.APPENDED,
        Kind.TRUNCATED,
        Kind.HIGH_WATERMARK,
    }


def test_every_step_is_a_line_of_the_diagram() -> None:
    initial, steps = walk("kip-320", 7)
    lines = space_time(moments(events_of(initial, steps)))
    told = [line.split()[0] for line in lines[1:]]
    assert [number for number in range(1, len(steps) + 1) if f"{number}.000" not in told] == []


def test_a_high_watermark_that_falls_without_a_cut_is_told() -> None:
    """A new leader has not heard of all that is committed, so a follower's high watermark goes back to the leader's."""
    model = model_of("kip-320", BOUNDS)
    before = model.layout.copy(model.initial)
    before.high_watermark[2] = 1
    (event,) = events_of(before, [Taken(model.actions[0], (0,), model.layout.copy(model.initial))])
    assert (event.kind, event.node, event.values) == (Kind.HIGH_WATERMARK, "broker-3", ("p-0", 0, "follower"))
