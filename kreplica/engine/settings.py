"""The settings of Kafka that the engine obeys: names, where they stand, what their values are.

Defaults are not here: they belong to a version (``kreplica.engine.versions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kreplica.engine.rules.acknowledgement import ACKS_ALL
from kreplica.errors import UsageError
from kreplica.model.settings import MIN_ISR, UNCLEAN

MICROSECONDS = 1000
"""Microseconds in a millisecond: Kafka's settings are in milliseconds, the simulator's clock in microseconds."""

Value = int | bool | str
"""A value as the engine takes it: times in the unit of the setting's name."""


class Scope(StrEnum):
    """Whose setting it is. A topic's settings may stand on the brokers as their defaults."""

    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    NETWORK = "network"


class ValueType(StrEnum):
    """What its value is."""

    INTEGER = "integer"
    BOOLEAN = "boolean"
    TEXT = "text"
    ACKS = "acks"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: Kafka's name, whose it is, and the type of its value."""

    name: str
    scope: Scope
    type: ValueType = ValueType.INTEGER
    values: tuple[str, ...] = ()


_B, _T, _P, _C, _N = Scope.BROKER, Scope.TOPIC, Scope.PRODUCER, Scope.CONSUMER, Scope.NETWORK
_BOOLEAN, _TEXT = ValueType.BOOLEAN, ValueType.TEXT

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(MIN_ISR, _T),
        Setting(UNCLEAN, _T, _BOOLEAN),
        Setting("flush.messages", _T),
        Setting("flush.ms", _T),
        Setting("replica.lag.time.max.ms", _B),
        Setting("replica.lag.max.messages", _B),
        Setting("replica.fetch.wait.max.ms", _B),
        Setting("replica.fetch.backoff.ms", _B),
        Setting("replica.fetch.max.records", _B),
        Setting("replica.socket.timeout.ms", _B),
        Setting("replica.high.watermark.checkpoint.interval.ms", _B),
        Setting("log.flush.offset.checkpoint.interval.ms", _B),
        Setting("log.flush.scheduler.interval.ms", _B),
        Setting("broker.session.timeout.ms", _B),
        Setting("broker.heartbeat.interval.ms", _B),
        Setting("controller.quorum.fetch.timeout.ms", _B),
        Setting("controller.quorum.election.timeout.ms", _B),
        Setting("unclean.leader.election.interval.ms", _B),
        Setting("zookeeper.session.timeout.ms", _B),
        Setting("leader.election", _B, _TEXT, ("controller", "watching")),
        Setting("auto.leader.rebalance.enable", _B, _BOOLEAN),
        Setting("leader.imbalance.check.interval.seconds", _B),
        Setting("leader.imbalance.per.broker.percentage", _B),
        Setting("controlled.shutdown.enable", _B, _BOOLEAN),
        Setting("offsets.retention.minutes", _B),
        Setting("offsets.retention.check.interval.ms", _B),
        Setting("offsets.commit.timeout.ms", _B),
        Setting("group.initial.rebalance.delay.ms", _B),
        Setting("group.consumer.session.timeout.ms", _B),
        Setting("group.consumer.heartbeat.interval.ms", _B),
        Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", _B),
        Setting("transaction.partition.verification.enable", _B, _BOOLEAN),
        Setting("transactional.id.expiration.ms", _B),
        Setting("producer.id.expiration.ms", _B),
        Setting("acks", _P, ValueType.ACKS),
        Setting("retries", _P),
        Setting("retry.backoff.ms", _P),
        Setting("request.timeout.ms", _P),
        Setting("delivery.timeout.ms", _P),
        Setting("max.in.flight.requests.per.connection", _P),
        Setting("linger.ms", _P),
        Setting("batch.records", _P),
        Setting("enable.idempotence", _P, _BOOLEAN),
        Setting("transactional.id", _P, _TEXT),
        Setting("transaction.timeout.ms", _P),
        Setting("group.id", _C, _TEXT),
        Setting("group.protocol", _C, _TEXT, ("classic", "consumer")),
        Setting("group.instance.id", _C, _TEXT),
        Setting("isolation.level", _C, _TEXT, ("read_uncommitted", "read_committed")),
        Setting("auto.offset.reset", _C, _TEXT, ("earliest", "latest", "none")),
        Setting("enable.auto.commit", _C, _BOOLEAN),
        Setting("auto.commit.interval.ms", _C),
        Setting("session.timeout.ms", _C),
        Setting("heartbeat.interval.ms", _C),
        Setting("max.poll.interval.ms", _C),
        Setting("max.poll.records", _C),
        Setting("fetch.max.wait.ms", _C),
        Setting("client.rack", _C, _TEXT),
        Setting("replica.selector.class", _B, _TEXT, ("", "RackAwareReplicaSelector")),
        Setting("metadata.max.age.ms", _C),
        Setting("partition.assignment.strategy", _C, _TEXT, ("range", "roundrobin", "sticky", "cooperative-sticky")),
        Setting("latency.us", _N),
        Setting("jitter.us", _N),
    )
}
"""By name. ``replica.fetch.max.records`` and ``batch.records`` stand for Kafka's limits in bytes, ``latency.us`` and
``jitter.us`` are the links': the engine counts records, not bytes. ``leader.election`` is not Kafka's: ``watching`` has
replicas elect leaders among themselves, to be compared with a controller."""


def parse(name: str, text: str) -> Value:
    """The value of a setting from text, as ``--set name=text`` gives it.

    Raises:
        UsageError: The engine does not know the setting, or the text is no value of it.
    """
    setting = setting_named(name)
    try:
        value = _PARSERS[setting.type](text)
    except (ValueError, KeyError):
        raise UsageError(f"{name}={text} is no {setting.type} value", "", "give another value") from None
    if setting.values and value not in setting.values:
        raise UsageError(f"{name}={text} is not known", "", f"one of {', '.join(setting.values)}")
    return value


def setting_named(name: str) -> Setting:
    """The setting of that name.

    Raises:
        UsageError: The engine does not know it; the nearest names are given.
    """
    if name in SETTINGS:
        return SETTINGS[name]
    from difflib import get_close_matches

    near = get_close_matches(name, SETTINGS, n=3) or sorted(SETTINGS)
    raise UsageError(f"the engine knows no setting {name!r}", "", f"did you mean {', '.join(near)}?")


def of_scope(values: Mapping[str, Value], scope: Scope) -> dict[str, Value]:
    """Those of the values that belong to a scope."""
    return {name: value for name, value in values.items() if setting_named(name).scope is scope}


def _acks(text: str) -> int:
    return {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}[text]


def _integer(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


_PARSERS: dict[ValueType, Callable[[str], Value]] = {
    ValueType.INTEGER: _integer,
    ValueType.BOOLEAN: {"true": True, "false": False}.__getitem__,
    ValueType.TEXT: str,
    ValueType.ACKS: _acks,
}
