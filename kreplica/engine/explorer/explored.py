"""Result of a search over the states of a model, and the actions that lead to a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Model, Taken, keys_of, successors


@dataclass(frozen=True, slots=True)
class Progress:
    """A search that goes on.

    Args:
        distinct: States found.
        waiting: Those of them whose actions have not been taken yet.
        depth: Levels begun.
    """

    distinct: int
    waiting: int
    depth: int


@dataclass(frozen=True, slots=True)
class Explored:
    """The states that a search has found.

    Args:
        distinct: How many.
        depth: Levels of the search, the initial state being the first: the states on the longest shortest way.
        complete: Whether every state that can be reached was found.
        broken: For each invariant that does not hold, the states from the initial one to the first that breaks it; for
            each goal that does not always settle, to the first from which it does not.
        out_of_memory: Whether it ended because the next states did not fit into the memory that it may use.
    """

    distinct: int
    depth: int
    complete: bool
    broken: Mapping[str, Sequence[State]]
    out_of_memory: bool


def retraced(model: Model, states: Sequence[State]) -> tuple[Taken, ...]:
    """The actions that lead from each state to the next, found again by taking all of them.

    Args:
        model: The model.
        states: A way through its states, or through those that stand for them, from the initial one.
    """
    key, before, found = keys_of(model), model.initial, list[Taken]()
    for after in states[1:]:
        wanted = key(after)
        found.append(next(taken for taken in successors(model, before) if key(taken.state) == wanted))
        before = found[-1].state
    return tuple(found)
