"""Result of a search over the states of a model, and the actions that lead to a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        broken: For each invariant that does not hold, the states from an initial one to the first that breaks it; for
            each goal that does not always settle, to the first from which it does not.
        out_of_memory: Whether it ended because the next states did not fit into the memory that it may use.
    """

    distinct: int
    depth: int
    complete: bool
    broken: Mapping[str, Sequence[State]]
    out_of_memory: bool


def ended(
    *,
    distinct: int,
    taken: int,
    depth: int,
    level_end: int,
    asks: bool,
    broken: Callable[[bool], Mapping[str, Sequence[State]]],
) -> Explored:
    """The result of a search that has come to its end, or to that of its memory.

    Args:
        distinct: States found.
        taken: Those of them whose actions were taken.
        depth: Levels begun.
        level_end: Number of states up to the end of the last of these.
        asks: Whether an invariant is left that holds so far, or a goal is asked.
        broken: The ways to what is broken, given whether all states are found.
    """
    complete = taken == distinct
    deeper = level_end < distinct
    return Explored(distinct, depth + deeper, complete, broken(complete), out_of_memory=not complete and asks)


def beginning(model: Model, state: State) -> State:
    """The state in which a way through a model begins.

    Args:
        model: The model.
        state: The first on the way, or what stands for it.
    """
    key = keys_of(model)
    return next(one for one in model.beginnings if key(one) == key(state))


def retraced(model: Model, states: Sequence[State]) -> tuple[Taken, ...]:
    """The actions that lead from each state to the next, found again by taking all of them.

    Args:
        model: The model.
        states: A way through its states, or through those that stand for them, from where it begins.
    """
    key, before, found = keys_of(model), beginning(model, states[0]), list[Taken]()
    for after in states[1:]:
        wanted = key(after)
        found.append(next(taken for taken in successors(model, before) if key(taken.state) == wanted))
        before = found[-1].state
    return tuple(found)
