"""Settings that throttle, as brokers tell them through librdkafka, which knows nothing of kreplica, and as Kafka's own
tool tells them, for the processor time of two JVMs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kreplica.model.throttles import DIRECTORY_RATE
from kreplica.sandbox import Sandbox
from kreplica.sandbox.admin import admin_client

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ConfigResource

Throttle = tuple[str, str, str]
"""Broker or topic, name and value."""

_TRIES = 3
_LINE = re.compile(rf"^ +(\S*throttled\S*|{re.escape(DIRECTORY_RATE)})=(\S*) sensitive=", re.MULTILINE)


def throttles(sandbox: Sandbox) -> list[Throttle]:
    """Every dynamic setting that throttles, of brokers that run and of topics; each broker tells the cluster's default
    unless it has a value of its own.
    """
    from confluent_kafka import KafkaException

    for left in reversed(range(_TRIES)):
        try:
            return _throttles(sandbox)
        except KafkaException:  # a connection to a broker that stood still is given up, and what is under way with it
            if left == 0:
                raise
    raise AssertionError("the last try returns or raises")


def _throttles(sandbox: Sandbox) -> list[Throttle]:
    from confluent_kafka.admin import ConfigResource, ResourceType

    client = admin_client(sandbox.live_bootstrap_servers())
    topics = [ConfigResource(ResourceType.TOPIC, name) for name in client.list_topics(timeout=30).topics]
    brokers = [ConfigResource(ResourceType.BROKER, str(number)) for number in sandbox.running_brokers()]
    return sorted(one for asked in (topics, *([broker] for broker in brokers)) for one in _told(client, asked))


def _told(client: AdminClient, asked: list[ConfigResource]) -> list[Throttle]:
    from confluent_kafka.admin import ConfigSource

    fixed = {ConfigSource.DEFAULT_CONFIG.value, ConfigSource.STATIC_BROKER_CONFIG.value}
    return [
        (f"{resource.restype.name} {resource.name}", name, entry.value)
        for resource, answer in client.describe_configs(asked, request_timeout=30).items()
        for name, entry in answer.result(timeout=60).items()
        if ("throttled" in name or name == DIRECTORY_RATE) and entry.source not in fixed
    ]


def assert_told_by_kafka_configs(sandbox: Sandbox, told: list[Throttle]) -> None:
    """Kafka's tool tells the same names and values; the default once, not of each broker."""
    text = "".join(sandbox.tool("configs", "--describe", "--entity-type", kind) for kind in ("brokers", "topics"))
    assert sorted(set(_LINE.findall(text))) == sorted({(name, value) for _, name, value in told})
