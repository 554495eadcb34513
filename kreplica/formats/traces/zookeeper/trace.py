"""Kafka's state znodes in ZooKeeper's transaction logs: each version once, explained by a rule or refused.

/brokers/ids/N                        ephemeral: the broker lives as long as its session
/brokers/topics/T                     assignments, and what a reassignment adds and removes
/brokers/topics/T/partitions/P/state  leader, leader epoch, ISR, epoch of the controller
/controller_epoch                     of the controller of now
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import structs

from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.traces.kraft import Explanation, agrees
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.engine.traces.zookeeper import first_state, zookeeper_decisions
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.traces.kraft.steps import differences
from kreplica.formats.traces.zookeeper.transactions import Transaction, WriteKind, ZnodeWrite
from kreplica.model.settings import UNCLEAN

REMEMBERED_MS = 60_000
"""Time for which a set of live brokers may still be what the controller decided by."""
MOST_SETS = 32
_BROKER = re.compile(r"/brokers/ids/(\d+)")
_TOPIC = re.compile(r"/brokers/topics/([^/]+)")
_STATE = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
_CONFIG = re.compile(r"/config/(topics|brokers)/([^/]+)")
_COUNTER = 0xFFFFFFFF
_PREFERRED = "/admin/preferred_replica_election"
"""Deleted when a preferred election is over: one of 1.1 to 2.1 also elected the leader that led already."""
_OF_LEADERS = re.compile(r"/brokers/topics/[^/]+/partitions/\d+/state|/isr_change_notification/.*")
"""Znodes that the controller's broker may write meanwhile, as the leader of a partition."""


class LoneRise(NamedTuple):
    """A leader epoch that rose alone, without a move in progress: at the end of one to the replicas that are there.

    The controller's next write is that of the topic's assignment, be it the same
    (KafkaController.onPartitionReassignment: updateLeaderEpochAndSendRequest, updateReplicaAssignmentForPartition).

    Args:
        row: Place of its row.
        session: Of the controller that wrote it.
    """

    row: int
    session: int


