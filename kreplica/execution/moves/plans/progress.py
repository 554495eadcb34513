"""Progress of a plan of replicas: its journal, replayed. Pure: only the cluster can tell what is under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kreplica.execution.moves.plans.journal import (
    CordonNote,
    DirectoryResult,
    Entry,
    Event,
    ListNote,
    MoveResult,
    Outcome,
    RateNote,
)
from kreplica.execution.moves.plans.plan import ReplicaPlan
from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import Operation, Phase, phase_after
from kreplica.planner.reassignment.directories.changed_directory import ReplicaKey


class MoveState(StrEnum):
    """States of one partition of a plan.

    ``under-way`` was asked for and its end is not known. ``already`` was found made before its turn, ``left-out`` no
    longer fits the cluster, ``cancelled`` was taken back in flight; ``dropped`` was not begun when the plan was
    cancelled or rolled back.
    """

    PENDING = "pending"
    UNDER_WAY = "under-way"
    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    LEFT_OUT = "left-out"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


_STATES = {
    Outcome.DONE: MoveState.DONE,
    Outcome.ALREADY: MoveState.ALREADY,
    Outcome.FAILED: MoveState.FAILED,
    Outcome.LEFT_OUT: MoveState.LEFT_OUT,
    Outcome.NOT_BEGUN: MoveState.PENDING,
    Outcome.CANCELLED: MoveState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Owed:
    """Throttles that may be set and have to be put back.

    Args:
        rates: Rates by broker and name, with the last value that was announced and the one before the first.
        lists: Entries by topic and list.
        announced: Every value that was announced of each rate: after a kill, or where a broker did not answer, an
            earlier one may hold.
    """

    rates: Mapping[tuple[int, str], RateNote]
    lists: Mapping[tuple[str, str], ListNote]
    announced: Mapping[tuple[int, str], frozenset[str]]

    def is_ours(self, key: tuple[int, str], value: str | None) -> bool:
        """True if a run of this plan may have set the value that a broker tells."""
        return value in self.announced.get(key, ())

    def __bool__(self) -> bool:
        return bool(self.rates or self.lists)


@dataclass(frozen=True, slots=True)
class DirectoryProgress:
    """Progress of a plan's changes of log directories, by replica.

    Args:
        apply: State of each replica's change.
        rollback: State of each way back; only those that were begun.
        results: The last result of each replica that has one.
        taking_back: Replicas whose change was to be taken back in flight, and of which the end is not known.
    """

    apply: Mapping[ReplicaKey, MoveState] = field(default_factory=dict)
    rollback: Mapping[ReplicaKey, MoveState] = field(default_factory=dict)
    results: Mapping[ReplicaKey, DirectoryResult] = field(default_factory=dict)
    taking_back: frozenset[ReplicaKey] = frozenset()


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """Progress of a plan as its journal records it.

    Args:
        phase: The plan's phase.
        apply: State of each partition's change.
        rollback: State of each partition's way back; only those that were begun.
        results: The last result of each partition that has one.
        owed: Throttles that have to be put back.
        cordoned: Brokers whose cordon has to be put back.
        taking_back: Partitions whose move was to be cancelled in flight, and of which the end is not known.
        message: Why the last run stopped early, empty if it did not.
        within: Progress of changes of log directories.
    """

    phase: Phase
    apply: Mapping[PartitionKey, MoveState]
    rollback: Mapping[PartitionKey, MoveState]
    results: Mapping[PartitionKey, MoveResult]
    owed: Owed
    taking_back: frozenset[PartitionKey] = frozenset()
    cordoned: Mapping[int, CordonNote] = field(default_factory=dict)
    message: str = ""
    within: DirectoryProgress = field(default_factory=DirectoryProgress)

    @property
    def owes(self) -> bool:
        """True if throttles or cordons have to be put back."""
        return bool(self.owed or self.cordoned)

    @property
    def rolled(self) -> bool:
        """True if the plan is being, or was, rolled back."""
        return self.phase in (Phase.ROLLING_BACK, Phase.ROLLED_BACK)


def replay_moves(plan: ReplicaPlan, entries: Iterable[Entry]) -> MoveProgress:
    """Replays the entries of a plan's journal."""
    apply = {change.key: MoveState.PENDING for change in plan.changes}
    rollback: dict[PartitionKey, MoveState] = {}
    results: dict[PartitionKey, MoveResult] = {}
    owed, taking_back = Ledger(), set[PartitionKey]()
    cordoned: dict[int, CordonNote] = {}
    phase, message = Phase.NEW, ""
    within = _DirectoryLedger(plan)
    for one in entries:
        within.count(one)
        states = rollback if one.operation is Operation.ROLLBACK else apply
        states.update({note.key: MoveState.UNDER_WAY for note in one.moves if note.target})
        taking_back |= {note.key for note in one.moves if not note.target}
        taking_back -= {result.key for result in one.results}
        states.update({result.key: _STATES[result.outcome] for result in one.results})
        results.update({result.key: result for result in one.results})
        owed.count(one)
        _count_cordons(cordoned, one)
        phase = phase_after(phase, one.event, one.operation)
        if one.event in (Event.STARTED, Event.STOPPED, Event.COMPLETED):
            message = one.message
    if phase in (Phase.CANCELLED, Phase.ROLLING_BACK, Phase.ROLLED_BACK):
        apply = {key: _dropped(state) for key, state in apply.items()}
        within.apply = {key: _dropped(state) for key, state in within.apply.items()}
    return MoveProgress(
        phase, apply, rollback, results, owed.owed, frozenset(taking_back), cordoned, message, within.progress
    )


