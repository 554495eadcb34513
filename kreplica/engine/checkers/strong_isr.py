"""Strong ISR: every replica that may be elected cleanly holds every committed record.

Source: the invariant StrongIsr of hachikuji/kafka-specification, and LeaderCandidateCompleteness of
Vanlightly/kafka-tlaplus for the ELR. A breach has lost nothing yet: the loss comes once the wrong broker fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.checkers.invariants import Finding, Invariant, agreed_end, told_record
from kreplica.engine.checkers.overlooked import Overlooked
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.zookeeper.service import STATES, TOPICS
from kreplica.engine.trace import LEADER, PLAN, Event, Kind, Record

_OF_ZNODE = f"{STATES}/"
_OF_TOPIC = f"{TOPICS}/"


class ControllerIsr:
    """A fold: the leader, ISR and ELR of each partition as the controller, or ZooKeeper, has written them.

    A state that an active KRaft controller has written counts at once, as the controller itself acts on it: a leader
    learns of it after the commit, and until then counts with both the ISR before and the ISR after.
    """

    __slots__ = ("leaders", "removing", "states", "takes")

    def __init__(self, zookeeper: bool) -> None:
        self.states: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        """ISR and ELR by partition."""
        self.leaders: dict[str, int] = {}
        """The leader's broker id by partition, -1 for none."""
        self.removing: dict[str, tuple[int, ...]] = {}
        """The replicas that a reassignment removes, by partition; only ZooKeeper keeps them in the ISR meanwhile."""
        written = (Kind.ZNODE_WRITTEN, self._znode_written)
        self.takes: dict[str, Callable[[Event], None]] = dict(
            [written] if zookeeper else [(Kind.PARTITION_CHANGED, self._partition_changed)]
        )

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def electable(self, partition: str) -> tuple[int, ...]:
        """The ISR, or the ELR where the ISR is empty."""
        isr, elr = self.states.get(partition, ((), ()))
        return isr or elr

    def _partition_changed(self, event: Event) -> None:
        partition, leader, _, isr, elr = event.values[:5]
        self.leaders[partition] = leader
        self.states[partition] = isr, elr

    def _znode_written(self, event: Event) -> None:
        partition = partition_written(event)
        if partition:
            _, leader, _, isr = event.values[1]
            self.leaders[partition] = leader
            self.states[partition] = isr, ()
        elif event.values[0].startswith(_OF_TOPIC):
            self.removing.update((name, removing) for name, _, _, removing in event.values[1])


def partition_written(event: Event) -> str:
    """The partition whose state a znode holds; empty for other znodes."""
    path = event.values[0]
    return path[len(_OF_ZNODE) :] if path.startswith(_OF_ZNODE) else ""


