"""Settings as a broker is asked for them, and as its answers are read (DescribeConfigs)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from loopback.answering_broker import AnsweringBroker, answering_broker

from kreplica.model.snapshot import Gap
from kreplica.sources.kafka.configs import (
    TOPIC_SETTINGS,
    Setting,
    read_balance_settings,
    read_broker_settings,
    read_cluster_settings,
    read_throttle_rates,
    read_topic_settings,
)
from kreplica.sources.kafka.connections.connection import Address, BrokerConnection
from kreplica.sources.kafka.connections.failures import RequestUnsupportedError
from kreplica.sources.kafka.connections.messages import DescribeConfigsRequest, DescribeConfigsResponse
from kreplica.system.deadline import Deadline

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC = 2
BROKER = 4

# org.apache.kafka.common.protocol.Errors
NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31

# org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource
TOPIC_CONFIG = 1
DYNAMIC_BROKER_CONFIG = 2
DYNAMIC_DEFAULT_BROKER_CONFIG = 3
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5
DYNAMIC_BROKER_LOGGER_CONFIG = 6

Result = DescribeConfigsResponse.DescribeConfigsResult


def config(name: str, value: str | None, source: int = DEFAULT_CONFIG, *, sensitive: bool = False) -> Any:
    return Result.DescribeConfigsResourceResult(
        name=name, value=value, read_only=False, config_source=source, is_sensitive=sensitive, synonyms=[]
    )


def answer(
    configs: Mapping[str, list[Any]] | None = None, errors: Mapping[str, int] | None = None
) -> Callable[[Any], Any]:
    """What a broker says of each resource that it is asked for, by its name."""

    def prepared(request: Any) -> Any:
        results = [
            Result(
                error_code=(errors or {}).get(one.resource_name, NONE),
                error_message=None,
                resource_type=one.resource_type,
                resource_name=one.resource_name,
                configs=(configs or {}).get(one.resource_name, []),
            )
            for one in request.resources
        ]
        return DescribeConfigsResponse(results=results)

    return prepared


@contextmanager
def asking(prepared: Callable[[Any], Any]) -> Iterator[tuple[AnsweringBroker, BrokerConnection]]:
    with (
        answering_broker({DescribeConfigsRequest: prepared}) as broker,
        BrokerConnection(Address("127.0.0.1", broker.port), {"client_id": "test"}, Deadline(10)) as connection,
    ):
        yield broker, connection


def asked(broker: AnsweringBroker) -> list[tuple[int, str, list[str] | None]]:
    return [
        (one.resource_type, one.resource_name, one.configuration_keys)
        for request in broker.asked
        for one in request.resources
    ]


def test_a_broker_is_asked_for_values_alone() -> None:
    """Neither the values that one hides (synonyms, KIP-226) nor the words on it (KIP-569) are needed."""
    with asking(answer()) as (broker, connection):
        read_topic_settings(connection, ["t"], None)
        read_broker_settings(connection, 1)
        read_throttle_rates(connection, 1)
        read_cluster_settings(connection)
    assert len(broker.asked) == 4
    assert [(one.include_synonyms, one.include_documentation) for one in broker.asked] == [(False, False)] * 4


def test_the_settings_that_are_named_are_asked_for_and_all_where_none_is() -> None:
    with asking(answer()) as (broker, connection):
        read_topic_settings(connection, ["b", "a"], TOPIC_SETTINGS)
        read_topic_settings(connection, ["c"], None)
        read_broker_settings(connection, 7)
        read_cluster_settings(connection)
        read_throttle_rates(connection, 7)
        read_balance_settings(connection, 7)
    throttled = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"]
    health = ["min.insync.replicas", "unclean.leader.election.enable"]
    rates = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"]
    balance = [
        "auto.leader.rebalance.enable",
        "leader.imbalance.per.broker.percentage",
        "leader.imbalance.check.interval.seconds",
    ]
    assert asked(broker) == [
        (TOPIC, "a", [*health, *throttled]),
        (TOPIC, "b", [*health, *throttled]),
        (TOPIC, "c", None),
        (BROKER, "7", None),
        (BROKER, "", None),
        (BROKER, "7", rates),
        (BROKER, "7", balance),
    ]


@pytest.mark.parametrize(("names", "sizes"), [(TOPIC_SETTINGS, [5000, 1]), (None, [500] * 10 + [1])])
def test_many_topics_are_asked_for_in_parts(names: tuple[str, ...] | None, sizes: list[int]) -> None:
    topics = [f"t{number:04}" for number in range(5001)]
    with asking(answer()) as (broker, connection):
        read_topic_settings(connection, reversed(topics), names)
    assert [len(request.resources) for request in broker.asked] == sizes
    assert [name for _, name, _ in asked(broker)] == topics


def test_a_broker_that_cannot_say_where_a_setting_comes_from_is_not_asked() -> None:
    """Version 0 of the request is that of Kafka 1.0 and older."""
    with (
        answering_broker({DescribeConfigsRequest: answer()}, newest={DescribeConfigsRequest: 0}) as broker,
        BrokerConnection(Address("127.0.0.1", broker.port), {"client_id": "test"}, Deadline(10)) as connection,
    ):
        with pytest.raises(RequestUnsupportedError, match="DescribeConfigs"):
            read_broker_settings(connection, 1)
        assert broker.asked == []


def test_the_first_version_that_says_it_will_do() -> None:
    """Kafka 1.1 knows version 1."""
    configs = {"1": [config("num.io.threads", "16", STATIC_BROKER_CONFIG)]}
    with (
        answering_broker({DescribeConfigsRequest: answer(configs)}, newest={DescribeConfigsRequest: 1}) as broker,
        BrokerConnection(Address("127.0.0.1", broker.port), {"client_id": "test"}, Deadline(10)) as connection,
    ):
        rows, _ = read_broker_settings(connection, 1)
    assert rows == [Setting("broker", "1", "num.io.threads", "16", "broker-static")]


def test_each_value_has_the_place_where_it_was_set() -> None:
    sources = {
        TOPIC_CONFIG: "topic",
        DYNAMIC_BROKER_CONFIG: "broker-dynamic",
        DYNAMIC_DEFAULT_BROKER_CONFIG: "cluster-dynamic",
        STATIC_BROKER_CONFIG: "broker-static",
        DEFAULT_CONFIG: "default",
        DYNAMIC_BROKER_LOGGER_CONFIG: "unknown",
    }
    configs = [config(f"s{source}", "v", source) for source in sources]
    with asking(answer({"1": configs})) as (_, connection):
        rows, gaps = read_broker_settings(connection, 1)
    assert rows == [Setting("broker", "1", f"s{source}", "v", origin) for source, origin in sources.items()]
    assert gaps == ()


def test_settings_for_all_brokers_are_of_no_broker() -> None:
    configs = {"": [config("log.retention.ms", "1", DYNAMIC_DEFAULT_BROKER_CONFIG)]}
    with asking(answer(configs)) as (_, connection):
        found = read_cluster_settings(connection)
    assert found == ([Setting("broker-default", "", "log.retention.ms", "1", "cluster-dynamic")], ())


def test_a_secret_is_not_kept() -> None:
    """A broker leaves it out; one that did not would not have it kept either."""
    secret, open_one = config("ssl.key.password", "s3cret", sensitive=True), config("ssl.keystore.type", "JKS")
    with asking(answer({"1": [secret, open_one]})) as (_, connection):
        rows, _ = read_broker_settings(connection, 1)
    assert [(row.name, row.value) for row in rows] == [("ssl.key.password", None), ("ssl.keystore.type", "JKS")]


def test_health_is_of_the_topics_that_say_it() -> None:
    configs = {
        "a": [config("min.insync.replicas", "2"), config("unclean.leader.election.enable", "true")],
        "b": [config("unclean.leader.election.enable", "FALSE"), config("retention.ms", "5")],
        "c": [config("min.insync.replicas", "3"), config("unclean.leader.election.enable", None)],
        "d": [config("retention.ms", "5")],
    }
    with asking(answer(configs)) as (_, connection):
        found = read_topic_settings(connection, configs, None)
    assert found.health == {"a": (2, True), "b": (None, False), "c": (3, None)}
    assert [(row.entity_type, row.entity, row.name) for row in found.rows] == [
        ("topic", topic, one.name) for topic, listed in configs.items() for one in listed
    ]
    assert found.gaps == ()


def test_topics_that_are_refused_are_counted_by_the_reason() -> None:
    """One that was deleted since the metadata was read lacks nothing."""
    errors = {
        "a": TOPIC_AUTHORIZATION_FAILED,
        "b": UNKNOWN_TOPIC_OR_PARTITION,
        "c": REQUEST_TIMED_OUT,
        "d": TOPIC_AUTHORIZATION_FAILED,
    }
    with asking(answer({"e": [config("min.insync.replicas", "2")]}, errors)) as (_, connection):
        found = read_topic_settings(connection, "abcde", None)
    what = "could not be read, so their min.insync.replicas is not known"
    needed = "the credentials need DescribeConfigs on the topics"
    command = "kafka-acls --add --allow-principal User:ANONYMOUS --operation DescribeConfigs --topic '*'"
    assert found.gaps == (
        Gap("failed-request", f"settings of 2 topics {what}, TOPIC_AUTHORIZATION_FAILED: {needed}: {command}", 2),
        Gap("failed-request", f"settings of 1 topic {what}, REQUEST_TIMED_OUT", 1),
    )
    assert found.health == {"e": (2, None)}


Read = Callable[[BrokerConnection], tuple[list[Setting], tuple[Gap, ...]]]


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda connection: read_broker_settings(connection, 1), "settings of broker 1"),
        (lambda connection: read_balance_settings(connection, 1), "settings of broker 1"),
        (read_cluster_settings, "settings for all brokers"),
    ],
    ids=["a broker", "balance", "all brokers"],
)
def test_a_broker_that_refuses_is_a_gap_with_advice_where_a_permission_lacks(read: Read, what: str) -> None:
    needed = "the credentials need DescribeConfigs on the cluster"
    command = "kafka-acls --add --allow-principal User:ANONYMOUS --operation DescribeConfigs --cluster"
    for code, reason in (
        (CLUSTER_AUTHORIZATION_FAILED, f"CLUSTER_AUTHORIZATION_FAILED: {needed}: {command}"),
        (REQUEST_TIMED_OUT, "REQUEST_TIMED_OUT"),
    ):
        with asking(answer(errors={"1": code, "": code})) as (_, connection):
            found = read(connection)
        assert found == ([], (Gap("failed-request", f"{what} could not be read, {reason}", 1),))


def test_rates_of_throttles_that_are_refused_are_a_remark() -> None:
    name = "leader.replication.throttled.rate"
    with asking(answer({"1": [config(name, "1000", DYNAMIC_BROKER_CONFIG)]})) as (_, connection):
        assert read_throttle_rates(connection, 1) == ([Setting("broker", "1", name, "1000", "broker-dynamic")], None)
    with asking(answer(errors={"1": REQUEST_TIMED_OUT})) as (_, connection):
        rows, remark = read_throttle_rates(connection, 1)
    what = "rates of replication throttles could not be read, REQUEST_TIMED_OUT"
    assert (rows, remark) == ([], f"a throttle cannot be told as a cause: {what}")
