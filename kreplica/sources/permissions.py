"""Permissions of Kafka's authorizer: the access control entries that requests need, in the words of kafka-acls.

Each refusal that kreplica reports names one of these, with the command that grants it; ``kreplica config check`` and
the reference come from the same table of requests (kreplica/sources/kafka_requests.py). A permission is what KafkaApis
asks its authorizer (org.apache.kafka.common.acl.AclOperation, KIP-11); on the same resource Alter, Read, Write and
Delete imply Describe, and AlterConfigs implies DescribeConfigs (StandardAuthorizerData, AclAuthorizer).
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

ANYBODY = "User:NAME"
"""Stands for a principal that cannot be known here."""

ANONYMOUS = "User:ANONYMOUS"
"""The principal without a certificate or a password (KafkaPrincipal.ANONYMOUS)."""

_IMPLIED_BY = {
    "Describe": frozenset({"Read", "Write", "Delete", "Alter"}),
    "DescribeConfigs": frozenset({"AlterConfigs"}),
}
_OPERATIONS = {
    2: "All",
    3: "Read",
    4: "Write",
    5: "Create",
    6: "Delete",
    7: "Alter",
    8: "Describe",
    9: "ClusterAction",
    10: "DescribeConfigs",
    11: "AlterConfigs",
    12: "IdempotentWrite",
}


class Resource(StrEnum):
    """Kind of resource that a permission is about."""

    CLUSTER = "cluster"
    TOPIC = "topic"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Permission:
    """An operation on a kind of resource."""

    operation: str
    resource: Resource

    def __str__(self) -> str:
        where = {Resource.CLUSTER: "the cluster", Resource.TOPIC: "the topics", Resource.GROUP: "the groups"}
        return f"{self.operation} on {where[self.resource]}"

    def command(self, principal: str = ANYBODY) -> str:
        """The command of Kafka that grants it; names of topics or groups may be narrowed."""
        target = ["--cluster"] if self.resource is Resource.CLUSTER else [f"--{self.resource}", "*"]
        words = ["kafka-acls", "--add", "--allow-principal", principal, "--operation", self.operation, *target]
        return shlex.join(words)

    def among(self, operations: frozenset[str]) -> bool:
        """True if the operations that are allowed on a resource include it."""
        return self.operation in operations or bool(_IMPLIED_BY.get(self.operation, frozenset()) & operations)


DESCRIBE_CLUSTER = Permission("Describe", Resource.CLUSTER)
DESCRIBE_CLUSTER_CONFIGS = Permission("DescribeConfigs", Resource.CLUSTER)
ALTER_CLUSTER = Permission("Alter", Resource.CLUSTER)
DESCRIBE_TOPICS = Permission("Describe", Resource.TOPIC)
DESCRIBE_TOPIC_CONFIGS = Permission("DescribeConfigs", Resource.TOPIC)
ALTER_CLUSTER_CONFIGS = Permission("AlterConfigs", Resource.CLUSTER)
ALTER_TOPIC_CONFIGS = Permission("AlterConfigs", Resource.TOPIC)
DESCRIBE_GROUPS = Permission("Describe", Resource.GROUP)


def needed(permission: Permission, settings: Mapping[str, object]) -> str:
    """Describes the permission that the credentials lack, with the command that grants it.

    Args:
        permission: The permission that was refused.
        settings: ClientSettings.kafka_python, with a token where one is used.
    """
    return f"the credentials need {permission}: {permission.command(principal_of(settings))}"


def least(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """The permissions without those that others imply, each once."""
    every = tuple(dict.fromkeys(permissions))
    allowed = {resource: frozenset(one.operation for one in every if one.resource is resource) for resource in Resource}
    return tuple(one for one in every if not Permission.among(one, allowed[one.resource] - {one.operation}))


def principal_of(settings: Mapping[str, object]) -> str:
    """The principal that the broker sees, as far as it can be known here; a broker may map names otherwise.

    Args:
        settings: ClientSettings.kafka_python, with a token where one is used.
    """
    if "sasl_plain_username" in settings:
        return f"User:{settings['sasl_plain_username']}"
    if "sasl_oauth_token" in settings:
        return _subject(str(settings["sasl_oauth_token"]))
    if "sasl_mechanism" in settings:
        return ANYBODY
    return f"User:{settings['ssl_subject']}" if settings.get("ssl_subject") else ANONYMOUS


def operations_of(codes: Collection[int] | None) -> frozenset[str] | None:
    """The operations that a broker says are allowed on a resource (KIP-430), None if it does not say.

    Args:
        codes: Codes of AclOperation.
    """
    return None if codes is None else frozenset(_OPERATIONS[code] for code in codes if code in _OPERATIONS)


def _subject(token: str) -> str:
    # The claims of a JSON web token; brokers take the principal from ``sub`` unless sasl.oauthbearer.sub.claim.name.
    try:
        claims = token.split(".")[1]
        subject = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ANYBODY
    return f"User:{subject}"
