"""Moves in flight taken back by Kafka's cancel, and the order of their replicas restored.

The controller brings the replicas back, not their order, and does so whatever is left in sync: it may leave a partition
under min ISR (KAFKA-14424). So a move is cancelled only where the replicas before, without those being added, are
enough in sync; the others are named, with what they wait for. In KRaft the replicas before are never asked for while a
move is in flight, which would make a move that never ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.errors import UnreachableError
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import Event, MoveNote, MoveResult, Outcome, entry
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.moves.plans.safety import left_copy
from kreplica.execution.moves.plans.stage import Stage, check_change
from kreplica.execution.plan_journal import Operation
from kreplica.model.wording.words import are, ids, named
from kreplica.sources.kafka.reassignments import Move

if TYPE_CHECKING:
    from kreplica.execution.moves.session import MoveSession
    from kreplica.execution.plan import PartitionKey
    from kreplica.model.snapshot import ClusterSnapshot

SETTLE_SECONDS = 60.0
"""Seconds in which a cancelled move has to be gone and its order restored."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Moves that were in flight.

    Args:
        back: Partitions that have their replicas before, in their order.
        left: Partitions that are not back, each with what they wait for.
    """

    back: tuple[PartitionKey, ...]
    left: Mapping[PartitionKey, str]


def take_back(session: MoveSession) -> TakenBack:
    """Cancels the moves of a plan that are in flight, where that is safe, and restores the order of their replicas.

    Raises:
        ChangeRefusedError: The controller refuses it.
        UnreachableError: The cluster did not answer before anything was asked for.
    """
    states, changes = session.progress.apply, session.plan.changes
    work = _TakingBack(session, [one for one in changes if states[one.key] is MoveState.UNDER_WAY])
    snapshot = session.cluster.snapshot()
    deadline = time.monotonic() + SETTLE_SECONDS
    while work.look(snapshot) and time.monotonic() < deadline:
        time.sleep(session.options.poll)
        try:
            snapshot = session.cluster.snapshot()
        except UnreachableError as error:
            if not error.may_pass:
                raise
    return TakenBack(tuple(work.back), dict(work.left))


class _TakingBack:
    def __init__(self, session: MoveSession, changes: Sequence[ReplicaChange]) -> None:
        self._session = session
        self._open = {change.key: change for change in changes}
        self._asked = set(session.progress.taking_back)
        self._cancelled: set[PartitionKey] = set()
        self.back: list[PartitionKey] = []
        self.left: dict[PartitionKey, str] = {}

    def look(self, snapshot: ClusterSnapshot) -> bool:
        """Does what can be done of each move; returns whether another look is needed."""
        cancel: list[ReplicaChange] = []
        reorder: list[ReplicaChange] = []
        results: list[MoveResult] = []
        for key, change in self._open.items():
            check = check_change(snapshot, self._session.plan.facts[key], change)
            self.left.pop(key, None)
            if check.stage is Stage.MOVING:
                self.left[key] = why_not_cancelled(snapshot, change) or "its cancellation does not show yet"
                if key not in self._cancelled and not why_not_cancelled(snapshot, change):
                    cancel.append(change)
            elif check.stage is Stage.TAKEN_BACK and key in self._asked:
                self.left[key] = "the order of its replicas is not restored"
                if not (out := _out_of_sync(snapshot, change)):
                    reorder.append(change)
                else:
                    self.left[key] += f", as {named('broker', out)} {are(len(out))} out of sync"
            elif check.stage is Stage.BEFORE and key in self._asked:
                results.append(MoveResult(*key, Outcome.CANCELLED, _taken_back(snapshot, change)))
            elif check.stage is Stage.AFTER:
                results.append(MoveResult(*key, Outcome.DONE))
        self._finish(results)
        self._ask(cancel, snapshot, reorder=False)
        self._ask(reorder, snapshot, reorder=True)
        return any(key in self._asked for key in self._open)

    def _finish(self, results: Sequence[MoveResult]) -> None:
        if not results:
            return
        self._session.journal.append(entry(Event.FINISHED, Operation.CANCEL, results=tuple(results)))
        for result in results:
            del self._open[result.key]
            if result.outcome is Outcome.CANCELLED:
                self.back.append(result.key)

    def _ask(self, changes: Sequence[ReplicaChange], snapshot: ClusterSnapshot, *, reorder: bool) -> None:
        if not changes:
            return
        if not reorder:
            notes = tuple(MoveNote(*change.key, change.from_replicas, ()) for change in changes)
            self._session.journal.append(entry(Event.INTENDED, Operation.CANCEL, moves=notes))
            self._asked |= {change.key for change in changes}
            self._cancelled |= {change.key for change in changes}
        answers = self._session.cluster.reassign(
            {change.key: change.from_replicas if reorder else None for change in changes},
            {change.key: move_seen(snapshot, change.key) for change in changes},
            other_factor=False,
        )
        for answer in answers:
            if not answer.accepted:
                self._session.options.tell(f"{answer.topic}-{answer.partition}: {answer}")
                self._cancelled.discard((answer.topic, answer.partition))


def why_not_cancelled(snapshot: ClusterSnapshot, change: ReplicaChange) -> str:
    """Reason why a move in flight is not cancelled, and what it waits for; empty if it can be."""
    row = snapshot.row_number(*change.key)
    isr = snapshot.lists("isr")[row] or []
    kept = [broker for broker in change.from_replicas if broker in isr and snapshot.is_alive(broker) is not False]
    leader, known = snapshot.integers("leader")[row], snapshot.integers("min_isr")[row]
    needed = min(known if known is not None else 1, len(change.from_replicas))
    if len(kept) >= needed and (leader is None or leader in kept):
        return ""
    out = [broker for broker in change.from_replicas if broker not in kept]
    if len(kept) >= needed:
        return f"broker {leader}, which leads it, is being added: it waits for the end of the move"
    waits = f"it waits for {named('broker', out)}" if out else "it waits for the end of the move"
    return f"of its replicas before only {ids(kept)} would be in sync where min.insync.replicas is {known}: {waits}"


def _taken_back(snapshot: ClusterSnapshot, change: ReplicaChange) -> str:
    left = left_copy(snapshot, change.adding)
    return f"taken back in flight; {left}" if left else "taken back in flight"


def _out_of_sync(snapshot: ClusterSnapshot, change: ReplicaChange) -> list[int]:
    isr = snapshot.lists("isr")[snapshot.row_number(*change.key)] or []
    return [broker for broker in change.from_replicas if broker not in isr]


def move_seen(snapshot: ClusterSnapshot, key: PartitionKey) -> Move:
    """Replicas and reassignment of a partition as they were seen."""
    row = snapshot.row_number(*key)
    lists = (snapshot.lists(name)[row] or [] for name in ("replicas", "adding", "removing"))
    return Move(*(list(one) for one in lists))
