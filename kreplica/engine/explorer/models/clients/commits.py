"""A consumer that polls one record at a time, processes it, commits, and crashes: what is skipped, what is repeated."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Invariant, Model
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.rules.groups.consumer_position import auto_commit_due


class Commits(IntEnum):
    """When the application commits, and who processes."""

    BEFORE = 0
    """By hand, as soon as a poll has returned."""
    AFTER = 1
    """By hand, after what a poll returned is processed."""
    AUTO = 2
    """With enable.auto.commit; what a poll returned is processed before the next one."""
    HANDED_OVER = 3
    """With enable.auto.commit; other threads process while the next poll is made."""


class CommitsState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        position: The next offset to poll.
        committed: The committed offset.
        times: How often each record was processed.
        in_hand: 1 for each record that was polled and waits to be processed.
        faults: Crashes that are left.
    """

    position: list[int]
    committed: list[int]
    times: list[int]
    in_hand: list[int]
    faults: list[int]


def commits_model(name: str, bounds: ClientBounds, commits: Commits) -> Model:
    """A model within bounds.

    Args:
        name: Its name.
        bounds: Its bounds.
        commits: When it commits.
    """
    records = bounds.records
    layout = Layout(
        CommitsState,
        {
            "position": Field(records),
            "committed": Field(records),
            "times": Field(bounds.faults + 1, count=records),
            "in_hand": Field(1, count=records),
            "faults": Field(bounds.faults),
        },
    )
    begins = CommitsState([0], [0], [0] * records, [0] * records, [bounds.faults])
    return Model(name, layout, begins, _actions(records, commits), INVARIANTS, compiles=False)


def _actions(records: int, commits: Commits) -> tuple[Action, ...]:
    automatic = commits in (Commits.AUTO, Commits.HANDED_OVER)

    def polls(state: CommitsState, _: int) -> bool:
        position = state.position[0]
        waits = any(state.in_hand) and commits is not Commits.HANDED_OVER
        uncommitted = not automatic and state.committed[0] != position
        if position == records or waits or uncommitted:
            return False
        if automatic and auto_commit_due(0, 0, 0):  # as if the interval were always over
            state.committed[0] = position
        state.in_hand[position] = 1
        state.position[0] = position + 1
        return True

    def processes(state: CommitsState, record: int) -> bool:
        early = commits is Commits.BEFORE and state.committed[0] != state.position[0]
        if state.in_hand[record] == 0 or early:
            return False
        state.in_hand[record] = 0
        state.times[record] += 1
        return True

    def commits_position(state: CommitsState, _: int) -> bool:
        waits = any(state.in_hand) and commits is Commits.AFTER
        if automatic or waits or state.committed[0] == state.position[0]:
            return False
        state.committed[0] = state.position[0]
        return True

    def crashes(state: CommitsState, _: int) -> bool:
        if state.faults[0] == 0:
            return False
        state.faults[0] -= 1
        state.position[0] = state.committed[0]
        state.in_hand[:] = [0] * records
        return True

    return (
        Action("poll", polls, (1,), "the application polls the next record", (1,)),
        Action("process", processes, (records,), "the application processes record {0}", (1,)),
        Action("commit", commits_position, (1,), "the application commits its position", (1,)),
        Action("crash", crashes, (1,), "the application crashes, and starts at the committed offset", (1,)),
    )


def nothing_skipped(state: CommitsState) -> bool:
    """True if every record before the position is processed, or in hand."""
    records = range(state.position[0])
    return all(state.times[record] > 0 or state.in_hand[record] for record in records)


def processed_once(state: CommitsState) -> bool:
    """True if no record was processed twice."""
    return max(state.times) <= 1


def commits_what_is_processed(state: CommitsState) -> bool:
    """True if every record below the committed offset is processed."""
    return all(state.times[record] > 0 for record in range(state.committed[0]))


INVARIANTS = (
    Invariant("nothing-skipped", nothing_skipped, "no record is passed over unprocessed"),
    Invariant("processed-once", processed_once, "no record is processed twice"),
    Invariant("commit-behind", commits_what_is_processed, "no commit is past what was processed"),
)
