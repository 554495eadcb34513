"""Plans of replicas applied, resumed, cancelled, rolled back and looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from kreplica.config.handle import ClusterHandle
from kreplica.control.boundary import require_brokers, require_writable
from kreplica.errors import ChangeRefusedError, ExitCode, KreplicaError
from kreplica.execution.moves.cluster import LiveCluster
from kreplica.execution.moves.cordoning import (
    CordonedCluster,
    arrived,
    closed_to_way_back,
    cordon,
    still_cordoned,
    uncordon,
)
from kreplica.execution.moves.directories.moves import take_directories_back
from kreplica.execution.moves.plan_state import MovePlanState, compared_with, locked, look_at_replica_plan
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import Event, MoveJournal, entry
from kreplica.execution.moves.preferred_leaders import Electing, ElectingCluster, elect_preferred_leaders
from kreplica.execution.moves.rate_request import requests_of
from kreplica.execution.moves.rows import DRIFTED, MoveRow, move_rows
from kreplica.execution.moves.running.runner import MoveRun, refuse_second_runner, run_moves
from kreplica.execution.moves.session import MoveOptions, MoveSession
from kreplica.execution.moves.taking_back import take_back
from kreplica.execution.moves.throttles.rate_warnings import low_rate_warnings, measured_writes
from kreplica.execution.plan_journal import Operation, Phase
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.wording.words import counted, ids
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory


def _ask_nobody(_label: str, _change: str) -> None:
    """Takes the question where nobody is asked."""


def _say_nothing(_: str) -> None:
    """Takes a warning where nobody listens."""


@dataclass(frozen=True, slots=True)
class CarryOutOptions:
    """Options of a run of a plan.

    Args:
        run: Throttle, waits, reports.
        confirm: Called before the first change with the cluster's id and the change, an imperative; refuses it by a
            ``ChangeRefusedError``.
        warn: Called before that with each warning of a throttle that is too low.
        measure: Seconds for which is measured what is written to the partitions, for these warnings; 0 for not at all.
        elect: Whether preferred leaders that the plan changes are elected at the end.
        keep_cordon: Whether brokers that the plan drains stay cordoned at the end.
    """

    run: MoveOptions = field(default_factory=MoveOptions)
    confirm: Callable[[str, str], None] = _ask_nobody
    warn: Callable[[str], None] = _say_nothing
    measure: float = 0.0
    elect: bool = True
    keep_cordon: bool = False


DEFAULTS = CarryOutOptions()


@dataclass(frozen=True)
class MoveOutcome:
    """A plan of replicas after it was looked at or carried out.

    Args:
        state: The plan.
        exit_code: Exit code of the command.
        executed: Whether anything was done.
        remarks: Remarks on what was done.
        warnings: Warnings of a throttle that is too low.
    """

    state: MovePlanState
    exit_code: ExitCode = ExitCode.OK
    executed: bool = False
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> list[MoveRow]:
        """Its changes, in order."""
        return move_rows(self.state)

    @property
    def counts(self) -> dict[str, int]:
        """Number of changes in each state."""
        return _state_counts([row.state for row in self.rows])

    @property
    def rollback_counts(self) -> dict[str, int]:
        """Number of changes in each state of the way back, those left out that have none."""
        return _state_counts([row.rollback for row in self.rows if row.rollback is not None])

    @property
    def current_counts(self) -> dict[str, int]:
        """Number of changes in each state of the way that the plan is on: there or back."""
        return self.rollback_counts if self.state.progress.rolled else self.counts

    @property
    def is_left(self) -> bool:
        """True if a change has still to be made, or something to be put back."""
        return any(name in self.current_counts for name in _LEFT) or self.state.progress.owes

    @property
    def is_wrong(self) -> bool:
        """True if a change failed or no longer fits the cluster."""
        return any(name in self.current_counts for name in _WRONG)


_LEFT = ("pending", "waiting", "under-way")
_WRONG = ("failed", "left-out", DRIFTED)


def _state_counts(states: Sequence[str]) -> dict[str, int]:
    return {state: states.count(state) for state in dict.fromkeys(states)}


def moves_status(handle: ClusterHandle, path: Path) -> MoveOutcome:
    """Holds a plan and its journal against the cluster.

    Returns:
        The plan; its exit code is 1 while changes are left, failed or have drifted, or throttles are owed.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster.
        UnreachableError: The cluster did not answer.
    """
    state = look_at_replica_plan(path, LiveCluster(handle))
    outcome = MoveOutcome(state, remarks=_owed(state))
    findings = outcome.is_left or outcome.is_wrong
    return replace(outcome, exit_code=ExitCode.FINDINGS if findings else _seen(state))


def moves_apply(
    handle: ClusterHandle, path: Path, options: CarryOutOptions = DEFAULTS, *, execute: bool = False
) -> MoveOutcome:
    """Moves replicas by a plan that was not begun; without ``execute`` tells what would be done.

    Changes that no longer fit the cluster are left out, each with why.

    Args:
        handle: The cluster; a live one if ``execute`` is true.
        path: The plan's file; its journal lies beside it.
        options: Throttle, waits, confirmation, reports.
        execute: Whether to change the cluster.

    Returns:
        The plan afterwards; its exit code is 4 where something failed, was left out or is not done.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster or was begun, or the cluster may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    return _Request(handle, path, options).apply(_require_new, execute=execute)


