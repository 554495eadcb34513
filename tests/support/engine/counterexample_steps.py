"""Steps of a model by the names of their actions, as counterexamples have them."""

from __future__ import annotations

from collections.abc import Iterable

from kreplica.engine.explorer.model import Model, Taken, successors


def taken(model: Model, choices: Iterable[tuple[str | int, ...]]) -> list[Taken]:
    """The steps from a model's first state.

    Args:
        model: The model.
        choices: The name of each action, and what it chooses or the beginning of that: the first such step is taken.
    """
    state, steps = model.initial, list[Taken]()
    for wanted in choices:
        found = (one for one in successors(model, state) if (one.action.name, *one.chosen)[: len(wanted)] == wanted)
        steps.append(next(found))
        state = steps[-1].state
    return steps
