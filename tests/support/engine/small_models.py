"""Models whose states are counted on paper: two counters that go up by what a rule says."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Invariant, Model


class Counters(NamedTuple):
    """Two numbers."""

    left: list[int]
    right: list[int]


def one_more(value: int) -> int:
    return value + 1


def two_more(value: int) -> int:
    return value + 2


def counters(most: int, rule: Callable[[int], int] = one_more, room: int | None = None) -> Model:
    """Counters that stop once they have reached ``most``; by one, (most + 1) ** 2 states on 2 * most + 1 levels.

    Args:
        most: Each stops there.
        rule: The next value of a counter.
        room: The largest value that the state has room for; more than a counter reaches unless it is given.
    """

    def left(state: Counters, _: int) -> bool:
        if state.left[0] >= most:
            return False
        state.left[0] = rule(state.left[0])
        return True

    def right(state: Counters, _: int, _other: int) -> bool:
        if state.right[0] >= most:
            return False
        state.right[0] = rule(state.right[0])
        return True

    def below(state: Counters) -> bool:
        return state.left[0] + state.right[0] < 4 * most + 4

    def together(state: Counters) -> bool:
        return state.left[0] < 2 or state.right[0] < 1

    field = Field(most + 1 if room is None else room)
    return Model(
        "counters",
        Layout(Counters, {"left": field, "right": field}),
        Counters([0], [0]),
        (Action("left", left, (1,), "left", (0,)), Action("right", right, (1, 1), "right", (0, 0))),
        (Invariant("below", below, "holds"), Invariant("together", together, "breaks at 2 and 1")),
    )
