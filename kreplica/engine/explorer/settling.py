"""Goals that come about once no fault comes any more, by backward search over the states that a search has found.

Once faults have ended, some actions of a model go on. A goal settles if, from every state that can be reached, these
lead to a goal that is never left again, as long as each that can be taken time and again is taken some time (strong
fairness). In a finite graph that is: from every state some way leads to a state from which only goals are reached. So
there are two searches backwards::

    leaves   the states from which a state without the goal is reached: its complement is settled
    settles  the states from which a settled one is reached

A state outside the last set is one from which the goal may never come about, or never stay. Liveness by fairness
alone says nothing of time: the simulator judges that.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.layout import Key
from kreplica.engine.explorer.model import Goal, Healing, Model, keys_of, taken_from

After = Sequence[Sequence[int]]
"""For each state those that one action of the healing leads to."""


def healing_of(model: Model) -> Healing:
    """The healing of a model that has goals."""
    assert model.healing is not None, f"{model.name} has no goals"
    return model.healing


def afterwards(model: Model, keys: Sequence[Key]) -> After:
    """The states that each state leads to without faults.

    Args:
        model: The model.
        keys: Its states, all that can be reached.
    """
    key, actions = keys_of(model), healing_of(model).actions
    places = {each: place for place, each in enumerate(keys)}
    return [
        tuple({places[key(taken.state)] for taken in taken_from(model.layout, actions, model.layout.state(each))})
        for each in keys
    ]


def spread(marks: list[bool], after: After) -> None:
    """Marks every state from which a marked one is reached."""
    changed = True
    while changed:
        changed = False
        for state in range(len(marks) - 1, -1, -1):
            if not marks[state] and any(marks[each] for each in after[state]):
                marks[state] = changed = True


def settling(model: Model, keys: Sequence[Key], after: After, goal: Goal) -> list[bool]:
    """True for each state from which a goal settles."""
    leaves = [not goal.reached(model.layout.state(each)) for each in keys]
    spread(leaves, after)
    settles = [not each for each in leaves]
    spread(settles, after)
    return settles


def first_unsettled(model: Model, keys: Sequence[Key], settles: Sequence[int]) -> int | None:
    """The first state that is concerned and does not settle; None if there is none.

    Args:
        model: The model.
        keys: Its states, in the order of the search.
        settles: For each state whether the goal settles from there.
    """
    concerns = healing_of(model).concerns
    unsettled = (place for place, settled in enumerate(settles) if not settled)
    return next((place for place in unsettled if concerns(model.layout.state(keys[place]))), None)
