"""Permissions in Kafka's words, and the least of them that requests need."""

from __future__ import annotations

import base64
import json

import pytest

from commands.shared.kafka_requests import COMMAND_REQUESTS
from kreplica.sources.permissions import (
    ALTER_CLUSTER,
    ALTER_TOPIC_CONFIGS,
    DESCRIBE_CLUSTER,
    DESCRIBE_GROUPS,
    DESCRIBE_TOPIC_CONFIGS,
    DESCRIBE_TOPICS,
    Permission,
    Resource,
    least,
    needed,
    operations_of,
    principal_of,
)


def test_a_refusal_names_the_command_that_grants() -> None:
    assert needed(DESCRIBE_CLUSTER, {"sasl_plain_username": "alice"}) == (
        "the credentials need Describe on the cluster: "
        "kafka-acls --add --allow-principal User:alice --operation Describe --cluster"
    )
    assert DESCRIBE_TOPICS.command("User:a b") == (
        "kafka-acls --add --allow-principal 'User:a b' --operation Describe --topic '*'"
    )
    assert DESCRIBE_GROUPS.command().endswith("User:NAME --operation Describe --group '*'")


# From AclOperation's documentation: READ, WRITE, DELETE and ALTER imply DESCRIBE, ALTER_CONFIGS DESCRIBE_CONFIGS.
@pytest.mark.parametrize(
    ("operation", "allowed", "expected"),
    [
        ("Describe", {"Describe"}, True),
        ("Describe", {"Read"}, True),
        ("Describe", {"Write"}, True),
        ("Describe", {"Delete"}, True),
        ("Describe", {"Alter"}, True),
        ("Describe", {"Create", "DescribeConfigs", "AlterConfigs", "ClusterAction"}, False),
        ("DescribeConfigs", {"AlterConfigs"}, True),
        ("DescribeConfigs", {"Alter", "Describe"}, False),
        ("Alter", {"Describe", "Read"}, False),
    ],
)
def test_what_is_implied(operation: str, allowed: set[str], expected: bool) -> None:
    assert Permission(operation, Resource.TOPIC).among(frozenset(allowed)) is expected


def test_the_least_leaves_out_what_is_implied_on_the_same_resource() -> None:
    assert least([DESCRIBE_TOPICS, DESCRIBE_CLUSTER, ALTER_CLUSTER, DESCRIBE_CLUSTER]) == (
        DESCRIBE_TOPICS,
        ALTER_CLUSTER,
    )
    assert least([DESCRIBE_TOPIC_CONFIGS, ALTER_TOPIC_CONFIGS]) == (ALTER_TOPIC_CONFIGS,)
    assert least([DESCRIBE_TOPICS, DESCRIBE_TOPIC_CONFIGS]) == (DESCRIBE_TOPICS, DESCRIBE_TOPIC_CONFIGS)


def test_the_least_of_the_commands() -> None:
    def names(command: str) -> list[str]:
        return [str(permission) for permission in COMMAND_REQUESTS[command].permissions]

    assert names("check") == ["Describe on the topics", "Describe on the cluster", "DescribeConfigs on the topics"]
    assert names("rebalance leaders") == ["Describe on the topics", "Describe on the cluster"]
    assert names("rebalance throttles") == [
        "Describe on the topics",
        "Describe on the cluster",
        "DescribeConfigs on the cluster",
        "DescribeConfigs on the topics",
    ]
    changing = ["Describe on the topics", "DescribeConfigs on the topics", "Alter on the cluster"]
    assert names("rebalance leaders --execute") == names("rebalance rollback --execute") == changing


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"e30.{body}.sig"


@pytest.mark.parametrize(
    ("settings", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"ssl_subject": None}, "User:ANONYMOUS"),
        ({"ssl_subject": "CN=ops,O=x"}, "User:CN=ops,O=x"),
        ({"ssl_subject": "CN=ops", "sasl_mechanism": "PLAIN", "sasl_plain_username": "u"}, "User:u"),
        ({"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": token({"sub": "service"})}, "User:service"),
        ({"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": "opaque"}, "User:NAME"),
        ({"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": token(["no", "claims"])}, "User:NAME"),
        ({"sasl_mechanism": "GSSAPI"}, "User:NAME"),
    ],
)
def test_whom_the_broker_sees(settings: dict[str, object], principal: str) -> None:
    assert principal_of(settings) == principal


def test_operations_are_named_by_kafkas_codes() -> None:
    assert operations_of({8, 10, 99}) == {"Describe", "DescribeConfigs"}
    assert operations_of(None) is None
