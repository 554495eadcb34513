"""Records of `__consumer_offsets` one by one: commits; classic, KIP-848, share and streams groups.

    key      type int16 | message of that type, not flexible |
    value    version int16 | message |                                  null: a tombstone

    0, 1   OffsetCommit                       9   ShareGroupPartitionMetadata
    2      GroupMetadata (classic groups)     10  ShareGroupMemberMetadata
    3      ConsumerGroupMetadata              11  ShareGroupMetadata
    4      ConsumerGroupPartitionMetadata     12  ShareGroupTargetAssignmentMetadata
    5      ConsumerGroupMemberMetadata        13  ShareGroupTargetAssignmentMember
    6      ConsumerGroupTargetAssignmentMetadata  14  ShareGroupCurrentMemberAssignment
    7      ConsumerGroupTargetAssignmentMember    15  ShareGroupStatePartitionMetadata
    8      ConsumerGroupCurrentMemberAssignment   16  ConsumerGroupRegularExpression
    17     StreamsGroupMetadata                   21  StreamsGroupTargetAssignmentMember
    18     StreamsGroupPartitionMetadata          22  StreamsGroupCurrentMemberAssignment
    19     StreamsGroupMemberMetadata             23  StreamsGroupTopology
    20     StreamsGroupTargetAssignmentMetadata   24  StreamsGroupTargetAssignmentResolvedTopicIds

Values of streams groups (KIP-1071, types 17 to 24) are those of Kafka 4.2, the first release that promises to read them
on: flexible and of version 0. What earlier releases wrote as version 0 may be laid out otherwise and is left out.

Subscriptions and assignments inside a classic group are decoded where its protocol type is consumer (ConsumerProtocol).
Schemas: group-coordinator/src/main/resources/common/message of Kafka. Kafka: GroupCoordinatorRecordSerde,
CoordinatorRecordType.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kreplica.formats.schema import Array, Field, Fields, SchemaError, message_reader

_KEY_VALUES: Final = Array((Field("key", "string"), Field("value", "string")))
_TASKS: Final = Array((Field("subtopologyId", "string"), Field("partitions", Array("int32"))))
_OWNED_TASKS: Final = Array(
    (
        Field("subtopologyId", "string"),
        Field("partitions", Array("int32")),
        Field("assignmentEpochs", Array("int32"), nullable=True, tag=0, default=None),
    )
)
_TOPICS: Final = Array(
    (
        Field("name", "string"),
        Field("partitions", "int32"),
        Field("replicationFactor", "int16"),
        Field("topicConfigs", _KEY_VALUES),
    )
)
_COPARTITION_GROUPS: Final = Array(
    (
        Field("sourceTopics", Array("int16")),
        Field("sourceTopicRegex", Array("int16")),
        Field("repartitionSourceTopics", Array("int16")),
    )
)

STREAMS_METADATA: Final[Fields] = (
    Field("epoch", "int32"),
    Field("metadataHash", "int64"),
    Field("validatedTopologyEpoch", "int32", tag=0, default=-1),
    Field("lastAssignmentConfigs", _KEY_VALUES, nullable=True, tag=1, default=None),
)
STREAMS_MEMBER: Final[Fields] = (
    Field("instanceId", "string", nullable=True),
    Field("rackId", "string", nullable=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeoutMs", "int32"),
    Field("topologyEpoch", "int32"),
    Field("processId", "string"),
    Field("userEndpoint", (Field("host", "string"), Field("port", "uint16")), nullable=True),
    Field("clientTags", _KEY_VALUES),
)
STREAMS_TARGET_MEMBER: Final[Fields] = (
    Field("activeTasks", _TASKS),
    Field("standbyTasks", _TASKS),
    Field("warmupTasks", _TASKS),
)
STREAMS_CURRENT: Final[Fields] = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
    Field("activeTasks", _OWNED_TASKS),
    Field("standbyTasks", _OWNED_TASKS),
    Field("warmupTasks", _OWNED_TASKS),
    Field("activeTasksPendingRevocation", _OWNED_TASKS),
    Field("standbyTasksPendingRevocation", _OWNED_TASKS),
    Field("warmupTasksPendingRevocation", _OWNED_TASKS),
)
STREAMS_TOPOLOGY: Final[Fields] = (
    Field("epoch", "int32"),
    Field(
        "subtopologies",
        Array(
            (
                Field("subtopologyId", "string"),
                Field("sourceTopics", Array("string")),
                Field("sourceTopicRegex", Array("string")),
                Field("stateChangelogTopics", _TOPICS),
                Field("repartitionSinkTopics", Array("string")),
                Field("repartitionSourceTopics", _TOPICS),
                Field("copartitionGroups", _COPARTITION_GROUPS),
            )
        ),
    ),
)

_GROUP: Final[Fields] = (Field("groupId", "string"),)
_MEMBER: Final[Fields] = (Field("groupId", "string"), Field("memberId", "string"))
_COMMIT_KEY: Final[Fields] = (Field("group", "string"), Field("topic", "string"), Field("partition", "int32"))
_PARTITIONS: Final[Fields] = (Field("topicId", "uuid"), Field("partitions", Array("int32")))
_ASSIGNED: Final[Fields] = (
    *_PARTITIONS,
    Field("assignmentEpochs", Array("int32"), nullable=True, tag=0, default=None),
)
_TOPIC_PARTITIONS: Final = Array((Field("topic", "string"), Field("partitions", Array("int32"))))
_NAMED_PARTITIONS: Final = Array(
    (Field("topicId", "uuid"), Field("topicName", "string"), Field("partitions", Array("int32")))
)

_COMMIT: Final[Fields] = (
    Field("offset", "int64"),
    Field("leaderEpoch", "int32", since=3, default=-1),
    Field("metadata", "string"),
    Field("commitTimestamp", "int64"),
    Field("topicId", "uuid", since=4, tag=0),
)
_COMMIT_V1: Final[Fields] = (*_COMMIT[:4], Field("expireTimestamp", "int64", since=1, default=-1))
_CLASSIC_MEMBERS: Final[Fields] = (
    Field("memberId", "string"),
    Field("groupInstanceId", "string", since=3, nullable=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeout", "int32", since=1, default=-1),
    Field("sessionTimeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)
_CLASSIC: Final[Fields] = (
    Field("protocolType", "string"),
    Field("generation", "int32"),
    Field("protocol", "string", nullable=True),
    Field("leader", "string", nullable=True),
    Field("currentStateTimestamp", "int64", since=2, default=-1),
    Field("members", Array(_CLASSIC_MEMBERS)),
)
_SUBSCRIPTION: Final[Fields] = (
    Field("topics", Array("string")),
    Field("userData", "bytes", nullable=True),
    Field("ownedPartitions", _TOPIC_PARTITIONS, since=1, default=()),
    Field("generationId", "int32", since=2, default=-1),
    Field("rackId", "string", since=3, nullable=True),
)
_ASSIGNMENT: Final[Fields] = (
    Field("assignedPartitions", _TOPIC_PARTITIONS),
    Field("userData", "bytes", nullable=True),
)
_NEWEST_EMBEDDED = 3
_CLASSIC_MEMBER: Final[Fields] = (
    Field("sessionTimeoutMs", "int32"),
    Field("supportedProtocols", Array((Field("name", "string"), Field("metadata", "bytes")))),
)
_MEMBER_METADATA: Final[Fields] = (
    Field("instanceId", "string", nullable=True),
    Field("rackId", "string", nullable=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("subscribedTopicNames", Array("string")),
    Field("subscribedTopicRegex", "string", nullable=True),
    Field("rebalanceTimeoutMs", "int32"),
    Field("serverAssignor", "string", nullable=True),
    Field("classicMemberMetadata", _CLASSIC_MEMBER, nullable=True, tag=0),
)
_PARTITION_METADATA: Final[Fields] = (
    Field(
        "topics",
        Array(
            (
                Field("topicId", "uuid"),
                Field("topicName", "string"),
                Field("numPartitions", "int32"),
                Field("partitionMetadata", Array((Field("partition", "int32"), Field("racks", Array("string"))))),
            )
        ),
    ),
)
_TARGET: Final[Fields] = (
    Field("assignmentEpoch", "int32"),
    Field("assignmentTimestamp", "int64", tag=0, default=0),
)
_TARGET_MEMBER: Final[Fields] = (Field("topicPartitions", Array(_PARTITIONS)),)
_CURRENT: Final[Fields] = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
    Field("assignedPartitions", Array(_ASSIGNED)),
    Field("partitionsPendingRevocation", Array(_ASSIGNED)),
)
_REGEX_KEY: Final[Fields] = (Field("groupId", "string"), Field("regularExpression", "string"))
_REGEX: Final[Fields] = (
    Field("topics", Array("string")),
    Field("version", "int64"),
    Field("timestamp", "int64"),
)
_SHARE_CURRENT: Final[Fields] = (*_CURRENT[:3], Field("assignedPartitions", Array(_PARTITIONS)))
_EPOCH: Final[Fields] = (Field("epoch", "int32"), Field("metadataHash", "int64", tag=0, default=0))
_SHARE_EPOCH: Final[Fields] = (Field("epoch", "int32"), Field("metadataHash", "int64"))
_SHARE_MEMBER: Final[Fields] = (
    Field("rackId", "string", nullable=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("subscribedTopicNames", Array("string")),
)
_SHARE_STATE: Final[Fields] = (
    Field("initializingTopics", _NAMED_PARTITIONS),
    Field("initializedTopics", _NAMED_PARTITIONS),
    Field("deletingTopics", Array((Field("topicId", "uuid"), Field("topicName", "string")))),
)


@dataclass(frozen=True, slots=True)
class _Type:
    """One type of record: its name, the schemas of key and value (None: only the key is decoded), the newest version,
    the first flexible one.
    """

    name: str
    key: Fields
    value: Fields | None
    newest: int = 0
    flexible: int = 0


_TYPES: Final[Mapping[int, _Type]] = {
    0: _Type("OffsetCommit", _COMMIT_KEY, _COMMIT, 4, 4),
    1: _Type("OffsetCommit", _COMMIT_KEY, _COMMIT, 4, 4),
    2: _Type("GroupMetadata", (Field("group", "string"),), _CLASSIC, 4, 4),
    3: _Type("ConsumerGroupMetadata", _GROUP, _EPOCH),
    4: _Type("ConsumerGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
    5: _Type("ConsumerGroupMemberMetadata", _MEMBER, _MEMBER_METADATA),
    6: _Type("ConsumerGroupTargetAssignmentMetadata", _GROUP, _TARGET),
    7: _Type("ConsumerGroupTargetAssignmentMember", _MEMBER, _TARGET_MEMBER),
    8: _Type("ConsumerGroupCurrentMemberAssignment", _MEMBER, _CURRENT),
    9: _Type("ShareGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
    10: _Type("ShareGroupMemberMetadata", _MEMBER, _SHARE_MEMBER),
    11: _Type("ShareGroupMetadata", _GROUP, _SHARE_EPOCH),
    12: _Type("ShareGroupTargetAssignmentMetadata", _GROUP, _TARGET),
    13: _Type("ShareGroupTargetAssignmentMember", _MEMBER, _TARGET_MEMBER),
    14: _Type("ShareGroupCurrentMemberAssignment", _MEMBER, _SHARE_CURRENT),
    15: _Type("ShareGroupStatePartitionMetadata", _GROUP, _SHARE_STATE),
    16: _Type("ConsumerGroupRegularExpression", _REGEX_KEY, _REGEX),
    17: _Type("StreamsGroupMetadata", _GROUP, STREAMS_METADATA),
    18: _Type("StreamsGroupPartitionMetadata", _GROUP, None),
    19: _Type("StreamsGroupMemberMetadata", _MEMBER, STREAMS_MEMBER),
    20: _Type("StreamsGroupTargetAssignmentMetadata", _GROUP, _TARGET),
    21: _Type("StreamsGroupTargetAssignmentMember", _MEMBER, STREAMS_TARGET_MEMBER),
    22: _Type("StreamsGroupCurrentMemberAssignment", _MEMBER, STREAMS_CURRENT),
    23: _Type("StreamsGroupTopology", _GROUP, STREAMS_TOPOLOGY),
    24: _Type("StreamsGroupTargetAssignmentResolvedTopicIds", _GROUP, None),
}


_STREAMS: Final = range(17, 25)
"""Types whose values were laid out otherwise, under the same version, before they were released for use."""


def type_name(number: int) -> str | None:
    """Kafka's name of a type of key; None where it is not known."""
    known = _TYPES.get(number)
    return None if known is None else known.name


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """One record.

    Args:
        type: Name of its type; ``TYPE_99`` where only the number is known.
        number: Number of the type.
        key: The key's fields by Kafka's names; None where the type is not known.
        version: Version of the value; None for a tombstone.
        value: The value's fields; None for a tombstone and where type or version are not known.
        tombstone: True if the value is null.
    """

    type: str
    number: int
    key: Mapping[str, Any] | None
    version: int | None
    value: Mapping[str, Any] | None
    tombstone: bool


