"""Carries out changes of replicas: moves in flight within limits, refilled as they finish, until all have ended.

At each look at the cluster, of which most ask on a large one only whether something has ended (``looks.py``):

    what has ended is noted, its entries leave the throttles' lists
    where the cluster is worse than when the run began, nothing more begins until it is well
    what fits the limits begins: looked at again, throttled, noted in the journal, asked for, each compared by the
        request right before it is asked for

A partition that no longer fits the plan is left out, and the run goes on. A change that cannot begin now, because a
broker is down or it would make something worse, waits for its turn. A run stops early when it is told to (``stopping``:
what is in flight finishes first), or when nothing has moved on for ``max_wait`` seconds. Throttles are put back when
nothing is in flight; while something is, they stay, and the journal knows them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kreplica.control.reassign import CHANGED, NOT_ASKED, ReassignmentResult
from kreplica.errors import ChangeRefusedError, KreplicaError, UnreachableError
from kreplica.execution.drift import Trouble, got_worse, trouble
from kreplica.execution.executor import check_cluster
from kreplica.execution.moves.clock import Clock
from kreplica.execution.moves.cluster import sizes_of
from kreplica.execution.moves.directories.moves import DirectoryMoves, Watch
from kreplica.execution.moves.directories.stage import DirectoryCheck, DirectoryStage, future_sizes
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import Entry, Event, MoveNote, MoveResult, Outcome, entry
from kreplica.execution.moves.plans.plan import queued_move
from kreplica.execution.moves.plans.progress import MoveProgress, MoveState
from kreplica.execution.moves.plans.safety import controller_of, judge, left_copy, obstacle
from kreplica.execution.moves.plans.stage import ChangeCheck, Stage, check_change
from kreplica.execution.moves.plans.stuck import why_stuck
from kreplica.execution.moves.requests import REQUEST_LOST, TAKEN_SECONDS, UnansweredRequests
from kreplica.execution.moves.running.looks import Looks
from kreplica.execution.moves.session import MoveSession
from kreplica.execution.moves.throttles.rate_changes import RateChanges, rate_to_begin_with
from kreplica.execution.moves.throttles.rate_warnings import StalledCopies
from kreplica.execution.moves.throttles.throttling import Throttling
from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import Operation
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory, ReplicaKey
from kreplica.planner.reassignment.moves.order import MoveKey, MoveWindow, Place, QueuedMove
from kreplica.sources.kafka.log_dirs import BrokerLogs
from kreplica.sources.kafka.reassignments import Move

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.plan import ReplicaPlan
    from kreplica.model.snapshot import ClusterSnapshot

SETTLE_SECONDS = 10.0
"""Seconds for which a partition has to look changed by somebody else before it counts so.

