"""One run of changes of partitions in a metadata log, between two other records: which operation each is of.

A controller appends the records of an operation together. Where a broker is unfenced or begins to shut down, its record
comes first and the changes after it; where a broker is fenced, registers or is unregistered, or its directory fails,
the changes come first and its record after them. Between these stand changes that were asked for.
Kafka: org.apache.kafka.controller.ReplicationControlManager.generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.traces.kraft import agrees
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.engine.versions.version import Version
from kreplica.formats.metadata_log.image import MetadataImage, PartitionState
from kreplica.formats.traces.kraft.facts import Unwritten, engine_state, facts_of
from kreplica.formats.traces.kraft.steps import (
    Candidates,
    Found,
    Leaving,
    Step,
    back,
    by_any_request,
    by_assignment_before,
    explained,
)

Places = Mapping[tuple[str, int], PartitionState]
"""States of partitions by topic id and index."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The record before a run, where it opens an operation.

    Args:
        broker: The broker that it is about.
        leaving: The same broker where it leaves; None where it is back.
    """

    broker: int
    leaving: Leaving | None

    @property
    def candidates(self) -> Candidates:
        """The decisions that it leads to."""
        return back if self.leaving is None else self.leaving.candidates


@dataclass(slots=True)
class Run:
    """A run, explained step by step.

    Args:
        steps: Its changes, in order.
        found: What became of each.
        opened: Number of those at its begin that its opening record led to.
        closed: Number of those at its end that its closing record goes with.
    """

    steps: Sequence[Step]
    found: list[Found]
    opened: int = 0
    closed: int = 0


def explain_run(
    steps: Sequence[Step],
    opening: Opening | None,
    closing: Leaving | None,
    cut: bool,
    possible: frozenset[Unwritten],
) -> tuple[Run, frozenset[Unwritten]]:
    """Explains the changes between two other records.

    Args:
        steps: The changes.
        opening, closing: What the records around them are about.
        cut: Whether the log, or the epoch of the quorum's leader, ends with them: an operation may then be cut off.
        possible: Settings outside the log that are possible so far.

    Returns:
        The run, and the settings that are possible after it.
    """
    found: dict[int, Found] = {}
    begin = _opened(steps, opening, possible, found)
    end = _closed(steps, begin, closing, possible, found)
    for number in range(begin, end):
        found[number] = _asked_for(steps[begin:number], steps[number], possible)
    if cut:
        _cut_off(steps, begin, possible, found)
    ordered = [found[number] for number in range(len(steps))]
    for one in ordered:
        possible = one.possible & possible or possible
    return Run(steps, ordered, begin, len(steps) - end), possible


def _asked_for(earlier: Sequence[Step], step: Step, possible: frozenset[Unwritten]) -> Found:
    """Explains a step by what was asked for, or by what was assigned before it."""
    one = by_any_request(step, possible)
    if one.rule is not None:
        return one
    others = (by_assignment_before(other, step, possible) for other in reversed(earlier))
    return next((other for other in others if other is not None and other.rule is not None), one)


def _opened(
    steps: Sequence[Step], opening: Opening | None, possible: frozenset[Unwritten], found: dict[int, Found]
) -> int:
    """Number of steps that the opening record explains."""
    if opening is None:
        return 0
    for number, step in enumerate(steps):
        one = explained(step, possible, opening.candidates)
        if one.rule is None:
            return number
        found[number] = one
    return len(steps)


def _closed(
    steps: Sequence[Step],
    begin: int,
    closing: Leaving | None,
    possible: frozenset[Unwritten],
    found: dict[int, Found],
) -> int:
    """Number of the first step that goes with the closing record."""
    end = len(steps)
    while closing is not None and end > begin:
        step = steps[end - 1]
        one = explained(step, possible, closing.candidates)
        if one.rule is None and _said_again(steps[begin:end], closing, possible):
            one = Found(closing.rule, possible)
        if one.rule is None or not closing.concerns(step.before):
            break
        end -= 1
        found[end] = one
    return end


def _said_again(steps: Sequence[Step], closing: Leaving, possible: frozenset[Unwritten]) -> bool:
    """True if the last step changes nothing, and repeats one that goes with the closing record.

    ReplicationControlManager.removeTopicElrs takes ELRs away and leaves them in brokersToElrs (seen in 4.3.1): a
    partition whose ELR the same broker joins once more is there twice, and when the broker may have lost records, or is
    unregistered, each entry gives the same record. Each raises the partition epoch.
    """
    *earlier, last = steps
    old, seen = last.states
    by_index = True in closing.unclean or closing.rule is TraceRule.broker_unregistered
    if not by_index or not agrees(old._replace(partition_epoch=old.partition_epoch + 1), seen):
        return False
    return any(
        one.states[0].partition == seen.partition and explained(one, possible, closing.candidates).rule is not None
        for one in earlier
    )


def _cut_off(steps: Sequence[Step], begin: int, possible: frozenset[Unwritten], found: dict[int, Found]) -> None:
    """Explains the end of a run by a broker that was leaving, where its own record is not there any more."""
    if not steps or found[len(steps) - 1].rule is not None:
        return
    for broker in steps[-1].brokers.registered:
        leaving = Leaving(broker, TraceRule.broker_fenced, (False, True))
        some: dict[int, Found] = {}
        end = _closed(steps, begin, leaving, possible, some)
        if all(found[number].rule is not None for number in range(begin, end)):
            found.update(some)
            return


def overdue(
    image: MetadataImage, version: Version, earlier: Places, opening: Opening, possible: frozenset[Unwritten]
) -> Iterator[tuple[str, int]]:
    """Partitions that an operation had to change and did not.

    Args:
        image: The cluster afterwards.
        version: The release's rules.
        earlier: Partitions that have changed since the operation, as they were when it was over.
        opening: What it was about.
        possible: Settings outside the log: a partition is overdue if it is with all of them.
    """
    leaving = opening.leaving
    for topic in image.topics.values():
        for number, now in topic.partitions.items():
            state = earlier.get((topic.id, number), now)
            if state.leader >= 0 if leaving is None else not _is_left(leaving, state):
                continue
            facts = facts_of(image, version, topic, number, state)
            step = engine_state(f"{topic.name}-{number}", state)
            due = (
                not any(agrees(one.state, step) for one in opening.candidates(step, step, circumstances))
                for circumstances, _ in facts.circumstances(possible)
            )
            if all(due):
                yield topic.name, number


def _is_left(leaving: Leaving, state: PartitionState) -> bool:
    return leaving.broker in state.isr and leaving.concerns(state)