def decode_group_record(key: bytes, value: bytes | None) -> GroupRecord:
    """Decodes one record.

    Raises:
        SchemaError: The bytes are not what their type and version say.
    """
    number = _version(key)
    known = _TYPES.get(number)
    version = None if value is None else _version(value)
    if known is None:
        return GroupRecord(f"TYPE_{number}", number, None, version, None, value is None)
    fields = _message(key, known.key, number, flexible=False)
    if value is None or version is None or known.value is None or not 0 <= version <= known.newest:
        return GroupRecord(known.name, number, fields, version, None, value is None)
    schema = _COMMIT_V1 if known.value is _COMMIT and version == 1 else known.value
    try:
        data = _message(value, schema, version, flexible=version >= known.flexible)
    except SchemaError:
        if number not in _STREAMS:
            raise
        return GroupRecord(known.name, number, fields, version, None, tombstone=False)
    return GroupRecord(known.name, number, fields, version, _readable(known.value, data, version), tombstone=False)


def _version(content: bytes) -> int:
    if len(content) < 2:
        raise SchemaError(0, f"{len(content)} bytes have no type or version")
    return int.from_bytes(content[:2], "big", signed=True)


def _message(content: bytes, schema: Fields, version: int, *, flexible: bool) -> dict[str, Any]:
    found, end = message_reader(schema, version, flexible=flexible)(content, 2)
    if end != len(content):
        raise SchemaError(end, f"{len(content) - end} bytes behind the message")
    written: dict[str, Any] = found
    return written