def moves_resume(
    handle: ClusterHandle, path: Path, options: CarryOutOptions = DEFAULTS, *, execute: bool = False
) -> MoveOutcome:
    """Goes on with a plan, its cancellation or its rollback, and puts back throttles that are owed.

    Arguments, result and errors as of ``moves_apply``.
    """
    request = _Request(handle, path, options)
    if request.state.progress.phase is Phase.CANCELLED:
        state = request.state
        if not state.under_way and not state.under_way_within and not state.progress.owes:
            return MoveOutcome(state)
        taking_back = bool(state.progress.taking_back or state.progress.within.taking_back)
        return request.cancel(in_flight=taking_back, execute=execute)
    if request.state.progress.rolled:
        return request.roll_back(execute=execute)
    return request.apply(_any_time, execute=execute)


def moves_cancel(
    handle: ClusterHandle,
    path: Path,
    options: CarryOutOptions = DEFAULTS,
    *,
    in_flight: bool = False,
    execute: bool = False,
) -> MoveOutcome:
    """Drops what is not begun of a plan, follows what is in flight to its end, and puts the throttles back.

    Arguments, result and errors as of ``moves_apply``, besides:

    Args:
        in_flight: Whether moves in flight are taken back by Kafka's cancel, where that is safe.
    """
    return _Request(handle, path, options).cancel(in_flight=in_flight, execute=execute)


def moves_rollback(
    handle: ClusterHandle, path: Path, options: CarryOutOptions = DEFAULTS, *, execute: bool = False
) -> MoveOutcome:
    """Takes back what is in flight of a plan, and moves back what it has moved.

    Arguments, result and errors as of ``moves_apply``.
    """
    return _Request(handle, path, options).roll_back(execute=execute)


class _Cluster(ElectingCluster, CordonedCluster, Protocol):
    """All that a request about a plan asks of a cluster."""


