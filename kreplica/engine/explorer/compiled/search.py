"""Breadth-first search by the compiled kernel: arrays that grow, a limit of memory, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kreplica.engine.explorer.compiled import kernel
from kreplica.engine.explorer.compiled.build import backwards_of, kernel_of
from kreplica.engine.explorer.compiled.kernel import Scratch, Store
from kreplica.engine.explorer.explored import Explored, Progress, ended
from kreplica.engine.explorer.layout import Layout, OutOfRangeError, State
from kreplica.engine.explorer.model import Goal, Invariant, Model, successors
from kreplica.engine.explorer.packing import generated, unpack_source, words_of
from kreplica.engine.explorer.settling import healing_of

FEWEST_SLOTS = 1 << 21
"""Slots of the first table: 8 MiB."""

BYTES_BESIDE_WORDS = 12
"""Bytes of a state beside its words, at most: its parent, and its share of a table that is at least half full."""

_MOST_STATES = (1 << 31) - 2
_BETWEEN_REPORTS = 200_000
"""States whose actions are taken between two reports."""


class _Search:
    """Arrays of one search.

    Args:
        model: The model.
        invariants: Those to check.
        memory: Bytes that the states may take.
        goals: Goals to check.
    """

    def __init__(self, model: Model, invariants: Sequence[Invariant], memory: int, goals: Sequence[Goal]) -> None:
        layout, words = model.layout, words_of(model.layout)
        self.kernel = kernel_of(model)
        self.model, self.layout = model, layout
        self.most = min(_MOST_STATES, memory // (8 * words + BYTES_BESIDE_WORDS + bool(goals)))
        capacity = min(self.most, FEWEST_SLOTS // 2) + self.kernel.most
        waiting = kernel.BATCH + self.kernel.most
        notes = _record(
            {
                "control": 8,
                "broken": len(model.invariants),
                "present": words,
                "packed": words,
                "tried": words,
                "ranks": model.symmetry.replicas if model.symmetry else 1,
                "queue": waiting * words,
                "queue_parents": waiting,
                "queue_hashes": waiting,
                "queue_slots": waiting,
            }
        )
        state, other = (_record({name: field.count for name, field in layout.fields.items()}) for _ in range(2))
        self.notes = notes
        self.store = Store(
            words=np.empty((capacity, words), dtype=np.int64),
            parents=np.empty(capacity, dtype=np.int32),
            slots=np.zeros(FEWEST_SLOTS, dtype=np.int32),
            scratch=Scratch(notes, state, other),
        )
        notes["control"][:] = [0, 0, 1, 1, len(invariants) + bool(goals), 0, 0, 0]
        notes["broken"][:] = [
            kernel.UNBROKEN_YET if one in invariants else kernel.NOT_ASKED for one in model.invariants
        ]
        for begins in model.beginnings:
            for name, numbers in zip(layout.fields, begins, strict=True):
                state[name][:] = numbers
            self.kernel.begin(self.store)
        notes["control"][kernel.LEVEL_END] = self.number(kernel.COUNT)

    def number(self, place: int) -> int:
        """One of the numbers of the control array."""
        return int(self.notes["control"][place])

    def go_on(self) -> int:
        """Takes the actions of some states, with more room if it is needed.

        Raises:
            OutOfRangeError: A number of a state does not fit its field.
        """
        reason = self.kernel.explore(self.store, self.kernel.most, _BETWEEN_REPORTS)
        if self.number(kernel.OUT_OF_RANGE):
            self._raise_out_of_range()
        if self.number(kernel.COUNT) < self.most:
            if reason == kernel.FULL:
                self._more_states()
            if reason == kernel.CROWDED:
                self._more_slots()
        return int(reason)

    def _raise_out_of_range(self) -> None:
        """Takes the last actions once more in plain Python, which names the field."""
        state = unpacked(self.layout, self.store.words[self.number(kernel.HEAD) - 1])
        for taken in successors(self.model, state):
            self.layout.key(taken.state)
        raise OutOfRangeError("a number did not fit its field")

    def _more_states(self) -> None:
        """Doubles the room for states; memory that is not written to is not taken yet."""
        words, parents = self.store.words, self.store.parents
        capacity = min(self.most, 2 * len(parents)) + self.kernel.most
        self.store = self.store._replace(words=None, parents=None)
        words.resize((capacity, words.shape[1]), refcheck=False)
        parents.resize(capacity, refcheck=False)
        self.store = self.store._replace(words=words, parents=parents)

    def _more_slots(self) -> None:
        """A table that is half full in place of one that is full to two thirds; never both at once."""
        self.store = self.store._replace(slots=None)
        slots = np.zeros(2 * (self.number(kernel.COUNT) + self.kernel.most), dtype=np.int32)
        self.store = self.store._replace(slots=slots)
        self.kernel.refill(self.store)

    def way_to(self, state: int) -> list[State]:
        """The states from an initial one to another."""
        way = []
        while state >= 0:
            way.append(state)
            state = int(self.store.parents[state])
        return [unpacked(self.layout, self.store.words[each]) for each in reversed(way)]

    def first_unsettled(self, goal: Goal) -> int | None:
        """The first state that a goal is asked of and does not settle from; all states are found."""
        steps, concerns = backwards_of(self.model, goal), healing_of(self.model).concerns
        marks = np.zeros(self.number(kernel.COUNT), dtype=np.bool_)
        steps.mark(self.store, marks)
        for _ in ("leaves", "settles"):
            while steps.spread(self.store, marks):
                pass
            np.logical_not(marks, out=marks)
        assert not self.number(kernel.OUT_OF_RANGE), "an action of the healing leads to no state of the model"
        # the last turn has left a mark on states from which it does not settle
        unsettled = (int(state) for state in np.flatnonzero(marks))
        return next((each for each in unsettled if concerns(unpacked(self.layout, self.store.words[each]))), None)

    def broken(self, goals: Sequence[Goal]) -> dict[str, list[State]]:
        """For each invariant that is broken, and each of some goals that does not settle, the way there."""
        places = {
            invariant.name: int(place)
            for invariant, place in zip(self.model.invariants, self.notes["broken"], strict=True)
            if place >= 0
        }
        for goal in goals:
            first = self.first_unsettled(goal)
            if first is not None:
                places[goal.name] = first
        return {name: self.way_to(place) for name, place in places.items()}


def _record(fields: Mapping[str, int]) -> Any:
    """A record of so many whole numbers of each name."""
    return np.zeros(1, dtype=[(name, np.int64, (count,)) for name, count in fields.items()])[0]


def unpacked(layout: Layout, words: Any) -> State:
    """A state of plain lists."""
    state = layout.kind(*([0] * field.count for field in layout.fields.values()))
    generated(unpack_source(layout))([int(word) for word in words], state)
    return state


def search(
    model: Model,
    invariants: Sequence[Invariant],
    memory: int,
    report: Callable[[Progress], None] | None = None,
    goals: Sequence[Goal] = (),
) -> Explored:
    """Takes every action of every state, as ``plain_search.search`` does.

    Args:
        model: The model.
        invariants: Those to check.
        memory: Bytes that the states may take.
        report: Called now and then.
        goals: Goals of the model to check, once all states are found.

    Raises:
        OutOfRangeError: A number of a state does not fit its field.
    """
    one = _Search(model, invariants, memory, goals)
    reason = kernel.PAUSED
    while reason != kernel.DONE and one.number(kernel.COUNT) < one.most:
        reason = one.go_on()
        if report is not None:
            waiting = one.number(kernel.COUNT) - one.number(kernel.HEAD)
            report(Progress(one.number(kernel.COUNT), waiting, one.number(kernel.DEPTH)))
    return ended(
        distinct=one.number(kernel.COUNT),
        taken=one.number(kernel.HEAD),
        depth=one.number(kernel.DEPTH),
        level_end=one.number(kernel.LEVEL_END),
        asks=one.number(kernel.UNBROKEN) > 0,
        broken=lambda complete: one.broken(goals if complete else ()),
    )
