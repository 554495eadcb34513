"""Records of `__cluster_metadata`: the decisions of a KRaft cluster's controller, one record a decision.

    value    | frame version uvarint = 1 | type (apiKey) uvarint | version uvarint | message, flexible |
    key      null

Types of Kafka 3.3 to 4.x, from the schemas in metadata/src/main/resources/common/metadata. A type or version that is
not among them is given as it is, with its bytes: newer brokers may write some. Kafka:
org.apache.kafka.metadata.MetadataRecordSerde, org.apache.kafka.server.common.serialization.AbstractApiMessageSerde.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kreplica.formats.schema import Array, Field, Fields, Reader, SchemaError, message_reader, read_unsigned

FRAME_VERSION = 1
NO_LEADER_CHANGE = -2
NO_LEADER = -1
INT32S, UUIDS = Array("int32"), Array("uuid")


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record.

    Args:
        name: As Kafka's tools print it.
        newest: Newest version known.
        fields: Its schema.
    """

    name: str
    newest: int
    fields: Fields


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One decoded record.

    Args:
        type: Name of its type; ``TYPE_99`` where the type is not known.
        version: Version it was written in.
        data: Its fields by name; None where type or version are not known.
    """

    type: str
    version: int
    data: Mapping[str, Any] | None


def _tagged(tag: int, name: str, kind: Any, default: object, since: int = 0, *, nullable: bool = False) -> Field:
    return Field(name, kind, since, nullable or default is None, tag, default)


_FEATURES = Array(
    (Field("name", "string"), Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16"))
)
_END_POINTS = Array(
    (Field("name", "string"), Field("host", "string"), Field("port", "uint16"), Field("securityProtocol", "int16"))
)
_PARTITION: Fields = (
    Field("partitionId", "int32", default=-1),
    Field("topicId", "uuid"),
    Field("replicas", INT32S),
    Field("isr", INT32S),
    Field("removingReplicas", INT32S),
    Field("addingReplicas", INT32S),
    Field("leader", "int32", default=-1),
    _tagged(0, "leaderRecoveryState", "int8", 0),
    Field("leaderEpoch", "int32", default=-1),
    Field("partitionEpoch", "int32", default=-1),
    Field("directories", UUIDS, since=1),
    _tagged(1, "eligibleLeaderReplicas", INT32S, None, since=2),
    _tagged(2, "lastKnownElr", INT32S, None, since=2),
)
_PARTITION_CHANGE: Fields = (
    Field("partitionId", "int32", default=-1),
    Field("topicId", "uuid"),
    _tagged(0, "isr", INT32S, None),
    _tagged(1, "leader", "int32", NO_LEADER_CHANGE),
    _tagged(2, "replicas", INT32S, None),
    _tagged(3, "removingReplicas", INT32S, None),
    _tagged(4, "addingReplicas", INT32S, None),
    _tagged(5, "leaderRecoveryState", "int8", -1),
    _tagged(8, "directories", UUIDS, None, since=1),
    _tagged(6, "eligibleLeaderReplicas", INT32S, None, since=2),
    _tagged(7, "lastKnownElr", INT32S, None, since=2),
)
_REGISTER_BROKER: Fields = (
    Field("brokerId", "int32"),
    Field("isMigratingZkBroker", "bool", since=2, default=False),
    Field("incarnationId", "uuid"),
    Field("brokerEpoch", "int64"),
    Field("endPoints", _END_POINTS),
    Field("features", _FEATURES),
    Field("rack", "string", nullable=True),
    Field("fenced", "bool", default=True),
    Field("inControlledShutdown", "bool", since=1, default=False),
    _tagged(0, "logDirs", UUIDS, (), since=3),
    _tagged(1, "cordonedLogDirs", UUIDS, None, since=4),
)
_BROKER_CHANGE: Fields = (
    Field("brokerId", "int32"),
    Field("brokerEpoch", "int64"),
    _tagged(0, "fenced", "int8", 0),
    _tagged(1, "inControlledShutdown", "int8", 0, since=1),
    _tagged(2, "logDirs", UUIDS, (), since=2),
    _tagged(3, "cordonedLogDirs", UUIDS, None, since=3),
)
_REGISTER_CONTROLLER: Fields = (
    Field("controllerId", "int32"),
    Field("incarnationId", "uuid"),
    Field("zkMigrationReady", "bool"),
    Field("endPoints", _END_POINTS),
    Field("features", _FEATURES),
)
_ACCESS_CONTROL_ENTRY: Fields = (
    Field("id", "uuid"),
    Field("resourceType", "int8"),
    Field("resourceName", "string"),
    Field("patternType", "int8"),
    Field("principal", "string"),
    Field("host", "string"),
    Field("operation", "int8"),
    Field("permissionType", "int8"),
)
_CLIENT_QUOTA: Fields = (
    Field("entity", Array((Field("entityType", "string"), Field("entityName", "string", nullable=True)))),
    Field("key", "string"),
    Field("value", "float64"),
    Field("remove", "bool"),
)
_SCRAM: Fields = (
    Field("name", "string"),
    Field("mechanism", "int8"),
    Field("salt", "bytes"),
    Field("storedKey", "bytes"),
    Field("serverKey", "bytes"),
    Field("iterations", "int32"),
)
_DELEGATION_TOKEN: Fields = (
    Field("owner", "string"),
    Field("requester", "string"),
    Field("renewers", Array("string")),
    Field("issueTimestamp", "int64"),
    Field("maxTimestamp", "int64"),
    Field("expirationTimestamp", "int64"),
    Field("tokenId", "string"),
)
_CONFIG: Fields = (
    Field("resourceType", "int8"),
    Field("resourceName", "string"),
    Field("name", "string"),
    Field("value", "string", nullable=True),
)
_PRODUCER_IDS: Fields = (
    Field("brokerId", "int32"),
    Field("brokerEpoch", "int64", default=-1),
    Field("nextProducerId", "int64"),
)
_FENCE: Fields = (Field("id", "int32"), Field("epoch", "int64"))

RECORD_TYPES: Mapping[int, RecordType] = {
    0: RecordType("REGISTER_BROKER_RECORD", 4, _REGISTER_BROKER),
    1: RecordType("UNREGISTER_BROKER_RECORD", 0, (Field("brokerId", "int32"), Field("brokerEpoch", "int64"))),
    2: RecordType("TOPIC_RECORD", 0, (Field("name", "string"), Field("topicId", "uuid"))),
    3: RecordType("PARTITION_RECORD", 2, _PARTITION),
    4: RecordType("CONFIG_RECORD", 0, _CONFIG),
    5: RecordType("PARTITION_CHANGE_RECORD", 2, _PARTITION_CHANGE),
    7: RecordType("FENCE_BROKER_RECORD", 0, _FENCE),
    8: RecordType("UNFENCE_BROKER_RECORD", 0, _FENCE),
    9: RecordType("REMOVE_TOPIC_RECORD", 0, (Field("topicId", "uuid"),)),
    10: RecordType("DELEGATION_TOKEN_RECORD", 0, _DELEGATION_TOKEN),
    11: RecordType("USER_SCRAM_CREDENTIAL_RECORD", 0, _SCRAM),
    12: RecordType("FEATURE_LEVEL_RECORD", 0, (Field("name", "string"), Field("featureLevel", "int16"))),
    14: RecordType("CLIENT_QUOTA_RECORD", 0, _CLIENT_QUOTA),
    15: RecordType("PRODUCER_IDS_RECORD", 0, _PRODUCER_IDS),
    17: RecordType("BROKER_REGISTRATION_CHANGE_RECORD", 3, _BROKER_CHANGE),
    18: RecordType("ACCESS_CONTROL_ENTRY_RECORD", 0, _ACCESS_CONTROL_ENTRY),
    19: RecordType("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, (Field("id", "uuid"),)),
    20: RecordType("NO_OP_RECORD", 0, ()),
    21: RecordType("ZK_MIGRATION_STATE_RECORD", 0, (Field("zkMigrationState", "int8"),)),
    22: RecordType("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, (Field("name", "string"), Field("mechanism", "int8"))),
    23: RecordType("BEGIN_TRANSACTION_RECORD", 0, (_tagged(0, "name", "string", None),)),
    24: RecordType("END_TRANSACTION_RECORD", 0, ()),
    25: RecordType("ABORT_TRANSACTION_RECORD", 0, (_tagged(0, "reason", "string", None),)),
    26: RecordType("REMOVE_DELEGATION_TOKEN_RECORD", 0, (Field("tokenId", "string"),)),
    27: RecordType("REGISTER_CONTROLLER_RECORD", 0, _REGISTER_CONTROLLER),
    28: RecordType("CLEAR_ELR_RECORD", 0, (Field("topicName", "string"),)),
}
"""Types by apiKey."""


@cache
def _reader(key: int, version: int) -> Reader:
    """Cached by two numbers, so that no schema is looked up by all its fields for each record."""
    return message_reader(RECORD_TYPES[key].fields, version, flexible=True)


def decode_metadata_record(value: bytes) -> MetadataRecord:
    """Decodes the value of a record.

    Raises:
        SchemaError: It is not what its type says, or bytes are left after it.
    """
    frame, position = read_unsigned(value, 0)
    if frame != FRAME_VERSION:
        raise SchemaError(0, f"frame version {frame}, not {FRAME_VERSION}")
    key, position = read_unsigned(value, position)
    version, position = read_unsigned(value, position)
    known = RECORD_TYPES.get(key)
    if known is None or version > known.newest:
        return MetadataRecord(f"TYPE_{key}" if known is None else known.name, version, None)
    data, end = _reader(key, version)(value, position)
    if end != len(value):
        raise SchemaError(end, f"{len(value) - end} bytes behind the record")
    return MetadataRecord(known.name, version, data)
