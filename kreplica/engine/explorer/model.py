"""A model: its state, the actions that change it, the invariants that hold of it or do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from kreplica.engine.explorer.layout import Key, Layout, State
from kreplica.engine.explorer.symmetry import Symmetry, representative_of


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can happen.

    Args:
        name: Its name.
        take: Changes the state and returns True if the action can be taken; otherwise leaves it and returns False. Its
            arguments are the state and one choice for each of ``choices``.
        choices: How many values each choice has: it counts from 0.
        sentence: The action in words, with each choice in braces: ``{0}`` the first, ``{1}`` the second.
        first: What the first value of each choice is called: replicas count from 1, epochs from 0.
    """

    name: str
    take: Callable[..., bool]
    choices: tuple[int, ...]
    sentence: str
    first: tuple[int, ...]

    def words(self, chosen: tuple[int, ...]) -> str:
        """The action with its choices, in words."""
        return self.sentence.format(*(value + first for value, first in zip(chosen, self.first, strict=True)))


@dataclass(frozen=True, slots=True)
class Invariant:
    """A property that is to hold of every state that can be reached.

    Args:
        name: Its name.
        holds: Whether it holds of a state, which it leaves as it is.
        promise: The property in words.
    """

    name: str
    holds: Callable[[State], bool]
    promise: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A property that is to come about, and to stay, once no fault comes any more.

    Args:
        name: Its name.
        reached: Whether it is reached in a state, which it leaves as it is.
        promise: The property in words.
    """

    name: str
    reached: Callable[[State], bool]
    promise: str


Property = Invariant | Goal


@dataclass(frozen=True, slots=True)
class Healing:
    """Actions that go on once no fault comes any more.

    Args:
        actions: Those that can still be taken: each leads where some action of the model leads, too.
        concerns: Whether the bounds leave a state what healing needs; from others nothing is asked.
        goals: All that is known to ask of it.
    """

    actions: tuple[Action, ...]
    concerns: Callable[[State], bool]
    goals: tuple[Goal, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A protocol within bounds.

    Args:
        name: Its name.
        layout: Of its state.
        initial: The state it begins in, the first of these if there are several.
        actions: All that can happen, in the order in which they are taken.
        invariants: All that is known to ask of it.
        symmetry: Replicas that are taken for each other; None if each is told apart.
        healing: What goes on without faults; None where no goal is known.
        compiles: Whether numba compiles it; a model that is small within all of its bounds need not.
        others: Other states that it may begin in.
        settings: Names and values of Kafka's settings that its rules go by and no state has.
    """

    name: str
    layout: Layout
    initial: State
    actions: tuple[Action, ...]
    invariants: tuple[Invariant, ...]
    symmetry: Symmetry | None = None
    healing: Healing | None = None
    compiles: bool = True
    others: tuple[State, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def beginnings(self) -> tuple[State, ...]:
        """Every state that it may begin in."""
        return (self.initial, *self.others)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """All that is known to come about once no fault comes any more."""
        return self.healing.goals if self.healing is not None else ()


@dataclass(frozen=True, slots=True)
class Taken:
    """An action that was taken, with its choices.

    Args:
        action: The action.
        chosen: Its choices.
        state: The state after it.
    """

    action: Action
    chosen: tuple[int, ...]
    state: State


def keys_of(model: Model) -> Callable[[State], Key]:
    """Builds what makes one key of all states that the model does not tell apart."""
    layout = model.layout
    if model.symmetry is None:
        return layout.key
    representative = representative_of(layout, model.symmetry)

    def key(state: State) -> Key:
        return layout.key(representative(state))

    return key


def successors(model: Model, state: State) -> Iterator[Taken]:
    """Every action that can be taken in a state, with the state that it leads to."""
    return taken_from(model.layout, model.actions, state)


def taken_from(layout: Layout, actions: Iterable[Action], state: State) -> Iterator[Taken]:
    """Every one of some actions that can be taken in a state, with the state that it leads to."""
    after = layout.copy(state)
    for action in actions:
        for chosen in product(*map(range, action.choices)):
            if action.take(after, *chosen):
                yield Taken(action, chosen, after)
                after = layout.copy(state)