def _readable(schema: Fields, data: dict[str, Any], version: int) -> dict[str, Any]:
    """The fields that this version has, subscriptions and assignments decoded, as Kafka's tools print them."""
    data = _present(data, schema if schema is not _COMMIT else (), version)
    if schema is _COMMIT:
        return {
            name: value for name, value in data.items() if value is not None and (name != "leaderEpoch" or version > 2)
        }
    if schema is not _CLASSIC:
        return data
    consumer = data["protocolType"] == "consumer"
    data["members"] = [_member(_present(member, _CLASSIC_MEMBERS, version), consumer) for member in data["members"]]
    return data


def _present(data: dict[str, Any], schema: Fields, version: int) -> dict[str, Any]:
    later = {field.name for field in schema if field.since > version}
    unwritten = {field.name for field in schema if field.tag is not None and field.default == data.get(field.name)}
    gone = later | (unwritten - {"classicMemberMetadata"})
    return {name: value for name, value in data.items() if name not in gone}


def _member(member: dict[str, Any], consumer: bool) -> dict[str, Any]:
    for name, schema in (("subscription", _SUBSCRIPTION), ("assignment", _ASSIGNMENT)):
        member[name] = _embedded(member[name], schema, consumer)
    return member


def _embedded(content: bytes, schema: Fields, consumer: bool) -> object:
    """The consumer protocol's own message; the bytes, in base64, where it is none."""
    if consumer:
        try:
            version = min(_version(content), _NEWEST_EMBEDDED)
            found, _ = message_reader(schema, version, flexible=False)(content, 2)
            return {name: _plain(value) for name, value in found.items()}
        except SchemaError:
            pass
    return _plain(content)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return list(value) if isinstance(value, tuple) else value