def _dropped(state: MoveState) -> MoveState:
    """State of a change that nobody will begin any more."""
    return MoveState.DROPPED if state is MoveState.PENDING else state


class _DirectoryLedger:
    """Changes of log directories, entry by entry."""

    def __init__(self, plan: ReplicaPlan) -> None:
        self.apply = {one.replica: MoveState.PENDING for one in plan.changed_directories}
        self._rollback: dict[ReplicaKey, MoveState] = {}
        self._results: dict[ReplicaKey, DirectoryResult] = {}
        self._taking_back: set[ReplicaKey] = set()

    @property
    def progress(self) -> DirectoryProgress:
        return DirectoryProgress(self.apply, self._rollback, self._results, frozenset(self._taking_back))

    def count(self, one: Entry) -> None:
        states = self._rollback if one.operation is Operation.ROLLBACK else self.apply
        back = {note.replica for note in one.directories if note.target == note.before}
        states.update({note.replica: MoveState.UNDER_WAY for note in one.directories if note.replica not in back})
        self._taking_back |= back
        self._taking_back -= {result.replica for result in one.directory_results}
        states.update({result.replica: _STATES[result.outcome] for result in one.directory_results})
        self._results.update({result.replica: result for result in one.directory_results})


def _count_cordons(cordoned: dict[int, CordonNote], one: Entry) -> None:
    """Counts a line of the journal; what was there before the first time is what is put back."""
    for note in one.cordons:
        if one.event is Event.CORDONING:
            cordoned.setdefault(note.broker, note)
        elif one.event is Event.RELEASED:
            cordoned.pop(note.broker, None)


class Ledger:
    """Throttles that are owed, entry by entry."""

    def __init__(self, owed: Owed | None = None) -> None:
        self._rates = dict(owed.rates) if owed is not None else {}
        self._lists = dict(owed.lists) if owed is not None else {}
        self._announced = dict(owed.announced) if owed is not None else {}

    @property
    def owed(self) -> Owed:
        """Throttles that are owed now."""
        return Owed(dict(self._rates), dict(self._lists), dict(self._announced))

    def count(self, one: Entry) -> None:
        """Counts a line of the journal; what was there before the first time is what is put back."""
        if one.event is Event.THROTTLING:
            for rate in one.rates:
                key = rate.broker, rate.name
                self._rates[key] = replace(self._rates.get(key, rate), value=rate.value)
                self._announced[key] = self._announced.get(key, frozenset()) | {str(rate.value)}
            for some in one.lists:
                known = self._lists.get((some.topic, some.name), some)
                entries = tuple(sorted({*known.entries, *some.entries}))
                self._lists[some.topic, some.name] = replace(known, entries=entries)
        elif one.event is Event.RELEASED:
            for rate in one.rates:
                self._rates.pop((rate.broker, rate.name), None)
                self._announced.pop((rate.broker, rate.name), None)
            for some in one.lists:
                self._release(some)

    def _release(self, note: ListNote) -> None:
        known = self._lists.get((note.topic, note.name))
        if known is None:
            return
        left = tuple(sorted({*known.entries} - {*note.entries}))
        if left:
            self._lists[note.topic, note.name] = replace(known, entries=left)
        else:
            del self._lists[note.topic, note.name]
