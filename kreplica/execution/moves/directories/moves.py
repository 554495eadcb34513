"""Changes of log directories within a run of moves: begun as the window lets them, followed, taken back.

A broker copies the replica into a future one in the other directory, and swaps them when that has caught up; asked for
the directory that the replica is in it drops the future one at once. So a change is over when the broker shows the
replica there, and can be asked for twice without harm. While a partition is being reassigned none of it begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.control.log_directories import UNANSWERED
from kreplica.control.log_directories import DirectoryResult as Answer
from kreplica.errors import ChangeRefusedError, KreplicaError, UnreachableError
from kreplica.execution.moves.directories.stage import (
    DirectoryCheck,
    DirectoryStage,
    ToldLogs,
    brokers_of,
    check_directory,
    future_sizes,
)
from kreplica.execution.moves.plans.journal import DirectoryNote, DirectoryResult, Event, Outcome, entry
from kreplica.execution.moves.plans.plan import queued_directory
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.moves.requests import REQUEST_LOST, TAKEN_SECONDS, UnansweredRequests
from kreplica.execution.plan_journal import Operation
from kreplica.model.wording.words import counted
from kreplica.sources.kafka.log_dirs import BrokerLogs

if TYPE_CHECKING:
    from kreplica.execution.moves.session import MoveSession
    from kreplica.execution.moves.throttles.throttling import Throttling
    from kreplica.execution.plan import PartitionKey
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory, ReplicaKey
    from kreplica.planner.reassignment.moves.order import MoveKey, MoveWindow, QueuedMove

SETTLE_SECONDS = 60.0
"""Seconds in which a change that is taken back has to be gone."""

_NOT_CAUGHT_UP = "its copy does not catch up: a throttle below what is written, or a slow disk"


@dataclass(slots=True)
class _Asked:
    """A change in flight: when it was asked for, whether it was seen, and the bytes that its copy has."""

    change: ChangedDirectory
    at: float
    seen: bool = False
    copied: int = 0


@dataclass(frozen=True, slots=True)
class Watch:
    """The run's own sense of time.

    Args:
        now: Seconds of its clock.
        renew: Called when something has moved on.
        stays_strange: Whether something has looked changed by somebody else for long enough.
        settled: Called when it does not look so any more.
    """

    now: Callable[[], float]
    renew: Callable[[], None]
    stays_strange: Callable[[MoveKey], bool]
    settled: Callable[[MoveKey], None]


class DirectoryMoves:
    """Changes of log directories of one run.

    Args:
        session: What the run works with.
        operation: The operation, for the journal.
        window: The moves of the run that wait and that are in flight; those of log directories are told by their keys.
        throttling: The throttles of the run.
        watch: The run's sense of time.
    """

    def __init__(
        self, session: MoveSession, operation: Operation, window: MoveWindow, throttling: Throttling, watch: Watch
    ) -> None:
        self._session, self._operation = session, operation
        self._window, self._throttling, self._watch = window, throttling, watch
        self._facts = session.plan.facts
        self._logs: ToldLogs = {}
        self._asked: dict[ReplicaKey, _Asked] = {}
        self._unanswered = UnansweredRequests()
        self.waiting: dict[ReplicaKey, ChangedDirectory] = {}
        self.postponed: dict[ReplicaKey, str] = {}

    @property
    def in_flight(self) -> list[ChangedDirectory]:
        """Changes that were asked for and have not ended."""
        return [one.change for one in self._asked.values()]

    @property
    def followed(self) -> list[ChangedDirectory]:
        """Changes whose brokers have to be asked."""
        return [*self.in_flight, *self.waiting.values()]

    @property
    def partitions(self) -> set[PartitionKey]:
        """Partitions of changes in flight."""
        return {change.key for change in self.in_flight}

    def take_up(self, changes: Sequence[ChangedDirectory], snapshot: ClusterSnapshot) -> None:
        """Sorts changes into those in flight and those that wait."""
        if not changes:
            return
        within = self._session.progress.within
        states = within.rollback if self._operation is Operation.ROLLBACK else within.apply
        self._logs = self._session.cluster.logs(brokers_of(changes), [change.key for change in changes])
        for change in changes:
            key, stage = change.replica, self._check(snapshot, change).stage
            if states.get(key) is MoveState.UNDER_WAY and stage is not DirectoryStage.BEFORE:
                self._window.begin(queued_directory(change))
                self._asked[key] = _Asked(change, self._watch.now(), seen=True)
            else:
                self.waiting[key] = change
                self._window.add(queued_directory(change))

    def see(self, logs: ToldLogs) -> None:
        """Takes what brokers tell of their log directories."""
        self._logs, sizes = logs, future_sizes(logs)
        for key, one in self._asked.items():
            copied = sizes.get(key, 0)
            if copied > one.copied:
                one.copied = copied
                self._watch.renew()

    def lacking(self) -> dict[PartitionKey, tuple[int, int]]:
        """Bytes of partitions on their way, and bytes that their future copies lack, as far as brokers tell."""
        found: dict[PartitionKey, tuple[int, int]] = {}
        copies = [one for told in self._logs.values() if isinstance(told, BrokerLogs) for one in told.replicas]
        sizes = {(copy.topic, copy.partition, copy.broker): copy.size for copy in copies if not copy.future}
        futures = future_sizes(self._logs)
        for key, one in self._asked.items():
            if key in sizes and key in futures:
                size, left = found.get(one.change.key, (0, 0))
                found[one.change.key] = max(size, sizes[key]), left + max(0, sizes[key] - futures[key])
        return found

    def note_ended(self, snapshot: ClusterSnapshot) -> None:
        """Notes what has ended, which leaves the window."""
        results = [
            result
            for one in self._asked.values()
            if (result := self._result(one, self._check(snapshot, one.change))) is not None
        ]
        if not results:
            return
        self._watch.renew()
        self._note(results)
        for result in results:
            if result.outcome is Outcome.NOT_BEGUN:
                self._wait_again(self._asked[result.replica].change, result.reason)
                continue
            del self._asked[result.replica]
            self._window.end(result.replica, made=result.outcome is Outcome.DONE)
        done = sum(result.outcome is Outcome.DONE for result in results)
        left = f"{len(self._asked)} in flight, {len(self.waiting)} waiting"
        self._session.options.tell(f"{counted(done, 'change')} of log directories done, {left}")

    def _result(self, one: _Asked, check: DirectoryCheck) -> DirectoryResult | None:
        """The end of a change, None as long as it goes on."""
        key = one.change.replica
        if check.stage is DirectoryStage.AFTER:
            return DirectoryResult(*key, Outcome.DONE)
        if check.stage is DirectoryStage.MOVING:
            one.seen = True
        unseen = check.stage is DirectoryStage.BEFORE and not check.reason and not one.seen
        waits = unseen and self._watch.now() - one.at < TAKEN_SECONDS
        if check.stage in (DirectoryStage.MOVING, DirectoryStage.UNKNOWN) or waits:
            self._watch.settled(key)
            return None
        if unseen and self._unanswered.may_ask_again(key):
            return DirectoryResult(*key, Outcome.NOT_BEGUN, REQUEST_LOST)
        if not self._watch.stays_strange(key):
            return None
        before = "it is where it was: somebody took the change back, or the request was lost"
        return DirectoryResult(*key, Outcome.FAILED, check.reason or before)

    def choose(
        self, snapshot: ClusterSnapshot, moves: Sequence[QueuedMove]
    ) -> tuple[list[ChangedDirectory], list[QueuedMove]]:
        """Looks at changes again that the window lets begin: those that can, and those that have to wait on.

        What no longer fits the plan is noted and waits no more.
        """
        chosen, postponed, results = [], [], []
        for move in moves:
            change = self.waiting[_replica(move)]
            result, reason = self._ready(snapshot, change)
            if result is None and not reason:
                chosen.append(change)
                continue
            self._window.end(move.key, made=False)
            if result is not None:
                results.append(result)
                del self.waiting[change.replica]
                self.postponed.pop(change.replica, None)
            else:
                self.postponed[change.replica] = reason
                postponed.append(move)
        if results:
            self._note(results)
            self._watch.renew()
        return chosen, postponed

    def _ready(self, snapshot: ClusterSnapshot, change: ChangedDirectory) -> tuple[DirectoryResult | None, str]:
        """The end of a change that will not begin, or why it waits; neither where it can begin."""
        check = self._check(snapshot, change)
        if check.stage is DirectoryStage.AFTER:
            return DirectoryResult(*change.replica, Outcome.ALREADY, "it was in that directory before its turn"), ""
        if check.stage is DirectoryStage.UNKNOWN:
            return None, check.reason
        reason = check.reason
        if check.stage is DirectoryStage.MOVING:
            reason = "somebody else began the same move"
        if reason:
            if self._watch.stays_strange(change.replica):
                return DirectoryResult(*change.replica, Outcome.LEFT_OUT, reason), ""
            return None, reason
        self._watch.settled(change.replica)
        row = snapshot.row_number(*change.key)
        moving = snapshot.lists("adding")[row] or snapshot.lists("removing")[row]
        return None, "its partition is being reassigned" if moving else ""

    def begin(self, changes: Sequence[ChangedDirectory]) -> None:
        """Throttles, notes and asks for changes; those whose throttle cannot be set wait on.

        Raises:
            ChangeRefusedError: The credentials may not change log directories, or set throttles.
            UnreachableError: The cluster did not answer before anything was asked for.
        """
        uncovered = self._throttling.cover_directories(changes)
        for change in changes:
            if why := uncovered.get(change.broker):
                self._wait_again(change, f"its throttle cannot be set: {why}")
        ready = [change for change in changes if change.broker not in uncovered]
        if not ready:
            return
        notes = tuple(DirectoryNote(*one.replica, one.source, one.destination) for one in ready)
        self._session.journal.append(entry(Event.INTENDED, self._operation, directories=notes))
        for change in ready:
            self._asked[change.replica] = _Asked(change, self._watch.now())
            del self.waiting[change.replica]
        self._watch.renew()
        self._unanswered.ask(change.replica for change in ready)
        try:
            answers = self._session.cluster.place({one.replica: one.destination for one in ready})
        except UnreachableError as error:  # they may have been begun all the same: the next looks tell
            self._unanswered.note(change.replica for change in ready)
            self._session.options.tell(str(error))
            return
        except KreplicaError as error:
            self._not_begun(ready, str(error))
            raise
        self._note_answers(ready, answers)

    def _wait_again(self, change: ChangedDirectory, why: str) -> None:
        """Lets a change that was to begin wait again; the window has it in flight."""
        self._window.end(change.replica, made=False)
        self._window.add(queued_directory(change))
        self._asked.pop(change.replica, None)
        self.waiting[change.replica] = change
        self.postponed[change.replica] = why

    def wait_again(self, changes: Iterable[ChangedDirectory], why: str) -> None:
        """Lets changes that the window has in flight and that were not asked for wait again."""
        for change in changes:
            if change.replica in self.waiting and change.replica in self._window.in_flight:
                self._wait_again(change, why)

    def _not_begun(self, changes: Sequence[ChangedDirectory], why: str) -> None:
        self._note([DirectoryResult(*one.replica, Outcome.NOT_BEGUN, why) for one in changes])
        for change in changes:
            self._wait_again(change, why)

    def _note_answers(self, changes: Sequence[ChangedDirectory], answers: Mapping[ReplicaKey, Answer]) -> None:
        """Notes changes that brokers refused; one that was not answered may have begun all the same."""
        denied = [one for one in changes if answers[one.replica].error == _DENIED]
        if denied:
            why = answers[denied[0].replica].message
            self._not_begun(denied, why)
            raise ChangeRefusedError("log directories cannot be changed", why)
        self._unanswered.note(one.replica for one in changes if answers[one.replica].error == UNANSWERED)
        results = []
        for change in changes:
            answer = answers[change.replica]
            if answer.remembered:
                reason = f"broker {change.broker} has no replica of it any more"
                results.append(DirectoryResult(*change.replica, Outcome.LEFT_OUT, reason))
            elif answer.error and answer.error != UNANSWERED:
                why = f"{answer.error}, {answer.message}" if answer.message else answer.error
                results.append(DirectoryResult(*change.replica, Outcome.FAILED, f"broker {change.broker}: {why}"))
        if not results:
            return
        self._note(results)
        for result in results:
            del self._asked[result.replica]
            self._window.end(result.replica, made=False)

    def stuck(self, snapshot: ClusterSnapshot) -> list[str]:
        """Clauses on changes in flight, each with the likeliest reason why it does not end, and on those that wait."""
        reasons = {
            one.change.replica: self._check(snapshot, one.change).reason or _NOT_CAUGHT_UP
            for one in self._asked.values()
        }
        told = [*list(reasons.items())[:3], *list(self.postponed.items())[:3]]
        return [f"{topic}-{number} on broker {broker}: {why}" for (topic, number, broker), why in told]

    def _check(self, snapshot: ClusterSnapshot, change: ChangedDirectory) -> DirectoryCheck:
        return check_directory(snapshot, self._logs, self._facts[change.key], change)

    def _note(self, results: Sequence[DirectoryResult]) -> None:
        self._session.journal.append(entry(Event.FINISHED, self._operation, directory_results=tuple(results)))


_DENIED = "CLUSTER_AUTHORIZATION_FAILED"


def _replica(move: QueuedMove) -> ReplicaKey:
    assert len(move.key) == 3, "moves of partitions are told apart before"
    return move.key


def why_stuck_within(check: DirectoryCheck) -> str:
    """Reason why a change in flight would not end, where one shows."""
    return check.reason if check.stage in (DirectoryStage.MOVING, DirectoryStage.UNKNOWN) else ""


def take_directories_back(session: MoveSession) -> Mapping[ReplicaKey, str]:
    """Takes back the changes of log directories of a plan that are in flight: asks for the directory before again.

    Returns:
        Those that are not back, each with what they wait for.

    Raises:
        ChangeRefusedError: The credentials may not change log directories.
        UnreachableError: The cluster did not answer before anything was asked for.
    """
    states = session.progress.within.apply
    changes = [one for one in session.plan.changed_directories if states[one.replica] is MoveState.UNDER_WAY]
    if not changes:
        return {}
    notes = tuple(DirectoryNote(*one.replica, one.source, one.source) for one in changes)
    session.journal.append(entry(Event.INTENDED, Operation.CANCEL, directories=notes))
    left = {one.replica: one for one in changes}
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        why = _look_back(session, left)
        if not left or all(one.startswith(_DOWN) for one in why.values()) or time.monotonic() > deadline:
            return why
        time.sleep(session.options.poll)


_DOWN = "it waits for broker"


def _look_back(session: MoveSession, left: dict[ReplicaKey, ChangedDirectory]) -> dict[ReplicaKey, str]:
    """Notes what is back, or was made meanwhile, and asks for the rest; those left, each with what it waits for."""
    changes = list(left.values())
    snapshot = session.cluster.snapshot()
    logs = session.cluster.logs(brokers_of(changes), [one.key for one in changes])
    results, why = [], {}
    ask: dict[ReplicaKey, str] = {}
    for change in changes:
        check = check_directory(snapshot, logs, session.plan.facts[change.key], change)
        if check.stage is DirectoryStage.BEFORE:
            results.append(DirectoryResult(*change.replica, Outcome.CANCELLED, "taken back in flight"))
        elif check.stage is DirectoryStage.AFTER:
            results.append(DirectoryResult(*change.replica, Outcome.DONE))
        elif check.stage is DirectoryStage.ELSEWHERE:
            results.append(DirectoryResult(*change.replica, Outcome.FAILED, check.reason))
        elif check.stage is DirectoryStage.UNKNOWN:
            why[change.replica] = f"{_DOWN} {change.broker}: {check.reason}"
        else:
            why[change.replica] = "its future copy is not gone yet"
            ask[change.replica] = change.source
    if results:
        session.journal.append(entry(Event.FINISHED, Operation.CANCEL, directory_results=tuple(results)))
    for result in results:
        del left[result.replica]
    for (topic, number, broker), answer in session.cluster.place(ask).items() if ask else ():
        if answer.error == _DENIED:
            raise ChangeRefusedError("log directories cannot be changed", answer.message)
        if answer.error:
            session.options.tell(f"{topic}-{number} on broker {broker}: {answer.error}")
    return why