class _Request:
    """One request about a plan; the cluster is read and compared when it is made."""

    def __init__(self, handle: ClusterHandle, path: Path, options: CarryOutOptions) -> None:
        self._handle, self._options = handle, options
        self._cluster: _Cluster = LiveCluster(handle, through_controllers=options.run.through_controllers)
        self.state = look_at_replica_plan(path, self._cluster)
        self._warnings: tuple[str, ...] = ()

    def apply(self, allowed: Callable[[MovePlanState], None], *, execute: bool) -> MoveOutcome:
        allowed(self.state)
        assert self.state.snapshot is not None, "the cluster was read"
        refuse_second_runner(self.state.plan, self.state.progress, self.state.snapshot, self.state.within)
        todo = self.state.unfinished, self.state.unfinished_within
        phase = self.state.progress.phase
        executed = execute and bool(any(todo) or self.state.progress.owes or phase is Phase.APPLYING)
        remarks = _owed(self.state)
        self._judge_throttle(*todo)
        if executed:
            self._ready(_words(*todo) or "put throttles back")
            remarks = self._locked(
                lambda journal, now: self._run(
                    journal, now, Operation.APPLY, now().unfinished, now().unfinished_within
                ),
                allowed,
            )
        return self._ended(executed, remarks)

    def _run(
        self,
        journal: MoveJournal,
        now: Callable[[], MovePlanState],
        operation: Operation,
        changes: Sequence[ReplicaChange],
        within: Sequence[ChangedDirectory],
    ) -> MoveRun:
        """Carries changes out, and elects their preferred leaders afterwards."""

        def elected(before: ClusterSnapshot) -> tuple[str, tuple[str, ...]]:
            if not self._options.elect:
                return "", ()
            electing = Electing(self._cluster, journal, operation, self._options.run)
            return elect_preferred_leaders(electing, now().made(operation), before)

        remarks: tuple[str, ...] = ()
        if operation is Operation.APPLY and changes:
            remarks = cordon(self._cluster, journal.append, operation, now().plan.drained)
        found = run_moves(self._session(journal, now()), operation, changes, within, afterwards=elected)
        return replace(found, remarks=(*remarks, *found.remarks))

    def _uncordoned(self, journal: MoveJournal, now: Callable[[], MovePlanState], found: MoveRun) -> MoveRun:
        """Puts cordons back where nothing is in flight any more."""
        owed = now().progress.cordoned
        if found.in_flight or not owed:
            return found
        if self._options.keep_cordon:
            journal.append(entry(Event.RELEASED, Operation.APPLY, cordons=tuple(owed.values())))
            return replace(found, remarks=(*found.remarks, f"brokers {ids(sorted(owed))} stay cordoned"))
        try:
            remarks = uncordon(self._cluster, journal.append, Operation.APPLY, owed)
        except KreplicaError as error:
            remarks = (f"brokers {ids(sorted(owed))} are still cordoned: {error}",)
        return replace(found, remarks=(*found.remarks, *remarks))

    def cancel(self, *, in_flight: bool, execute: bool) -> MoveOutcome:
        _require_unfinished(self.state)
        remarks = _owed(self.state)
        self._judge_throttle(self.state.under_way, self.state.under_way_within)
        if execute:
            words = "take back what is in flight and drop the rest" if in_flight else "drop what is not begun"
            self._ready(words)
            remarks = self._locked(
                lambda journal, now: self._cancelled(journal, now, in_flight=in_flight), _require_unfinished
            )
        return self._ended(execute, remarks)

    def _cancelled(self, journal: MoveJournal, now: Callable[[], MovePlanState], *, in_flight: bool) -> MoveRun:
        journal.append(entry(Event.STARTED, Operation.CANCEL, pid=os.getpid()))
        left = take_back(self._session(journal, now())).left if in_flight else {}
        for (topic, number), why in left.items():
            self._options.run.tell(f"{topic}-{number}: {why}")
        stay = take_directories_back(self._session(journal, now())) if in_flight else {}
        for (topic, number, broker), why in stay.items():
            self._options.run.tell(f"{topic}-{number} on broker {broker}: {why}")
        state = now()
        return run_moves(self._session(journal, state), Operation.CANCEL, state.under_way, state.under_way_within)

    def roll_back(self, *, execute: bool) -> MoveOutcome:
        _require_begun(self.state)
        todo = (*self.state.ways_back, *self.state.under_way)
        within = (*self.state.ways_back_within, *self.state.under_way_within)
        phase = self.state.progress.phase
        executed = execute and bool(todo or within or self.state.progress.owes or phase is Phase.ROLLING_BACK)
        remarks = _owed(self.state)
        self._judge_throttle(todo, within)
        closed = self._closed_to_way_back()
        if executed and closed is not None:
            raise closed
        if closed is not None:
            refused = MoveOutcome(self.state, remarks=(*remarks, str(closed)), warnings=self._warnings)
            return replace(refused, exit_code=ExitCode.CHANGE_REFUSED)
        if executed:
            self._ready(f"{_words(todo, within)} back" if todo or within else "put throttles back")
            remarks = self._locked(self._rolled_back, _require_begun)
        return self._ended(executed, remarks)

    def _closed_to_way_back(self) -> ChangeRefusedError | None:
        """Refusal of a way back onto cordoned brokers; those that the plan itself has cordoned it opens first."""
        if self._handle.bootstrap_servers is None:
            return None
        return closed_to_way_back(self._cluster, self.state.ways_back, self.state.progress.cordoned)

    def _rolled_back(self, journal: MoveJournal, now: Callable[[], MovePlanState]) -> MoveRun:
        journal.append(entry(Event.STARTED, Operation.ROLLBACK, pid=os.getpid()))
        uncordon(self._cluster, journal.append, Operation.ROLLBACK, now().progress.cordoned)
        take_back(self._session(journal, now()))
        take_directories_back(self._session(journal, now()))
        state = now()
        session = self._session(journal, state)
        followed = run_moves(session, Operation.ROLLBACK, state.under_way, state.under_way_within, last=False)
        if followed.stopped or followed.in_flight:
            return followed
        state = now()
        found = self._run(journal, now, Operation.ROLLBACK, state.ways_back, state.ways_back_within)
        return replace(found, remarks=(*followed.remarks, *found.remarks))

    def _judge_throttle(self, changes: Sequence[ReplicaChange], within: Sequence[ChangedDirectory] = ()) -> None:
        """Notes the warnings of a throttle that is too low for what is to be moved."""
        run, snapshot = self._options.run, self.state.snapshot
        if run.throttle is None or snapshot is None or not (changes or within):
            return
        seconds = self._options.measure if self._handle.bootstrap_servers is not None else 0.0
        try:
            copied = [*(one.key for one in changes if one.adding), *(one.key for one in within)]
            writes = measured_writes(self._cluster, snapshot, copied, seconds, run.clock)
        except KreplicaError:  # what is written is not known then
            writes = {}
        self._warnings = tuple(low_rate_warnings(run.throttle, changes, self.state.plan.limits, writes, within))

    def _ready(self, change: str) -> None:
        require_writable(self._handle)  # before anybody is asked; each request is refused, too
        require_brokers(self._handle)
        for warning in self._warnings:
            self._options.warn(warning)
        self._options.confirm(self.state.plan.cluster_id, change)

    def _locked(
        self,
        work: Callable[[MoveJournal, Callable[[], MovePlanState]], MoveRun],
        allowed: Callable[[MovePlanState], None],
    ) -> tuple[str, ...]:
        with locked(self.state, allowed) as (journal, now):
            found = self._uncordoned(journal, now, work(journal, now))
            self.state = now()
        try:
            self.state = compared_with(self.state, self._cluster)
        except KreplicaError as error:  # what was done must be reported all the same
            self._options.run.tell(f"the cluster could not be read afterwards: {error}")
        if self.state.snapshot is None or self.state.progress.phase is not Phase.APPLIED:
            return found.remarks
        return (*found.remarks, *arrived(self.state.snapshot, self.state.plan))

    def _session(self, journal: MoveJournal, state: MovePlanState) -> MoveSession:
        run = replace(self._options.run, asked_rate=requests_of(state.path, state.digest))
        return MoveSession(self._cluster, state.plan, state.progress, journal, run)

    def _ended(self, executed: bool, remarks: tuple[str, ...]) -> MoveOutcome:
        outcome = MoveOutcome(self.state, executed=executed, remarks=remarks, warnings=self._warnings)
        return replace(outcome, exit_code=_exit_code(outcome))


