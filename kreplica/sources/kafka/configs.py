"""Settings of topics and brokers, each with the source of its value (DescribeConfigs, KIP-226)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.model.balancing import BALANCE_SETTINGS
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.snapshot import Gap
from kreplica.model.throttles import THROTTLE_LISTS, THROTTLE_RATES
from kreplica.model.wording.words import counted
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    error_name,
)
from kreplica.sources.permissions import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_TOPIC_CONFIGS

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.connection import BrokerConnection

HEALTH_SETTINGS = (MIN_ISR, UNCLEAN)
"""The settings of a topic that the rules of health need."""

TOPIC_SETTINGS = (*HEALTH_SETTINGS, *THROTTLE_LISTS)
"""The settings of health, and those that the causes need besides."""

_TOPIC, _BROKER = 2, 4
_ORIGINS = {1: "topic", 2: "broker-dynamic", 3: "cluster-dynamic", 4: "broker-static", 5: "default"}
_TOPICS_A_REQUEST = 5000
_TOPICS_A_REQUEST_IN_FULL = 500
_UNKNOWN_TOPIC = 3


class Setting(NamedTuple):
    """One row of the configs table."""

    entity_type: str
    entity: str
    name: str
    value: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of topics.

    Args:
        rows: For the configs table.
        health: min.insync.replicas and unclean.leader.election.enable by topic, None where not known.
        gaps: What was refused.
    """

    rows: list[Setting]
    health: dict[str, tuple[int | None, bool | None]]
    gaps: tuple[Gap, ...] = ()


def read_topic_settings(
    connection: BrokerConnection, topics: Iterable[str], names: Sequence[str] | None
) -> TopicSettings:
    """Reads topics' settings, defaults included, from one broker.

    Args:
        connection: Any broker.
        topics: Their names.
        names: The settings asked for, None for all; a broker leaves out those it does not know.
    """
    ordered = sorted(topics)
    size = _TOPICS_A_REQUEST_IN_FULL if names is None else _TOPICS_A_REQUEST
    rows: list[Setting] = []
    refused: dict[str, int] = {}
    for start in range(0, len(ordered), size):
        asked = [_resource(_TOPIC, topic, names) for topic in ordered[start : start + size]]
        for result in _describe(connection, asked):
            if result.error_code == NO_ERROR:
                rows += _settings("topic", result.resource_name, result.configs)
            elif result.error_code != _UNKNOWN_TOPIC:  # deleted since the metadata was read
                name = error_name(result.error_code)
                refused[name] = refused.get(name, 0) + 1
    return TopicSettings(rows, _health(rows), tuple(_refusal(connection, names, *item) for item in refused.items()))


def read_broker_settings(connection: BrokerConnection, broker: int) -> tuple[list[Setting], tuple[Gap, ...]]:
    """Reads one broker's settings; only that broker knows them."""
    return _chosen(connection, broker, None, f"settings of broker {broker}")


def read_throttle_rates(connection: BrokerConnection, broker: int) -> tuple[list[Setting], str | None]:
    """Reads the rates of one broker's replication throttles; a rate that is not set has no row.

    Returns:
        The rows, and a remark if the broker refused: without rates only a cause may stay unknown.
    """
    rows, refused = _chosen(connection, broker, THROTTLE_RATES, "rates of replication throttles")
    return rows, f"a throttle cannot be told as a cause: {refused[0].message}" if refused else None


def read_balance_settings(connection: BrokerConnection, broker: int) -> tuple[list[Setting], tuple[Gap, ...]]:
    """Reads the settings by which one broker, as controller, would restore preferred leaders."""
    return _chosen(connection, broker, BALANCE_SETTINGS, f"settings of broker {broker}")


def _chosen(
    connection: BrokerConnection, broker: int, names: Sequence[str] | None, what: str
) -> tuple[list[Setting], tuple[Gap, ...]]:
    (result,) = _describe(connection, [_resource(_BROKER, str(broker), names)])
    if result.error_code == NO_ERROR:
        return _settings("broker", str(broker), result.configs), ()
    return [], (_broker_refusal(connection, what, result.error_code),)


def read_named_broker_settings(
    connection: BrokerConnection, broker: int, names: Sequence[str]
) -> tuple[list[Setting], tuple[Gap, ...]]:
    """Reads settings of one broker by their names; one that is not set has no row."""
    return _chosen(connection, broker, names, f"settings of broker {broker}")


def read_cluster_settings(connection: BrokerConnection) -> tuple[list[Setting], tuple[Gap, ...]]:
    """Reads the dynamic settings that hold for all brokers."""
    (result,) = _describe(connection, [_resource(_BROKER, "", None)])
    if result.error_code == NO_ERROR:
        return _settings("broker-default", "", result.configs), ()
    return [], (_broker_refusal(connection, "settings for all brokers", result.error_code),)


def _resource(kind: int, name: str, keys: Sequence[str] | None) -> Any:
    return DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )


def _describe(connection: BrokerConnection, resources: list[Any]) -> list[Any]:
    request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    # Version 1 (Kafka 1.1) is the first that has the source of a setting.
    answer: Any = connection.send(request, DescribeConfigsResponse, oldest=1)
    results: list[Any] = answer.results
    return results


def _settings(entity_type: str, entity: str, configs: Iterable[Any]) -> list[Setting]:
    return [
        Setting(
            entity_type,
            entity,
            one.name,
            None if one.is_sensitive else one.value,
            _ORIGINS.get(one.config_source, "unknown"),
        )
        for one in configs
    ]


def _health(rows: Iterable[Setting]) -> dict[str, tuple[int | None, bool | None]]:
    values: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.name in HEALTH_SETTINGS and row.value is not None:
            values.setdefault(row.entity, {})[row.name] = row.value
    return {
        topic: (
            int(found[MIN_ISR]) if MIN_ISR in found else None,
            found[UNCLEAN].lower() == "true" if UNCLEAN in found else None,
        )
        for topic, found in values.items()
    }


def _refusal(connection: BrokerConnection, names: Sequence[str] | None, name: str, count: int) -> Gap:
    unknown = ", so their min.insync.replicas is not known" if names is None or MIN_ISR in names else ""
    what = f"settings of {counted(count, 'topic')} could not be read{unknown}"
    fix = f": {connection.lacks(DESCRIBE_TOPIC_CONFIGS)}" if name == "TOPIC_AUTHORIZATION_FAILED" else ""
    return Gap("failed-request", f"{what}, {name}{fix}", count)


def _broker_refusal(connection: BrokerConnection, what: str, code: int) -> Gap:
    name = error_name(code)
    fix = f": {connection.lacks(DESCRIBE_CLUSTER_CONFIGS)}" if name == "CLUSTER_AUTHORIZATION_FAILED" else ""
    return Gap("failed-request", f"{what} could not be read, {name}{fix}", 1)
