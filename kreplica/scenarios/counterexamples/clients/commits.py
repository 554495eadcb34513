"""Counterexamples of consumers that commit, as plans for the scenarios of processing, with one consumer and its group.

The application crashes when it has done the step before, and starts again. Where it has processed and is to commit by
hand, but not yet, its requests are lost meanwhile; enable.auto.commit commits at every poll where the counterexample
has a commit. What keeps the invariant is another application under the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace as changed

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.commits import CommitsState
from kreplica.engine.explorer.models.clients.traces.commits import CONSUMER, COORDINATOR, ORDERS
from kreplica.engine.fault_plan import Crash, Cut, Start, Step, When
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut, producers_of
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import LATEST
from kreplica.scenarios.library.consumers.consumer_dup_on_rebalance import SCENARIO as AFTER
from kreplica.scenarios.library.processing.auto_commit_in_the_loop import SCENARIO as AUTO
from kreplica.scenarios.library.processing.commit_before_process import SCENARIO as BEFORE
from kreplica.scenarios.library.processing.handed_off_auto_commit import SCENARIO as HANDED_OVER
from kreplica.scenarios.library.processing.offset_as_lock import SCENARIO as KEPT
from kreplica.scenarios.scenario import Scenario

OTHER = "consumer-b"
"""The scenarios' second consumer, which is left out."""
ONE_A_POLL = {"max.poll.records": "1"}
AT_EVERY_POLL = {"auto.commit.interval.ms": "50"}
"""Settings; a poll that waits for records takes 100 ms, and Kafka's default commits every 5 s."""
LOST, DOWN = 5 * SECOND, 6 * SECOND
"""Time for which requests are lost, and that the application is down."""


@dataclass(frozen=True, slots=True)
class _Application:
    """An application of a model.

    Args:
        scenario: It has such a consumer.
        keeps: By invariant, who keeps it and in which words.
    """

    scenario: Scenario
    keeps: Mapping[str, tuple[Scenario, str]]


_NOT_EARLY = (AFTER, "committed after it is processed")
_IN_THE_LOOP = (AUTO, "processed by the thread that polls")
_ONCE = (KEPT, "offsets kept beside the results")
APPLICATIONS: Mapping[str, _Application] = {
    "commit-before": _Application(BEFORE, {"nothing-skipped": _NOT_EARLY, "commit-behind": _NOT_EARLY}),
    "commit-after": _Application(AFTER, {"processed-once": _ONCE}),
    "commit-auto": _Application(AUTO, {"processed-once": _ONCE}),
    "commit-handed-over": _Application(
        HANDED_OVER,
        {"nothing-skipped": _IN_THE_LOOP, "commit-behind": _IN_THE_LOOP, "processed-once": _ONCE},
    ),
}
"""By model."""


BY_HAND = ("commit-before", "commit-after")
"""Models of which the application commits by itself."""


def commit_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if the application crashes before it has done anything.

    Args:
        model: One of the models of consumers that commit.
        steps: The counterexample.
    """
    names = [step.action.name for step in steps]
    if names[0] == "crash" or names.count("crash") > 1:
        return None
    scenario, last = APPLICATIONS[model.name].scenario, steps[-1].state
    by_hand = model.name in BY_HAND
    often = not by_hand and last.committed[0] > 0
    return PlanFile(
        scenario=scenario.name,
        kafka_version=LATEST.name,
        settings={**ONE_A_POLL, **(AT_EVERY_POLL if often else {})},
        leave_out=_left_out(scenario, max(step.state.position[0] for step in steps)),
        steps=tuple(_faults(steps, by_hand)),
    )


def kept_by(model: str, invariant: str, file: PlanFile) -> tuple[PlanFile, str]:
    """The plan for the application that keeps an invariant, and that in words.

    Args:
        model: Name of the model.
        invariant: Name of the invariant.
        file: The plan of a counterexample.
    """
    scenario, words = APPLICATIONS[model].keeps[invariant]
    ((begin, end),) = file.leave_out.records.values()
    return changed(file, scenario=scenario.name, leave_out=_left_out(scenario, end - begin)), words


def _left_out(scenario: Scenario, records: int) -> LeaveOut:
    """The second consumer, and all records but m1 and those behind it."""
    (writer,) = producers_of(scenario.setup)
    return LeaveOut(clients=(OTHER,), records={writer: (1, 1 + records)})


def _faults(steps: Sequence[Taken], by_hand: bool) -> Iterator[Step]:
    for place, step in enumerate(steps):
        if step.action.name != "crash":
            continue
        done = steps[place - 1]
        before: CommitsState = done.state
        if by_hand and done.action.name == "process" and before.committed[0] < before.position[0]:
            polled = When(Kind.CONSUMED, CONSUMER, {"offset": before.position[0] - 1})
            yield Step(polled, Cut(CONSUMER, "*", LOST, one_way=True))
        yield Step(_once(done), Crash(CONSUMER))
        again = _once(done)
        yield Step(When(again.kind, again.node, again.fields, again.count, again.after + DOWN), Start(CONSUMER))


def _once(done: Taken) -> When:
    """The event by which a step has been done."""
    state: CommitsState = done.state
    if done.action.name == "commit":
        committed: dict[str, int | str | bool] = {"partition": ORDERS, "offset": state.committed[0]}
        return When(Kind.OFFSET_COMMITTED, COORDINATOR, committed, after=MILLISECOND)
    if done.action.name == "poll":
        return When(Kind.CONSUMED, CONSUMER, {"offset": state.position[0] - 1}, after=MILLISECOND)
    return When(Kind.PROCESSED, CONSUMER, {"offset": done.chosen[0]})