def _words(changes: Sequence[ReplicaChange], within: Sequence[ChangedDirectory]) -> str:
    """Words for what is to be done, an imperative; empty for nothing."""
    parts = [f"move {counted(len(changes), 'partition')}"] if changes else []
    parts += [f"move {counted(len(within), 'replica')} to other log directories"] if within else []
    return " and ".join(parts)


def _exit_code(outcome: MoveOutcome) -> ExitCode:
    state = outcome.state
    stopped = outcome.executed and (outcome.is_left or state.progress.message)
    return ExitCode.CHANGE_REFUSED if outcome.is_wrong or stopped else _seen(state)


def _seen(state: MovePlanState) -> ExitCode:
    return ExitCode.INCOMPLETE if state.incomplete else ExitCode.OK


def _owed(state: MovePlanState) -> tuple[str, ...]:
    owed = state.progress.owed
    brokers = sorted({broker for broker, _ in owed.rates})
    topics = sorted({topic for topic, _ in owed.lists})
    where = [f"of brokers {', '.join(map(str, brokers))}"] if brokers else []
    where += [f"of topics {', '.join(topics)}"] if topics else []
    owes: tuple[str, ...] = (f"throttles {' and '.join(where)} are still to be put back",) if where else ()
    owes += still_cordoned(state.progress.cordoned)
    return (*owes, *(_owed_to_the_dead(broker, state.snapshot) for broker in brokers if _is_down(broker, state)))


def _is_down(broker: int, state: MovePlanState) -> bool:
    return state.snapshot is not None and state.snapshot.is_alive(broker) is False


def _owed_to_the_dead(broker: int, snapshot: ClusterSnapshot | None) -> str:
    told = f"broker {broker} is down: resume puts its throttle back when it is back"
    in_kraft = snapshot is not None and snapshot.mode is MetadataMode.KRAFT
    return f"{told}, or now with --through-controllers" if in_kraft else told


def _any_time(_: MovePlanState) -> None:
    """Allows what is asked in any phase."""


def _require_new(state: MovePlanState) -> None:
    if state.progress.phase is not Phase.NEW:
        raise state.refusal("the plan was begun before", "see kreplica rebalance status, go on by resume")


def _require_begun(state: MovePlanState) -> None:
    if state.progress.phase is Phase.NEW:
        raise state.refusal("there is nothing to roll back")


def _require_unfinished(state: MovePlanState) -> None:
    left = state.under_way or state.under_way_within or state.progress.owes
    cancelled = state.progress.phase is Phase.CANCELLED and left
    if state.progress.phase not in (Phase.NEW, Phase.APPLYING) and not cancelled:
        raise state.refusal("there is nothing to cancel")