Replicas come from a broker, what is in flight from the controller: at the end of a move the two differ for a moment.
"""


@dataclass(frozen=True, slots=True)
class MoveRun:
    """Result of a run.

    Args:
        stopped: Why it stopped early, empty if it did not.
        in_flight: Partitions that are still moving.
        remarks: What the user has to know besides.
    """

    stopped: str = ""
    in_flight: tuple[PartitionKey, ...] = ()
    remarks: tuple[str, ...] = ()


def refuse_second_runner(
    plan: ReplicaPlan,
    progress: MoveProgress,
    snapshot: ClusterSnapshot,
    within: Mapping[ReplicaKey, DirectoryCheck],
) -> None:
    """Refuses a plan of which moves are in flight that its journal does not know: somebody else carries it out.

    Args:
        plan: The plan.
        progress: Its journal, replayed.
        snapshot: The cluster.
        within: Stages of its changes of log directories.

    Raises:
        ChangeRefusedError: There are such moves.
    """
    facts, changes = plan.facts, plan.changes
    known = (MoveState.UNDER_WAY, MoveState.DONE)
    unknown = [
        f"{change.topic}-{change.partition}"
        for change in changes
        if progress.apply[change.key] not in known
        and check_change(snapshot, facts[change.key], change).stage is Stage.MOVING
    ]
    unknown += [
        f"{topic}-{number}"
        for (topic, number, broker), check in within.items()
        if check.stage is DirectoryStage.MOVING and progress.within.apply[topic, number, broker] not in known
    ]
    if unknown:
        raise ChangeRefusedError(
            "moves of this plan are in flight that its journal does not know",
            f"{unknown[0]}" + f" and {len(unknown) - 1} more" * (len(unknown) > 1),
            "go on with the journal that began them, or wait until they have ended and make a new plan",
        )


def _do_nothing(_: ClusterSnapshot) -> tuple[str, tuple[str, ...]]:
    return "", ()


def run_moves(
    session: MoveSession,
    operation: Operation,
    changes: Sequence[ReplicaChange],
    within: Sequence[ChangedDirectory] = (),
    *,
    last: bool = True,
    afterwards: Callable[[ClusterSnapshot], tuple[str, tuple[str, ...]]] = _do_nothing,
) -> MoveRun:
    """Carries out changes of a plan, or of its inverse, and puts its throttles back.

    Args:
        session: What to work with.
        operation: The operation, for the journal; of a cancellation only what is in flight is followed to its end.
        changes: Those that are pending or under way, in order.
        within: Changes of log directories that are pending or under way, in order; they begin first.
        last: Whether the operation is complete then. Otherwise what the plan itself has in flight is followed, and the
            operation goes on.
        afterwards: Done when all has ended, before the operation counts as complete; is given the cluster as it was
            when the run began, returns why it stopped early and remarks.

    Raises:
        ChangeRefusedError: The plan belongs to another cluster, or somebody else carries it out.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    snapshot = session.cluster.snapshot()
    check_cluster(session.plan, snapshot)
    session.journal.append(entry(Event.STARTED, operation, pid=os.getpid()))
    begin = last and operation is not Operation.CANCEL
    run = _Run(session, operation if last else Operation.CANCEL, snapshot, begin=begin)
    try:
        stopped = run.carry_out(changes, within, snapshot)
        if not stopped:
            stopped, remarks = afterwards(snapshot)
            run.remarks += remarks
    except KreplicaError as error:
        stopped = str(error)
    except KeyboardInterrupt:
        left = counted(len(run.in_flight), "move is", "moves are")
        message = f"interrupted; {left} still in flight, and throttled as before" if run.in_flight else "interrupted"
        session.journal.append(entry(Event.STOPPED, operation, message=message))
        raise
    if stopped or last:
        event = Event.STOPPED if stopped else Event.COMPLETED
        session.journal.append(entry(event, operation, message=stopped))
    return MoveRun(stopped, run.in_flight, tuple(run.remarks))


@dataclass(slots=True)
class _Asked:
    """A move in flight: when it was asked for, whether it was seen, and the bytes that its copies have."""

    change: ReplicaChange
    at: float
    seen: bool = False
    copied: int = 0


@dataclass(slots=True)
class _Patience:
    """The last moment at which anything moved on."""

    clock: Clock
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.since = self.clock.now()

    def is_over(self, seconds: float) -> bool:
        return self.clock.now() - self.since > seconds


