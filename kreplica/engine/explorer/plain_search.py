"""Breadth-first search in plain Python: the reference of the compiled one, and what there is without numba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kreplica.engine.explorer.explored import Explored, Progress, ended
from kreplica.engine.explorer.layout import Key, Layout, State
from kreplica.engine.explorer.model import Goal, Invariant, Model, keys_of, successors
from kreplica.engine.explorer.settling import afterwards, first_unsettled, settling

BYTES_A_NUMBER = 8
BYTES_A_STATE = 240
"""Bytes of a state at most besides its numbers: a tuple, its place in a set that has just grown, its parent."""

_BETWEEN_REPORTS = 10_000
"""States whose actions are taken between two reports."""


def bytes_a_state(layout: Layout) -> int:
    """Bytes that a state takes at most."""
    return BYTES_A_NUMBER * layout.size + BYTES_A_STATE


@dataclass(slots=True)
class _Found:
    """States in the order in which they were found, and the first that breaks each invariant."""

    model: Model
    key: Callable[[State], Key]
    unbroken: list[Invariant]
    keys: list[Key] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    known: set[Key] = field(default_factory=set)
    breaking: dict[str, int] = field(default_factory=dict)

    def add(self, state: State, parent: int) -> None:
        """Adds a state unless it is known."""
        key = self.key(state)
        if key in self.known:
            return
        for invariant in [one for one in self.unbroken if not one.holds(state)]:
            self.breaking[invariant.name] = len(self.keys)
            self.unbroken.remove(invariant)
        self.known.add(key)
        self.keys.append(key)
        self.parents.append(parent)

    def way_to(self, state: int) -> list[State]:
        """The states from an initial one to another."""
        way = []
        while state >= 0:
            way.append(self.model.layout.state(self.keys[state]))
            state = self.parents[state]
        return way[::-1]

    def broken(self, goals: Sequence[Goal]) -> dict[str, list[State]]:
        """For each invariant that is broken, and each of some goals that does not settle, the way there."""
        self._look_for(goals)
        return {name: self.way_to(state) for name, state in self.breaking.items()}

    def _look_for(self, goals: Sequence[Goal]) -> None:
        """Notes the first state that each goal does not settle from; all states are found."""
        after = afterwards(self.model, self.keys) if goals else ()
        for goal in goals:
            first = first_unsettled(self.model, self.keys, settling(self.model, self.keys, after, goal))
            if first is not None:
                self.breaking[goal.name] = first


def search(
    model: Model,
    invariants: Sequence[Invariant],
    memory: int,
    report: Callable[[Progress], None] | None = None,
    goals: Sequence[Goal] = (),
) -> Explored:
    """Takes every action of every state, until no state is new or no invariant is left that holds and no goal is asked.

    Args:
        model: The model.
        invariants: Those to check.
        memory: Bytes that the states may take.
        report: Called now and then.
        goals: Goals of the model to check, once all states are found.
    """
    found = _Found(model, keys_of(model), list(invariants))
    for state in model.beginnings:
        found.add(state, -1)
    most = memory // bytes_a_state(model.layout)
    depth, level_end, head = 1, len(found.keys), 0
    while head < len(found.keys) and (found.unbroken or goals) and len(found.keys) <= most:
        if head == level_end:
            depth, level_end = depth + 1, len(found.keys)
        for taken in successors(model, model.layout.state(found.keys[head])):
            found.add(taken.state, head)
        head += 1
        if report is not None and head % _BETWEEN_REPORTS == 0:
            report(Progress(len(found.keys), len(found.keys) - head, depth))
    return ended(
        distinct=len(found.keys),
        taken=head,
        depth=depth,
        level_end=level_end,
        asks=bool(found.unbroken or goals),
        broken=lambda complete: found.broken(goals if complete else ()),
    )
