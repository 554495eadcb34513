"""The messages of the Kafka protocol that kreplica uses, from kafka-python: the only module that imports it.

A request is built by its fields' names in snake case; its nested structures are attributes of the class.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping

with warnings.catch_warnings():
    # kafka-python 3.0 reads its definitions by importlib.resources.read_text, which Python 3.11 and 3.12 deprecate.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.errors import for_code
    from kafka.net.sasl import get_sasl_mechanism
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.protocol.admin.acl import DescribeAclsRequest, DescribeAclsResponse
    from kafka.protocol.admin.cluster import (
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
        DescribeClusterRequest,
        DescribeClusterResponse,
        DescribeLogDirsRequest,
        DescribeLogDirsResponse,
        DescribeQuorumRequest,
        DescribeQuorumResponse,
    )
    from kafka.protocol.admin.configs import (
        DescribeConfigsRequest,
        DescribeConfigsResponse,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from kafka.protocol.admin.groups import ListGroupsRequest, ListGroupsResponse
    from kafka.protocol.admin.topics import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )
    from kafka.protocol.broker_version_data import infer_broker_version_from_api_versions
    from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse, OffsetFetchRequest, OffsetFetchResponse
    from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
    from kafka.protocol.sasl import (
        SaslAuthenticateRequest,
        SaslAuthenticateResponse,
        SaslHandshakeRequest,
        SaslHandshakeResponse,
    )

# Warnings of kafka-python would go to stderr through Python's handler of last resort; our errors name the same things.
logging.getLogger("kafka").addHandler(logging.NullHandler())

__all__ = [
    "NO_ERROR",
    "AbstractTokenProvider",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterReplicaLogDirsRequest",
    "AlterReplicaLogDirsResponse",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "DescribeAclsRequest",
    "DescribeAclsResponse",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResponse",
    "DescribeLogDirsRequest",
    "DescribeLogDirsResponse",
    "DescribeQuorumRequest",
    "DescribeQuorumResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "SaslAuthenticateRequest",
    "SaslAuthenticateResponse",
    "SaslHandshakeRequest",
    "SaslHandshakeResponse",
    "error_name",
    "get_sasl_mechanism",
    "release_of",
]

NO_ERROR = 0

_RENAMED = {
    -1: "UNKNOWN_SERVER_ERROR",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    39: "INVALID_REPLICA_ASSIGNMENT",
}
"""Codes that kafka-python names otherwise than org.apache.kafka.common.protocol.Errors does."""


def release_of(versions: Mapping[int, tuple[int, int]]) -> str:
    """The oldest release of Kafka that knows these requests, by kafka-python's table of releases.

    Args:
        versions: Oldest and newest version by the request's key.
    """
    return ".".join(map(str, infer_broker_version_from_api_versions(versions)))


def error_name(code: int) -> str:
    """Kafka's name of an error code, such as ``NOT_CONTROLLER``."""
    name: str = _RENAMED.get(code) or for_code(code).message
    return name