class _Run:
    def __init__(self, session: MoveSession, operation: Operation, snapshot: ClusterSnapshot, *, begin: bool) -> None:
        self.session, self.operation, self.options = session, operation, session.options
        self.facts = session.plan.facts
        self.before: Trouble = trouble(snapshot)
        self.begin = begin
        self.window = MoveWindow(session.plan.limits)
        self.asked: dict[PartitionKey, _Asked] = {}
        self.waiting: dict[PartitionKey, ReplicaChange] = {}
        self.postponed: dict[PartitionKey, str] = {}
        self.strange: dict[MoveKey, float] = {}
        self.unanswered = UnansweredRequests()
        self.patience = _Patience(self.options.clock)
        self.looks = Looks(session.cluster, self.options.clock)
        self.remarks: list[str] = []
        self.where: dict[tuple[str, int, int], str] = {}
        self.stalled = StalledCopies()
        owed, options = session.progress.owed, self.options
        rate = rate_to_begin_with(options.throttle, owed)
        self.throttling = Throttling(session.cluster, self._write, operation, owed, rate, options.tell)
        watch = Watch(self.options.clock.now, self.patience.renew, self._stays_strange, self._settled)
        self.within = DirectoryMoves(session, operation, self.window, self.throttling, watch)
        self.rates = RateChanges(
            self.throttling, options.throttle, session.plan.changes, options.asked_rate, options.tell, options.clock
        )

    @property
    def in_flight(self) -> tuple[PartitionKey, ...]:
        return (*self.asked, *(change.key for change in self.within.in_flight))

    def carry_out(
        self, changes: Sequence[ReplicaChange], within: Sequence[ChangedDirectory], snapshot: ClusterSnapshot
    ) -> str:
        self.within.take_up(within, snapshot)
        self._take_up(changes, snapshot)
        self.throttling.cover([one.change for one in self.asked.values()])  # the rate of this run holds for them, too
        self.throttling.cover_directories(self.within.in_flight)
        self._count_copied()
        stopped = self._loop(snapshot)
        if not self.in_flight:
            self.remarks += self._release_all()
        elif self.throttling.owed:
            self.remarks.append("throttles stay until what is in flight has ended: resume puts them back")
        return stopped

    def _release_all(self) -> tuple[str, ...]:
        """Puts every throttle back; a cluster that does not answer is asked again, as long as the run may wait."""
        self.patience.renew()
        while True:
            try:
                return self.throttling.release_all(through_controllers=self.options.through_controllers)
            except UnreachableError as error:
                if not error.may_pass or self.patience.is_over(self.options.max_wait):
                    raise
                self.options.tell(f"the throttles are not put back yet: {error}")
                self._sleep()

    def _take_up(self, changes: Sequence[ReplicaChange], snapshot: ClusterSnapshot) -> None:
        """Sorts changes into those in flight and those that wait; what has ended meanwhile is noted."""
        states = self.session.progress.rollback if self.operation is Operation.ROLLBACK else self.session.progress.apply
        for change in changes:
            check = check_change(snapshot, self.facts[change.key], change)
            under_way = states.get(change.key) is MoveState.UNDER_WAY
            if under_way and check.stage is not Stage.BEFORE:
                self.window.begin(queued_move(change, check.leader))
                self.asked[change.key] = _Asked(change, self.options.clock.now(), seen=True)
            else:
                self.waiting[change.key] = change
                self.window.add(queued_move(change, check.leader))

    def _loop(self, snapshot: ClusterSnapshot) -> str:
        worse_since: float | None = None
        while True:
            self._note_ended(snapshot)
            self.within.note_ended(snapshot)
            self.rates.look(snapshot, [one.change for one in self.asked.values()], self.within.in_flight)
            why_not = self._why_not(snapshot)
            if why_not.startswith(_WORSE):
                worse_since = worse_since or self.options.clock.now()
                if self.options.clock.now() - worse_since > self.options.max_wait:
                    return why_not
            else:
                worse_since = None
            if not why_not and self._left:
                stopped = self._begin_more(snapshot)
                if stopped:
                    self.begin, why_not = False, stopped
                    self._stopped = stopped
            if not self.in_flight and (not self._left or not self.begin or self.options.stopping()):
                return self._end(why_not)
            if self.patience.is_over(self.options.max_wait):
                return self._stuck(snapshot, why_not)
            snapshot = self._look()

    _stopped = ""

    @property
    def _left(self) -> int:
        """Number of moves and changes of log directories that are not begun."""
        return len(self.waiting) + len(self.within.waiting)

    def _end(self, why_not: str) -> str:
        if not self._left:
            return ""
        if self._stopped:
            return self._stopped
        return f"{counted(self._left, 'move')} not begun: {why_not}" if why_not else "stopped"

    def _why_not(self, snapshot: ClusterSnapshot) -> str:
        """Reason why nothing more begins now; empty if more may."""
        if self._stopped:
            return self._stopped
        if not self.begin:
            return "nothing more is to begin"
        if self.options.stopping():
            return "stopped by the user"
        worse = got_worse(self.before, trouble(snapshot))
        if worse:
            return f"{_WORSE}, {worse}"
        return self._throttle_gone() if self._left else ""

    def _throttle_gone(self) -> str:
        """Stops the run where a throttle has vanished; a cluster that is silent for a moment is asked again."""
        try:
            gone = self.throttling.vanished()
        except UnreachableError as error:
            if not error.may_pass:
                raise
            return str(error)
        if gone:
            self.begin, self._stopped = False, gone
        return gone

    def _look(self) -> ClusterSnapshot:
        """Waits and reads; a cluster that does not answer is asked again, as long as the run may wait."""
        while True:
            stopping = self.options.stopping()
            self._sleep()
            as_before = self.options.stopping() == stopping and not self.within.followed
            if as_before and self.looks.may_wait(tuple(self.asked)):
                continue
            began = self.options.clock.now()
            try:
                snapshot = self.session.cluster.snapshot()
                self._count_copied()
                self.looks.read_since(began)
                return snapshot
            except UnreachableError as error:
                if not error.may_pass or self.patience.is_over(self.options.max_wait):
                    raise

    def _sleep(self) -> None:
        until = self.options.clock.now() + self.options.poll
        stopping = self.options.stopping()
        while (left := until - self.options.clock.now()) > 0 and self.options.stopping() == stopping:
            self.options.clock.sleep(min(left, 0.2))

    def _count_copied(self) -> None:
        """Bytes that the copies in flight have, and the room that is left on the disks."""
        keys, within = list(self.asked), self.within.followed
        if not keys and not self.waiting and not within:
            return
        brokers = {broker for one in self.asked.values() for broker in one.change.adding}
        brokers |= {broker for change in self.waiting.values() for broker in change.adding}
        brokers |= {move.source for move in self.window.in_flight.values() if move.source is not None}
        brokers |= {change.broker for change in within}
        keys += [key for key in dict.fromkeys(change.key for change in within) if key not in self.asked]
        logs = self.session.cluster.logs(sorted(brokers), keys)
        sizes = sizes_of(logs)
        for key, one in self.asked.items():
            copied = sum(sizes.get((*key, broker), 0) for broker in one.change.adding)
            if copied > one.copied:
                one.copied = copied
                self.patience.renew()
        self.where = {
            (copy.topic, copy.partition, copy.broker): copy.log_dir
            for one in logs.values()
            if isinstance(one, BrokerLogs)
            for copy in one.replicas
            if not copy.future
        }
        self.within.see(logs)
        self._name_stalled(sizes)
        self.window.set_room(self._room(logs, sizes))

    def _name_stalled(self, sizes: Mapping[tuple[str, int, int], int]) -> None:
        """Tells of copies that come no nearer, because more is written than the throttle lets through."""
        found: dict[PartitionKey, tuple[int, int]] = {}
        for key, one in self.asked.items():
            source = self.window.in_flight[key].source
            size = None if source is None else sizes.get((*key, source))
            if size is not None:
                left = sum(max(0, size - sizes.get((*key, broker), 0)) for broker in one.change.adding)
                found[key] = size, left
        for key, (size, left) in self.within.lacking().items():
            found.setdefault(key, (size, left))
        for clause in self.stalled.look(self.options.clock.now(), found, self.throttling.rate):
            self.options.tell(clause)
            self.remarks.append(clause)

    def _room(
        self, logs: Mapping[int, BrokerLogs | str], sizes: Mapping[tuple[str, int, int], int]
    ) -> dict[Place, int]:
        """Usable bytes less what is still to come of the copies in flight."""
        room: dict[Place, int] = {}
        for broker, one in logs.items():
            if isinstance(one, BrokerLogs):
                for directory in one.log_dirs:
                    if directory.error is None and directory.usable_bytes is not None:
                        room[broker, directory.path] = directory.usable_bytes
                        room[broker, ""] = min(directory.usable_bytes, room.get((broker, ""), directory.usable_bytes))
        futures = future_sizes(logs)
        for move in self.window.in_flight.values():
            for broker, path in move.places:
                copies = futures if len(move.key) == 3 else sizes
                to_come = max(0, move.size - copies.get((*move.key[:2], broker), 0))
                for place in {(broker, path), (broker, "")}:
                    if place in room:
                        room[place] -= to_come
        return room

    def _note_ended(self, snapshot: ClusterSnapshot) -> None:
        results, ended = [], []
        for key, one in self.asked.items():
            check = check_change(snapshot, self.facts[key], one.change)
            result = self._result(one, check, left_copy(snapshot, one.change.removing))
            if result is not None:
                results.append(result)
                ended.append(one.change)
        if not results:
            return
        self.patience.renew()
        self._write(entry(Event.FINISHED, self.operation, results=tuple(results)))
        for result in results:
            if result.outcome is Outcome.DONE:
                self.remarks += self._elsewhere(self.asked[result.key].change)
            self._end_move(result)
        self.throttling.release(ended)
        done = sum(result.outcome is Outcome.DONE for result in results)
        self.options.tell(f"{counted(done, 'move')} done, {len(self.asked)} in flight, {len(self.waiting)} waiting")

    def _end_move(self, result: MoveResult) -> None:
        """Takes a move out of those in flight; one that was not begun waits again."""
        change = self.asked.pop(result.key).change
        self.window.end(result.key, made=result.outcome is Outcome.DONE)
        if result.outcome is Outcome.NOT_BEGUN:
            self.waiting[change.key] = change
            self.window.add(queued_move(change, -1))

    def _elsewhere(self, change: ReplicaChange) -> list[str]:
        """Clauses on copies that lie elsewhere than was chosen: a broker that restarts forgets the choice."""
        found = [(broker, path, self.where.get((*change.key, broker), path)) for broker, path in change.directories]
        return [
            f"broker {broker} has put {change.topic}-{change.partition} into {now}, not into {path}"
            for broker, path, now in found
            if now != path
        ]

    def _result(self, one: _Asked, check: ChangeCheck, remark: str) -> MoveResult | None:
        """The end of a move, None as long as it goes on; the remark is for one that is done."""
        key = one.change.key
        if check.stage is Stage.AFTER:
            return MoveResult(*key, Outcome.DONE, remark)
        if check.stage in (Stage.MOVING, Stage.CATCHING_UP):
            one.seen = True
            self._settled(key)
            return None
        if check.stage is Stage.BEFORE and not one.seen:
            if self.options.clock.now() - one.at < TAKEN_SECONDS:
                return None
            if self.unanswered.may_ask_again(key):
                return MoveResult(*key, Outcome.NOT_BEGUN, REQUEST_LOST)
        if not self._stays_strange(key):
            return None
        before = "its replicas are as before: somebody cancelled the move, or the request was lost"
        return MoveResult(*key, Outcome.FAILED, check.reason or before)

    def _settled(self, key: MoveKey) -> None:
        self.strange.pop(key, None)

    def _stays_strange(self, key: MoveKey) -> bool:
        """True if a partition or a replica has looked changed by somebody else for long enough."""
        return self.options.clock.now() - self.strange.setdefault(key, self.options.clock.now()) >= SETTLE_SECONDS

    def _begin_more(self, snapshot: ClusterSnapshot) -> str:
        """Begins as many moves as fit; returns why the run has to stop, empty if it does not."""
        chosen: list[ReplicaChange] = []
        postponed: list[QueuedMove] = []
        within: list[ChangedDirectory] = []
        self.postponed = {}
        self.within.postponed = {}
        while begun := self.window.next_moves():
            ready, later = self.within.choose(snapshot, [move for move in begun if len(move.key) == 3])
            within += ready
            postponed += later
            busy = self.within.partitions | {change.key for change in within}
            moves = {(move.key[0], move.key[1]): move for move in begun if len(move.key) == 2}
            reasons = self._reasons(snapshot, [self.waiting[key] for key in moves], busy)
            for key, move in moves.items():
                if not reasons.get(key):
                    chosen.append(self.waiting[key])
                    continue
                self.window.end(key, made=False)
                if key in self.waiting:
                    self.postponed[key] = reasons[key]
                    postponed.append(move)
        for move in postponed:
            self.window.add(move)
        stopped = self._begin_within(within) if within else ""
        if stopped:
            self._not_begun(chosen)
            return stopped
        return self._begin(chosen) if chosen else ""

    def _begin_within(self, changes: Sequence[ChangedDirectory]) -> str:
        """Begins changes of log directories; returns why the run has to stop, empty if it does not."""
        try:
            self.within.begin(changes)
        except KreplicaError as error:
            self.within.wait_again(changes, str(error))
            return "" if _may_answer(error) else str(error)
        return ""

    def _reasons(
        self, snapshot: ClusterSnapshot, changes: Sequence[ReplicaChange], busy: Collection[PartitionKey]
    ) -> dict[PartitionKey, str]:
        """Reasons why changes do not begin: those that no longer fit are noted and wait no more, the others wait on.

        Args:
            snapshot: The cluster.
            changes: The changes.
            busy: Partitions of which a replica changes its log directory.
        """
        reasons: dict[PartitionKey, str] = {}
        results = []
        for change in changes:
            check = check_change(snapshot, self.facts[change.key], change)
            if check.stage is Stage.AFTER:
                results.append(MoveResult(*change.key, Outcome.ALREADY, "it had its new replicas before its turn"))
            elif check.stage is not Stage.BEFORE:
                reasons[change.key] = check.reason or "somebody else began the same move"
                if self._stays_strange(change.key):
                    results.append(MoveResult(*change.key, Outcome.LEFT_OUT, reasons[change.key]))
            else:
                self._settled(change.key)
                why = _BUSY if change.key in busy else obstacle(snapshot, change.from_replicas, change)
                reasons[change.key] = why
        if results:
            self._write(entry(Event.FINISHED, self.operation, results=tuple(results)))
            self.patience.renew()
        for result in results:
            reasons[result.key] = result.reason
            del self.waiting[result.key]
        possible = [change for change in changes if not reasons[change.key]]
        return reasons | judge(snapshot, possible, controller_of(snapshot), self.session.plan.margin)

    def _begin(self, changes: Sequence[ReplicaChange]) -> str:
        try:
            uncovered = self.throttling.cover(changes)
            for key, why in uncovered.items():
                self._postpone(key, f"its throttle cannot be set: {why}")
            placed = self._place([change for change in changes if change.key not in uncovered])
            self._note_answers(self._ask(placed))
        except KreplicaError as error:
            if _may_answer(error):
                self._wait_again(changes, str(error))
                return ""
            self._not_begun(changes)
            return str(error)
        return ""

    def _wait_again(self, changes: Sequence[ReplicaChange], why: str) -> None:
        """Lets moves that were not asked for wait again."""
        for change in self._not_asked(changes):
            self._postpone(change.key, why)

    def _not_begun(self, changes: Sequence[ReplicaChange]) -> None:
        """Takes moves that were not asked for out of the window again."""
        for change in self._not_asked(changes):
            self.window.end(change.key, made=False)

    def _not_asked(self, changes: Sequence[ReplicaChange]) -> list[ReplicaChange]:
        """Those that the window has in flight, and that still wait."""
        return [one for one in changes if one.key in self.waiting and one.key in self.window.in_flight]

    def _postpone(self, key: PartitionKey, why: str) -> None:
        """Lets a move that was to begin wait again."""
        move = self.window.in_flight[key]
        self.window.end(key, made=False)
        self.window.add(move)
        self.postponed[key] = why

    def _place(self, changes: Sequence[ReplicaChange]) -> list[ReplicaChange]:
        """Names the log directories that are chosen; those whose broker refuses do not begin."""
        wanted = {(*change.key, broker): path for change in changes for broker, path in change.directories}
        if not wanted:
            return list(changes)
        answers = self.session.cluster.place(wanted)
        refused = {(topic, partition): one.error for (topic, partition, _), one in answers.items() if not one.accepted}
        if refused:
            results = tuple(
                MoveResult(*key, Outcome.FAILED, f"its log directory is refused: {error}")
                for key, error in refused.items()
            )
            self._write(entry(Event.FINISHED, self.operation, results=results))
            for key in refused:
                del self.waiting[key]
                self.window.end(key, made=False)
        return [change for change in changes if change.key not in refused]

    def _ask(self, changes: Sequence[ReplicaChange]) -> tuple[ReassignmentResult, ...]:
        if not changes:
            return ()
        notes = tuple(MoveNote(*change.key, change.from_replicas, change.to_replicas) for change in changes)
        self._write(entry(Event.INTENDED, self.operation, moves=notes))
        now = self.options.clock.now()
        self.unanswered.ask(change.key for change in changes)
        for change in changes:
            self.asked[change.key] = _Asked(change, now)
            del self.waiting[change.key]
        self.patience.renew()
        try:
            return self.session.cluster.reassign(
                {change.key: change.to_replicas for change in changes},
                {change.key: Move(list(change.from_replicas), [], []) for change in changes},
                other_factor=any(len(change.from_replicas) != len(change.to_replicas) for change in changes),
            )
        except UnreachableError as error:  # they may have been begun all the same: the next looks tell
            self.unanswered.note(change.key for change in changes)
            self.options.tell(str(error))
            return ()
        except KreplicaError as error:
            results = tuple(MoveResult(*change.key, Outcome.NOT_BEGUN, str(error)) for change in changes)
            self._write(entry(Event.FINISHED, self.operation, results=results))
            for change in changes:
                self._take_back(change)
            raise

    def _take_back(self, change: ReplicaChange) -> None:
        """A move that was asked for and did not begin waits again; the window has it in flight."""
        del self.asked[change.key]
        self.waiting[change.key] = change

    def _note_answers(self, answers: Iterable[ReassignmentResult]) -> None:
        """Notes moves that the controller refused, or that were not as expected right before the request."""
        outcomes = {CHANGED: Outcome.NOT_BEGUN, NOT_ASKED: Outcome.NOT_BEGUN}
        results = [
            MoveResult(answer.topic, answer.partition, outcomes.get(answer.error, Outcome.FAILED), str(answer))
            for answer in answers
            if answer.error in outcomes or answer.error.isupper()
        ]
        if not results:
            return
        self._write(entry(Event.FINISHED, self.operation, results=tuple(results)))
        ended = [self.asked[result.key].change for result in results]
        for result in results:
            self._end_move(result)
        self.throttling.release(ended)

    def _stuck(self, snapshot: ClusterSnapshot, why_not: str) -> str:
        """Reason why nothing has moved on for so long: what is stuck in flight first, then what waits."""
        reasons = [f"{key[0]}-{key[1]}: {why_stuck(snapshot, one.change)}" for key, one in list(self.asked.items())[:3]]
        reasons += [f"{topic}-{number}: {why}" for (topic, number), why in list(self.postponed.items())[:3]]
        reasons += self.within.stuck(snapshot)
        told = "; ".join(reasons) or why_not or "nothing has moved on"
        return f"nothing has moved on for {self.options.max_wait:g} s: {told}"

    def _write(self, line: Entry) -> None:
        self.session.journal.append(line)


def _may_answer(error: KreplicaError) -> bool:
    """True for a cluster that was silent and may answer when it is asked again."""
    return isinstance(error, UnreachableError) and error.may_pass


_WORSE = "the cluster got worse"
_BUSY = "a replica of it changes its log directory"
