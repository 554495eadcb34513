"""Groups as a coordinator would have them after reading `__consumer_offsets`: type, state, epoch, members.

Of each key the last record counts, a null value removes it. What makes a group, and what its members are:

    classic    GroupMetadata (2), members inside. Empty without members, else Stable: what a coordinator takes it for
               when it has read the log, whatever the members did then
    consumer   ConsumerGroupMetadata (3), members (5), their target assignment (6, 7), what they have (8). Assigning
               while the target is older than the group; Reconciling until all members have their target; else Stable
    share      ShareGroupMetadata (11), members (10), what they have (14). Empty without members, else Stable
    streams    StreamsGroupMetadata (17), members (19), their target (20, 21), what they have (22), topology (23).
               NotReady until the topics of the topology were found; else as a consumer group

Kafka: GroupMetadataManager.replay, ClassicGroup, ConsumerGroup.maybeUpdateGroupState, ShareGroup,
StreamsGroup.maybeUpdateGroupState, MemberState (STABLE is 0 of consumer groups, 1 of streams groups).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kreplica.formats.consumer_offsets.commits import NEWEST_COMMIT_KEY, key_types
from kreplica.formats.consumer_offsets.latest import last_of_each_key
from kreplica.formats.consumer_offsets.records import GroupRecord, decode_group_record
from kreplica.formats.damage import Damage
from kreplica.formats.schema import SchemaError

if TYPE_CHECKING:
    from kreplica.formats.segments.as_of import AsOf
    from kreplica.formats.segments.columns import RecordColumns

EMPTY, STABLE, ASSIGNING, RECONCILING, NOT_READY = "Empty", "Stable", "Assigning", "Reconciling", "NotReady"
_STABLE_MEMBER, _STABLE_STREAMS_MEMBER = 0, 1
"""MemberState.STABLE: neither revoking nor waiting for partitions or tasks."""
_TASKS: Final = {"active": "activeTasks", "standby": "standbyTasks", "warmup": "warmupTasks"}

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group.

    Args:
        group: Its id.
        type: classic, consumer, share or streams, as Kafka's tools print it.
        state: As Kafka's tools print it; None where it is not known.
        epoch: Generation of a classic group, epoch of any other; None where it is not known.
        protocol_type, protocol, leader: Of a classic group; None where there is none.
        changed: When a classic group last changed its state, ms since the epoch; None where it is not known.
        members: By member id: each with member_id, instance_id, client_id, client_host, epoch, subscription (names of
            topics, None where bytes say it that are not a consumer's) and assignment (objects with topic or topic_id,
            and partitions, in a streams group with subtopology_id, tasks (active, standby or warmup) and partitions;
            None likewise).
    """

    group: str
    type: str
    state: str | None
    epoch: int | None
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    changed: int | None = None
    members: tuple[Values, ...] = ()


@dataclass(slots=True)
class GroupReplay:
    """Reads records in the order of the log; keeps the last of each key of a group, so that memory does not grow.

    Args:
        as_of: State as of this offset or time; the end of the log if None.
        last: Offset and value of each key's last record; keys of commits are not among them.
    """

    as_of: AsOf | None = None
    last: dict[bytes, tuple[int, bytes | None]] = field(default_factory=dict)

    def add(self, records: RecordColumns) -> None:
        """Takes the next records."""
        records = records if self.as_of is None else self.as_of.select(records)
        which = np.flatnonzero((key_types(records) > NEWEST_COMMIT_KEY) & ~records.batches.control[records.batch])
        latest = which[last_of_each_key(records.data, records.key_start[which], records.key_length[which])]
        for row in latest.tolist():
            self.last[records.key(row) or b""] = int(records.offset[row]), records.value(row)

    def add_stretch(self, other: GroupReplay) -> None:
        """Adds the result of replaying the next stretch of the same log."""
        self.last.update(other.last)

    def groups(self, file: str, damage: list[Damage]) -> Iterator[GroupState]:
        """The groups that there are, by id.

        Args:
            file: The file named in damage.
            damage: Takes records that are not what their type and version say.
        """
        by_group: dict[str, _Records] = {}
        for record in self._decoded(file, damage):
            key = record.key or {}
            records = by_group.setdefault(key.get("group", key.get("groupId", "")), {})
            records.setdefault(record.number, {})[key.get("memberId", "")] = record.value or {}
        for group, records in sorted(by_group.items()):
            build = next((_BUILDERS[number] for number in _BUILDERS if number in records), None)
            if build is not None:
                yield build(group, records)

    def _decoded(self, file: str, damage: list[Damage]) -> Iterator[GroupRecord]:
        for key, (offset, value) in self.last.items():
            if value is None:
                continue
            try:
                yield decode_group_record(key, value)
            except SchemaError as error:
                reason = f"record at offset {offset} is not of its type: {error.reason}"
                damage.append(Damage(file, 0, reason, len(key) + len(value)))


