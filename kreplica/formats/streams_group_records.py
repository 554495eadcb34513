"""Values of the records of streams groups (KIP-1071), as of Kafka 4.2, the first release that promises to read them on.

    17  StreamsGroupMetadata                    21  StreamsGroupTargetAssignmentMember
    19  StreamsGroupMemberMetadata              22  StreamsGroupCurrentMemberAssignment
    20  StreamsGroupTargetAssignmentMetadata    23  StreamsGroupTopology

All are flexible and of version 0; what releases before wrote as version 0 may be laid out otherwise. Schemas:
group-coordinator/src/main/resources/common/message of Kafka. Kafka: GroupCoordinatorRecordSerde.
"""

from __future__ import annotations

from typing import Final

from kreplica.formats.message_schema import Array, Field, Fields

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