class StrongIsr:
    """Every member of the controller's ISR, of the ELR where that is empty, holds every committed record.

    Checked whenever a leader's high watermark rises, a member truncates its log or recovers it, and the ISR changes.
    Holds where the settings promise it: unclean elections are off and no operator asks for one, and disks keep their
    contents. A replica whose disk lost records is checked again once it has rejoined the ISR or leads. Replicas that a
    reassignment removes are not checked in ZooKeeper mode: the leader, which is told of the target alone, no longer
    waits for them while ZooKeeper has them in the ISR (KafkaController.onPartitionReassignment; the gap is Kafka's).
    ``known`` holds the breaches that Kafka's own code makes in this version, which are no findings.

    Args:
        logs: The replicas; feed this before them.
        isr: The states that the controller has written; feed this before it.
        committed: The committed records of each partition, as ``Invariants`` knows them; feed this after that.
        unclean: Topics with unclean elections.
        overlooked: The followers whose lack of records Kafka's leaders do not see; feed this after it.
    """

    __slots__ = (
        "_checked",
        "_committed",
        "_excused",
        "_isr",
        "_logs",
        "_overlooked",
        "_powerless",
        "_unclean",
        "findings",
        "known",
        "takes",
    )

    def __init__(
        self,
        logs: ReplicaLogs,
        isr: ControllerIsr,
        committed: Mapping[str, Sequence[Record | None]],
        unclean: frozenset[str],
        overlooked: Overlooked,
    ) -> None:
        self.findings: list[Finding] = []
        self.known: list[Finding] = []
        self._overlooked = overlooked
        self._logs = logs
        self._isr = isr
        self._committed = committed
        self._unclean = set(unclean)
        self._checked: dict[str, int] = {}
        self._excused: set[tuple[str, str]] = set()
        self._powerless: set[str] = set()
        changed = dict.fromkeys(isr.takes, self._isr_changed)
        self.takes: dict[str, Callable[[Event], None]] = {
            **changed,
            Kind.HIGH_WATERMARK: self._high_watermark,
            Kind.TRUNCATED: self._truncated,
            Kind.RECOVERED: self._recovered,
            Kind.BECAME_LEADER: self._became_leader,
            Kind.CRASHED: self._crashed,
            Kind.DISK_LOST: self._disk_lost,
            Kind.FAULT: self._fault,
        }

    def __call__(self, event: Event) -> None:
        """Checks an event against the replicas as they are before it."""
        check = self.takes.get(event.kind)
        if check is not None:
            check(event)

    # -- the checks

    def _high_watermark(self, event: Event) -> None:
        partition, _, role = event.values
        committed = self._committed.get(partition, ())
        before = self._checked.get(partition, 0)
        if role != LEADER or len(committed) <= before:
            return
        self._checked[partition] = len(committed)
        for broker in self._isr.electable(partition):
            self._check(event, partition, broker, before)

    def _truncated(self, event: Event) -> None:
        partition, _, end, _ = event.values
        self._keeps(event, partition, end, f"a log cut to {end}")

    def _recovered(self, event: Event) -> None:
        partition, end, lost, _ = event.values
        if event.node in self._powerless and lost:
            self._excused.add((partition, event.node))
        self._keeps(event, partition, end, f"a log recovered up to {end}")

    def _isr_changed(self, event: Event) -> None:
        partition, members = self._written(event)
        if not partition:
            return
        before = set(self._isr.electable(partition))
        for broker in members:
            if broker not in before:
                self._excused.discard((partition, f"broker-{broker}"))
                self._check(event, partition, broker, 0)

    def _written(self, event: Event) -> tuple[str, tuple[int, ...]]:
        if event.kind == Kind.ZNODE_WRITTEN:
            partition = partition_written(event)
            return partition, event.values[1][3] if partition else ()
        return event.values[0], event.values[3] or event.values[4]

    # -- exceptions

    def _became_leader(self, event: Event) -> None:
        partition = event.values[0]
        self._excused.discard((partition, event.node))
        self._checked[partition] = min(self._checked.get(partition, 0), len(self._committed.get(partition, ())))

    def _crashed(self, event: Event) -> None:
        self._powerless.discard(event.node)
        if event.values[0]:
            self._powerless.add(event.node)

    def _disk_lost(self, event: Event) -> None:
        self._excused.update((partition, event.node) for partition in self._logs.partitions)

    def _fault(self, event: Event) -> None:
        """Ends the checks of a topic once an operator asks for unclean elections."""
        what, detail = event.values
        if event.node == PLAN and what in ("elect-unclean", "alter-topic"):
            self._unclean.update(topic for topic in map(topic_of, self._logs.partitions) if topic in detail)

    # -- comparison

    def _is_promised(self, partition: str, broker: int) -> bool:
        return not (
            topic_of(partition) in self._unclean
            or (partition, f"broker-{broker}") in self._excused
            or broker in self._isr.removing.get(partition, ())
        )

    def _check(self, event: Event, partition: str, broker: int, begin: int) -> None:
        committed = self._committed.get(partition, ())
        if len(committed) <= begin or not self._is_promised(partition, broker):
            return
        replica = self._logs.replica(partition, f"broker-{broker}")
        end = agreed_end(committed, replica, begin)
        if end < len(committed):
            there = replica.between(end, end + 1)
            self._found(event, partition, replica.node, end, told_record(there[0]) if there else f"ends at {end}")

    def _keeps(self, event: Event, partition: str, end: int, found: str) -> None:
        """Checks that a log which became shorter still has the committed records."""
        if end >= len(self._committed.get(partition, ())):
            return
        for broker in self._isr.electable(partition):
            if event.node == f"broker-{broker}" and self._is_promised(partition, broker):
                self._found(event, partition, event.node, end, found)

    def _found(self, event: Event, partition: str, node: str, offset: int, found: Any) -> None:
        expected = f"{told_record(self._committed[partition][offset])}, which is committed, on every member of the ISR"
        breaches = self.known if self._overlooked.has(partition, node) else self.findings
        breaches.append(Finding(event.time, Invariant.STRONG_ISR, partition, offset, node, expected, found))
