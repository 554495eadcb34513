"""Counterexamples of the models of answers under way, as plans for the scenario ``stale-fenced-answer``.

The scenario's brokers 2 and 3 are the model's leader and follower, its brokers 4 and 5 those that die. A question that
the leader answers in a later epoch than it was asked in is slow on its way; all else happens at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.epoch_answers.models import LEADER, TABLES, UnderWay, last_begun
from kreplica.engine.fault_plan import At, Crash, ExpireSession, Slow, Step, in_order
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.scenarios.library.truncation.stale_fenced_answer import SCENARIO

FOLLOWER, MOST_DEATHS = 1, 2
BEGIN, APART, BEHIND = 3 * SECOND, 2 * SECOND, 1 * SECOND
"""Time of the first death, from one to the next, and from the last until a slow question arrives."""


def plan_of_answers(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if the scenario has no brokers for it.

    Args:
        model: One of the models of answers under way.
        steps: The counterexample.
    """
    deaths = last_begun(steps[-1].state)
    if len(model.initial.epoch) != FOLLOWER + 1 or deaths > MOST_DEATHS:
        return None
    plan = in_order([*_deaths(deaths), *_slow_questions(steps)])
    return PlanFile(scenario=SCENARIO.name, kafka_version=TABLES[model.name].name, steps=plan)


def _deaths(count: int) -> Iterator[Step]:
    for epoch in range(1, count + 1):
        node = f"broker-{FOLLOWER + 2 + epoch}"
        yield Step(At(_begins(epoch)), Crash(node))
        yield Step(At(_begins(epoch)), ExpireSession(node))


def _slow_questions(steps: Sequence[Taken]) -> Iterator[Step]:
    for step in steps:
        state = step.state
        if step.action.name == "answer" and state.under_way[FOLLOWER] == UnderWay.ANSWER_TO_QUESTION:
            asked, answered = state.asked_in[FOLLOWER], state.epoch[LEADER]
            if answered > asked:
                delay = _begins(answered) + BEHIND - _begins(asked)
                slow = Slow(f"broker-{FOLLOWER + 2}", f"broker-{LEADER + 2}", delay, BEHIND, one_way=True)
                yield Step(At(_begins(asked) - MILLISECOND), slow)


def _begins(epoch: int) -> int:
    """Time at which the broker dies by whose death a leader epoch begins."""
    return BEGIN + (epoch - 1) * APART