@dataclass(slots=True)
class ZooKeeperWalk:
    """Transactions while they are judged.

    Args:
        rows: Every change and every fault so far, in order; offsets are zxids.
        counts: Number of changes by rule.
        cluster_id: Id of the cluster, None before it was written.
        first, last: zxids of the first and the last transaction; None before any.
    """

    rows: list[TraceChange] = field(default_factory=list)
    counts: Counter[TraceRule] = field(default_factory=Counter)
    cluster_id: str | None = None
    first: int | None = None
    last: int | None = None
    _states: dict[tuple[str, int], tuple[PartitionState, int]] = field(default_factory=dict)
    _topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    _live: dict[int, int] = field(default_factory=dict)
    _sets: deque[tuple[int, frozenset[int]]] = field(default_factory=lambda: deque(maxlen=MOST_SETS))
    _configs: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    _epoch: int = 0
    _rises: dict[tuple[str, int], LoneRise] = field(default_factory=dict)

    def take(self, transaction: Transaction) -> None:
        """Judges one transaction."""
        zxid = transaction.zxid
        same_leader = self.last is not None and zxid >> 32 == self.last >> 32
        if self.last is not None and zxid != self.last + 1 and (same_leader or zxid & _COUNTER not in (0, 1)):
            self._row(transaction, None, None, reason=f"zxid {self.last + 1:#x} expected: transactions are missing")
        self.first, self.last = zxid if self.first is None else self.first, zxid
        for place, rise in tuple(self._rises.items()):
            if rise.session == transaction.session:
                self._after_rise(place, transaction)
        for write in transaction.writes:
            self._write(transaction, write)
        if transaction.ends_session:
            for broker in [one for one, session in self._live.items() if session == transaction.session]:
                del self._live[broker]
            self._note_live(transaction)

    def _write(self, transaction: Transaction, write: ZnodeWrite) -> None:
        if found := _STATE.fullmatch(write.path):
            self._state(transaction, write, (found[1], int(found[2])))
        elif found := _TOPIC.fullmatch(write.path):
            self._topics[found[1]] = _object(write.data)
        elif found := _BROKER.fullmatch(write.path):
            self._live.pop(int(found[1]), None)
            if write.kind is not WriteKind.delete:
                self._live[int(found[1])] = transaction.session
            self._note_live(transaction)
        elif found := _CONFIG.fullmatch(write.path):
            self._configs[found[1], found[2]] = _object(write.data).get("config", {})
        elif write.path == "/controller_epoch" and write.data.isdigit():
            self._epoch = int(write.data)
        elif write.path == "/cluster/id":
            found_id = _object(write.data).get("id")
            self.cluster_id = found_id if isinstance(found_id, str) else None

    def _note_live(self, transaction: Transaction) -> None:
        self._sets.append((transaction.timestamp, frozenset(self._live)))

    def _lately_live(self, now: int) -> list[frozenset[int]]:
        """Sets that were live of late, the newest first; the last one before that time was still so in it."""
        found: dict[frozenset[int], None] = {frozenset(self._live): None}
        for since, some in reversed(self._sets):
            found[some] = None
            if since < now - REMEMBERED_MS:
                break
        return list(found)

    def _state(self, transaction: Transaction, write: ZnodeWrite, place: tuple[str, int]) -> None:
        before = self._states.pop(place, None)
        if write.kind is WriteKind.delete:
            self._explained(transaction, place, TraceRule.removed)
            return
        data = _object(write.data)
        seen = self._seen(place, data, write.version)
        if seen is None:
            self._row(transaction, *place, reason="its assignment is not known, or its data is not what Kafka writes")
            return
        self._states[place] = seen, data["controller_epoch"]
        if write.kind is WriteKind.create:
            self._created(transaction, place, seen)
        elif before is None:
            self._row(transaction, *place, reason="its state before is not known")
        else:
            self._changed(transaction, place, before, seen, data["controller_epoch"])

    def _seen(self, place: tuple[str, int], data: dict[str, Any], version: int) -> PartitionState | None:
        topic = self._topics.get(place[0], {})
        replicas = topic.get("partitions", {}).get(str(place[1]))
        try:
            return PartitionState(
                f"{place[0]}-{place[1]}",
                tuple(replicas),
                leader_epoch=int(data["leader_epoch"]),
                partition_epoch=version,
                leader=replicas.index(data["leader"]) if data["leader"] >= 0 else NO_LEADER,
                isr=sum(1 << replicas.index(broker) for broker in {*data["isr"]}),
                recovering=data.get("leader_recovery_state", 0) == 1,
                adding=tuple(topic.get("adding_replicas", {}).get(str(place[1]), ())),
                removing=tuple(topic.get("removing_replicas", {}).get(str(place[1]), ())),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def _created(self, transaction: Transaction, place: tuple[str, int], seen: PartitionState) -> None:
        empty = seen._replace(leader=NO_LEADER, isr=0, leader_epoch=0, partition_epoch=0, recovering=False)
        expected = [first_state(empty, live) for live in self._lately_live(transaction.timestamp)]
        if any(agrees(one, seen) for one in expected):
            self._explained(transaction, place, TraceRule.created)
        else:
            nearest = Explanation(TraceRule.created, expected[0])
            self._row(transaction, *place, reason=f"created comes nearest: {differences(nearest, seen)}")

    def _changed(
        self,
        transaction: Transaction,
        place: tuple[str, int],
        before: tuple[PartitionState, int],
        seen: PartitionState,
        epoch: int,
    ) -> None:
        old = before[0].on(seen.replicas)._replace(adding=seen.adding, removing=seen.removing)
        if not before[1] <= epoch <= self._epoch:
            reason = f"controller epoch {before[1]} to {self._epoch} expected, found {epoch}"
            self._row(transaction, *place, reason=reason)
            return
        nearest: Explanation | None = None
        for one in zookeeper_decisions(old, seen, self._lately_live(transaction.timestamp), self._unclean(place[0])):
            if agrees(one.state, seen):
                self._explained(transaction, place, one.rule)
                if one.rule is TraceRule.move_ended and not old.adding and not old.removing:
                    self._rises[place] = LoneRise(len(self.rows) - 1, transaction.session)
                return
            nearest = nearest or one
        reason = "no rule makes this change"
        if nearest is not None:
            reason = f"{reason}; {nearest.rule.value} would: {differences(nearest, seen)}"
        self._row(transaction, *place, reason=reason)

    def _after_rise(self, place: tuple[str, int], transaction: Transaction) -> None:
        """Refuses a rise of a leader epoch after which its controller goes on without writing the assignment."""
        paths = {write.path for write in transaction.writes}
        if transaction.ends_session or paths & {f"/brokers/topics/{place[0]}", _PREFERRED}:
            del self._rises[place]
        elif not all(map(_OF_LEADERS.fullmatch, paths)):
            number = self._rises.pop(place).row
            reason = "its leader epoch rises alone, and its assignment is not written next"
            self.rows[number] = structs.replace(self.rows[number], rule=None, refused=reason)
            self.counts[TraceRule.move_ended] -= 1

    def _unclean(self, topic: str) -> tuple[bool, ...]:
        """Values of the setting that are possible: a topic's own, the default of all brokers, or any."""
        for resource in (("topics", topic), ("brokers", "<default>")):
            value = self._configs.get(resource, {}).get(UNCLEAN)
            if value is not None:
                return (str(value).lower() == "true",)
        return (False, True)

    def _explained(self, transaction: Transaction, place: tuple[str, int], rule: TraceRule) -> None:
        self.counts[rule] += 1
        self._row(transaction, *place, rule=rule)

    def _row(
        self,
        transaction: Transaction,
        topic: str | None,
        partition: int | None,
        rule: TraceRule | None = None,
        reason: str | None = None,
    ) -> None:
        self.rows.append(TraceChange(transaction.zxid, transaction.timestamp, topic, partition, rule, reason))


def _object(data: bytes) -> dict[str, Any]:
    """A znode's JSON object; an empty one where it is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
