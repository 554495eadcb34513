"""Members of ISRs that a leader overlooks by Kafka's own code: it commits records that they lack.

kafka.cluster.Partition.makeLeader, where ``positions_outlive_leaders`` or ``known_state_ends_pending`` of ``Version``
say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kreplica.engine.trace import Event, Kind, Record
from kreplica.engine.versions.version import Version


class Overlooked:
    """A fold: the followers of each partition whose lack of committed records its leader does not see.

    - A broker leads again after others whom it has not heard of: it goes by the position from before of each follower
      that has cut its log since.
    - A leader is told the state it knows while it waits for a new member of the ISR: it waits no longer, and the
      controller makes the replica a member.

    It ends for a follower once the leader learns that it has everything that is committed.

    Args:
        version: Whether Kafka has these gaps.
        committed: The committed records of each partition, as ``Invariants`` knows them.
    """

    __slots__ = ("_committed", "_cut", "_leads", "_members", "_version", "takes")

    def __init__(self, version: Version, committed: Mapping[str, Sequence[Record | None]]) -> None:
        self._version = version
        self._committed = committed
        self._cut: dict[tuple[str, str], set[str]] = {}
        """By partition and leader the followers that have cut their logs since it last heard of their positions."""
        self._leads: dict[str, str] = {}
        """The node that began to lead last."""
        self._members: dict[str, set[str]] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.BECAME_LEADER: self._became_leader,
            Kind.RESIGNED: self._resigned,
            Kind.CRASHED: self._ended,
            Kind.STOPPED: self._ended,
            Kind.TRUNCATED: self._truncated,
            Kind.FOLLOWER_POSITION: self._follower_position,
            Kind.ISR_FORGOTTEN: self._isr_forgotten,
        }

    def has(self, partition: str, node: str) -> bool:
        """True if the leader overlooks what this follower lacks."""
        return node in self._members.get(partition, ())

    def _became_leader(self, event: Event) -> None:
        partition = event.values[0]
        cut = self._cut.setdefault((partition, event.node), set())
        if self._leads.get(partition) != event.node and self._version.positions_outlive_leaders:
            self._members.setdefault(partition, set()).update(cut)
        self._leads[partition] = event.node

    def _resigned(self, event: Event) -> None:
        self._cut.pop((event.values[0], event.node), None)

    def _ended(self, event: Event) -> None:
        for key in [key for key in self._cut if key[1] == event.node]:
            del self._cut[key]

    def _truncated(self, event: Event) -> None:
        for (partition, leader), cut in self._cut.items():
            if partition == event.values[0] and leader != event.node:
                cut.add(event.node)

    def _follower_position(self, event: Event) -> None:
        partition, follower, end = event.values
        node = f"broker-{follower}"
        self._cut.get((partition, event.node), set()).discard(node)
        if end >= len(self._committed.get(partition, ())):
            self._members.get(partition, set()).discard(node)

    def _isr_forgotten(self, event: Event) -> None:
        partition, isr, known = event.values
        if self._version.known_state_ends_pending:
            joining = {f"broker-{broker}" for broker in isr if broker not in known}
            self._members.setdefault(partition, set()).update(joining)
