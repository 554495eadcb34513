"""Kafka's group coordinator and consumer, restated with objects and sets as their sources are written.

ClassicGroup, ConsumerGroup, CurrentAssignmentBuilder, OffsetMetadataManager,
RackAwareReplicaSelector.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Refused(Exception):  # noqa: N818 - it stands for Kafka's ApiException
    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class ClassicGroup:
    """ClassicGroup of 3.9 and 4.x."""

    state: str
    generation: int
    members: set[str]
    static_members: dict[str, str] = field(default_factory=dict)

    def validate_member(self, member_id: str, instance_id: str | None) -> None:
        if instance_id is not None:
            if instance_id not in self.static_members:
                raise Refused("UNKNOWN_MEMBER_ID")
            if self.static_members[instance_id] != member_id:
                raise Refused("FENCED_INSTANCE_ID")
        if member_id not in self.members:
            raise Refused("UNKNOWN_MEMBER_ID")

    def validate_offset_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool
    ) -> None:
        if self.state == "Dead":
            raise Refused("COORDINATOR_NOT_AVAILABLE")
        if generation < 0 and self.state == "Empty":
            return
        if generation >= 0 or member_id or instance_id is not None:
            self.validate_member(member_id, instance_id)
            if generation != self.generation:
                raise Refused("ILLEGAL_GENERATION")
        elif not transactional and self.state != "Empty":
            raise Refused("UNKNOWN_MEMBER_ID")
        if not transactional and self.state == "CompletingRebalance":
            raise Refused("REBALANCE_IN_PROGRESS")

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int) -> None:
        if self.state == "Dead":
            raise Refused("COORDINATOR_NOT_AVAILABLE")
        self.validate_member(member_id, instance_id)
        if generation != self.generation:
            raise Refused("ILLEGAL_GENERATION")
        match self.state:
            case "Empty":
                raise Refused("UNKNOWN_MEMBER_ID")
            case "PreparingRebalance":
                raise Refused("REBALANCE_IN_PROGRESS")


@dataclass(frozen=True)
class PlainMember:
    state: str
    epoch: int
    assigned: frozenset[int]
    pending_revocation: frozenset[int] = frozenset()


def current_assignment(
    member: PlainMember, target: set[int], target_epoch: int, owned: list[int] | None, held: set[int]
) -> PlainMember:
    """CurrentAssignmentBuilder.build of one topic."""

    def owns(partitions: frozenset[int]) -> bool:
        return True if owned is None else any(one in partitions for one in owned)

    def compute(epoch: int, before: frozenset[int]) -> PlainMember:
        new_assigned = before & target
        revoke = before - new_assigned
        pending = set(target) - new_assigned
        unreleased = any(one in held for one in pending)
        pending = {one for one in pending if one not in held}
        if revoke and owns(revoke):
            return PlainMember("UnrevokedPartitions", epoch, new_assigned, revoke)
        if pending:
            state = "UnreleasedPartitions" if unreleased else "Stable"
            return PlainMember(state, target_epoch, frozenset(new_assigned | pending))
        return PlainMember("UnreleasedPartitions" if unreleased else "Stable", target_epoch, new_assigned)

    match member.state:
        case "Stable":
            return compute(member.epoch, member.assigned) if member.epoch != target_epoch else member
        case "UnrevokedPartitions":
            if owns(member.pending_revocation):
                return member
            return compute(member.epoch + 1, member.assigned)
        case _:
            return compute(member.epoch, member.assigned)


@dataclass(frozen=True)
class ReplicaView:
    broker: int
    rack: str
    log_end_offset: int
    behind_ms: int


def select_replica(client_rack: str, leader: ReplicaView, others: list[ReplicaView]) -> ReplicaView:
    """RackAwareReplicaSelector.select, ReplicaView.comparator."""
    same = [view for view in (leader, *others) if view.rack == client_rack]
    if not client_rack or not same or leader in same:
        return leader
    same.sort(key=lambda view: view.broker)
    same.sort(key=lambda view: view.behind_ms, reverse=True)
    same.sort(key=lambda view: view.log_end_offset)
    # three stable sorts, the last one first: by offset, then by time behind (most first), then by id
    best = [view for view in same if view.log_end_offset == same[-1].log_end_offset]
    nearest = [view for view in best if view.behind_ms == min(one.behind_ms for one in best)]
    return max(nearest, key=lambda view: view.broker)


@dataclass
class PlainOffsets:
    """OffsetMetadataManager: records of __consumer_offsets replayed for one group and partition."""

    committed: tuple[int, int] | None = None
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)

    def replay(self, record_offset: int, offset: int, producer: int | None) -> None:
        if producer is None:
            self.committed = (record_offset, offset)
        else:
            self.pending[producer] = (record_offset, offset)

    def marker(self, producer: int, commit: bool) -> None:
        pending = self.pending.pop(producer, None)
        if pending is not None and commit and (self.committed is None or pending[0] > self.committed[0]):
            self.committed = pending

    def fetch(self, require_stable: bool) -> tuple[str, int]:
        if require_stable and self.pending:
            return "UNSTABLE_OFFSET_COMMIT", -1
        return "NONE", -1 if self.committed is None else self.committed[1]