_Records = dict[int, dict[str, Values]]
"""Values of a group's records: by type, then by member; those of the group itself by the empty name."""


def _classic(group: str, records: _Records) -> GroupState:
    value = records[2][""]
    members = tuple(_classic_member(each) for each in value.get("members", ()))
    changed = value.get("currentStateTimestamp", -1)
    return GroupState(
        group,
        "classic",
        STABLE if members else EMPTY,
        value.get("generation"),
        value.get("protocolType") or None,
        value.get("protocol"),
        value.get("leader"),
        None if changed < 0 else changed,
        members,
    )


def _classic_member(member: Values) -> Values:
    subscription, assignment = member["subscription"], member["assignment"]
    return {
        "member_id": member["memberId"],
        "instance_id": member.get("groupInstanceId"),
        "client_id": member["clientId"],
        "client_host": member["clientHost"],
        "epoch": None,
        "subscription": list(subscription["topics"]) if isinstance(subscription, Mapping) else None,
        "assignment": assignment["assignedPartitions"] if isinstance(assignment, Mapping) else None,
    }


def _consumer(group: str, records: _Records) -> GroupState:
    epoch, target = records[3][""].get("epoch"), records.get(6, {}).get("", {}).get("assignmentEpoch", 0)
    current, members = records.get(8, {}), records.get(5, {})
    state = _state(epoch, target, [current.get(member, {}) for member in members], _STABLE_MEMBER)
    return GroupState(group, "consumer", state, epoch, "consumer", members=_members(members, current))


def _state(epoch: int | None, target: int, members: Sequence[Values], stable: int) -> str | None:
    """Of a consumer or streams group.

    Args:
        epoch: Of the group; None for a version that is not known.
        target: Of the target assignment.
        members: What each has.
        stable: The number of a member's state that is stable.
    """
    if not members:
        return EMPTY
    if epoch is None:
        return None
    if epoch > target:
        return ASSIGNING
    has_target = (each.get("state") == stable and each.get("memberEpoch") == target for each in members)
    return STABLE if all(has_target) else RECONCILING


def _members(members: Mapping[str, Values], current: Mapping[str, Values]) -> tuple[Values, ...]:
    return tuple(
        {
            "member_id": member,
            "instance_id": value.get("instanceId"),
            "client_id": value.get("clientId"),
            "client_host": value.get("clientHost"),
            "epoch": current.get(member, {}).get("memberEpoch"),
            "subscription": value.get("subscribedTopicNames"),
            "assignment": _assigned(current.get(member, {})),
        }
        for member, value in sorted(members.items())
    )


def _assigned(current: Values) -> list[Values] | None:
    assigned = current.get("assignedPartitions")
    if assigned is None:
        return None
    return [{"topic_id": each["topicId"], "partitions": each["partitions"]} for each in assigned]


def _share(group: str, records: _Records) -> GroupState:
    members = records.get(10, {})
    state = STABLE if members else EMPTY
    return GroupState(
        group, "share", state, records[11][""].get("epoch"), "share", members=_members(members, records.get(14, {}))
    )


def _streams(group: str, records: _Records) -> GroupState:
    value, target = records[17][""], records.get(20, {}).get("", {}).get("assignmentEpoch", 0)
    topology = records.get(23, {}).get("", {})
    current, members = records.get(22, {}), records.get(19, {})
    state = _state(value.get("epoch"), target, [current.get(member, {}) for member in members], _STABLE_STREAMS_MEMBER)
    if state not in (None, EMPTY) and value.get("validatedTopologyEpoch", -1) != topology.get("epoch"):
        state = NOT_READY
    topics = {name for each in topology.get("subtopologies", ()) for name in each["sourceTopics"]}
    told = tuple(
        {**member, "subscription": sorted(topics) or None, "assignment": _tasks(current.get(member["member_id"], {}))}
        for member in _members(members, current)
    )
    return GroupState(group, "streams", state, value.get("epoch"), "streams", members=told)


def _tasks(current: Values) -> list[Values] | None:
    if not current:
        return None
    return [
        {"subtopology_id": each["subtopologyId"], "tasks": kind, "partitions": each["partitions"]}
        for kind, name in _TASKS.items()
        for each in current[name]
    ]


_BUILDERS: Final[Mapping[int, Callable[[str, _Records], GroupState]]] = {
    2: _classic,
    3: _consumer,
    11: _share,
    17: _streams,
}
"""Builders of groups of each kind, by the type of the record without which there is no such group."""
