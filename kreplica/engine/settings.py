"""The settings of Kafka that the engine obeys: names, scopes, types of values.

Defaults are not here: they belong to a version (``kreplica.engine.versions.supported``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kreplica.engine.rules.groups.offset_reset import reset_policy
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.errors import UsageError
from kreplica.model.settings import ELR_FEATURE, GROUP_VERSION, METADATA_VERSION, MIN_ISR, TRANSACTION_VERSION, UNCLEAN
from kreplica.model.wording.nearest_names import nearest_or_known

MOST = 2**63 - 1
"""The greatest integer of a setting, Kafka's Long.MAX_VALUE: a flush that never comes, retries without end."""

MICROSECONDS = 1000
"""Microseconds in a millisecond: Kafka's settings are in milliseconds, the simulator's clock in microseconds."""

Value = int | bool | str
"""A value as the engine takes it: times in the unit of the setting's name."""


class Scope(StrEnum):
    """Holders of a setting. A topic's settings may be set on the brokers as their defaults."""

    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    NETWORK = "network"
    FEATURE = "feature"
    """A finalized feature of a KRaft cluster, which is no setting in Kafka (``kreplica.engine.versions.features``)."""


class ValueType(StrEnum):
    """Types of values."""

    INTEGER = "integer"
    BOOLEAN = "boolean"
    TEXT = "text"
    ACKS = "acks"
    RESET = "offset reset"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: Kafka's name, its holder, and its possible values.

    Args:
        name: Kafka's name.
        scope: Its holder.
        type: Type of its value.
        values: Possible values of a text; any if none is named.
        least: Lower limit of an integer: that of Kafka's validator, and 1 for intervals that the engine waits for again
            and again, since a broker that waits 0 ms never comes to an end of its virtual time.
    """

    name: str
    scope: Scope
    type: ValueType = ValueType.INTEGER
    values: tuple[str, ...] = ()
    least: int = 0


_B, _T, _P, _C, _N, _F = Scope.BROKER, Scope.TOPIC, Scope.PRODUCER, Scope.CONSUMER, Scope.NETWORK, Scope.FEATURE
_BOOLEAN, _TEXT = ValueType.BOOLEAN, ValueType.TEXT

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(MIN_ISR, _T, least=1),
        Setting(UNCLEAN, _T, _BOOLEAN),
        Setting("flush.messages", _T, least=1),
        Setting("flush.ms", _T),
        Setting("replica.lag.time.max.ms", _B, least=1),
        Setting("replica.lag.max.messages", _B),
        Setting("replica.fetch.wait.max.ms", _B),
        Setting("replica.fetch.backoff.ms", _B),
        Setting("replica.fetch.max.records", _B, least=1),
        Setting("replica.socket.timeout.ms", _B),
        Setting("replica.high.watermark.checkpoint.interval.ms", _B, least=1),
        Setting("log.flush.offset.checkpoint.interval.ms", _B, least=1),
        Setting("log.flush.scheduler.interval.ms", _B, least=1),
        Setting("broker.session.timeout.ms", _B, least=1),
        Setting("broker.heartbeat.interval.ms", _B, least=1),
        Setting("controller.quorum.fetch.timeout.ms", _B, least=1),
        Setting("controller.quorum.election.timeout.ms", _B, least=1),
        Setting("unclean.leader.election.interval.ms", _B, least=1),
        Setting("zookeeper.session.timeout.ms", _B, least=1),
        Setting("leader.election", _B, _TEXT, ("controller", "watching")),
        Setting("replication", _B, _TEXT, ("isr", "majority")),
        Setting("auto.leader.rebalance.enable", _B, _BOOLEAN),
        Setting("leader.imbalance.check.interval.seconds", _B, least=1),
        Setting("leader.imbalance.per.broker.percentage", _B),
        Setting("controlled.shutdown.enable", _B, _BOOLEAN),
        Setting("offsets.retention.minutes", _B, least=1),
        Setting("offsets.retention.check.interval.ms", _B, least=1),
        Setting("offsets.commit.timeout.ms", _B, least=1),
        Setting("group.initial.rebalance.delay.ms", _B),
        Setting("group.consumer.session.timeout.ms", _B, least=1),
        Setting("group.consumer.heartbeat.interval.ms", _B, least=1),
        Setting("group.consumer.assignment.interval.ms", _B),
        Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", _B, least=1),
        Setting("transaction.partition.verification.enable", _B, _BOOLEAN),
        Setting("transactional.id.expiration.ms", _B, least=1),
        Setting("producer.id.expiration.ms", _B, least=1),
        Setting("acks", _P, ValueType.ACKS),
        Setting("retries", _P),
        Setting("retry.backoff.ms", _P),
        Setting("request.timeout.ms", _P),
        Setting("delivery.timeout.ms", _P),
        Setting("max.in.flight.requests.per.connection", _P, least=1),
        Setting("linger.ms", _P),
        Setting("batch.records", _P, least=1),
        Setting("enable.idempotence", _P, _BOOLEAN),
        Setting("transactional.id", _P, _TEXT),
        Setting("transaction.timeout.ms", _P, least=1),
        Setting("group.id", _C, _TEXT),
        Setting("group.protocol", _C, _TEXT, ("classic", "consumer")),
        Setting("group.instance.id", _C, _TEXT),
        Setting("isolation.level", _C, _TEXT, ("read_uncommitted", "read_committed")),
        Setting("auto.offset.reset", _C, ValueType.RESET),
        Setting("enable.auto.commit", _C, _BOOLEAN),
        Setting("auto.commit.interval.ms", _C, least=1),
        Setting("session.timeout.ms", _C, least=1),
        Setting("heartbeat.interval.ms", _C, least=1),
        Setting("max.poll.interval.ms", _C, least=1),
        Setting("max.poll.records", _C, least=1),
        Setting("fetch.max.wait.ms", _C),
        Setting("client.rack", _C, _TEXT),
        Setting("replica.selector.class", _B, _TEXT, ("", "RackAwareReplicaSelector")),
        Setting("metadata.max.age.ms", _C),
        Setting("partition.assignment.strategy", _C, _TEXT, ("range", "roundrobin", "sticky", "cooperative-sticky")),
        Setting("latency.us", _N),
        Setting("jitter.us", _N),
        Setting(METADATA_VERSION, _F, _TEXT),
        Setting(ELR_FEATURE, _F),
        Setting(TRANSACTION_VERSION, _F),
        Setting(GROUP_VERSION, _F),
    )
}
"""Settings by name. ``replica.fetch.max.records`` and ``batch.records`` stand for Kafka's limits in bytes, since the
engine counts records, not bytes; ``latency.us`` and ``jitter.us`` are the links'. ``leader.election`` is not Kafka's:
``watching`` lets replicas elect leaders among themselves, to be compared with a controller. Nor is ``replication``:
``majority`` lets a majority of the replicas commit and elect, as the metadata quorum of KRaft does, to be compared with
an ISR."""

PROMISING = frozenset(
    {
        "acks",
        MIN_ISR,
        UNCLEAN,
        "flush.messages",
        "enable.idempotence",
        "max.in.flight.requests.per.connection",
        "transactional.id",
        "isolation.level",
        "auto.offset.reset",
    }
)
"""Settings that promise that nothing is lost, doubled, reordered or skipped: their defaults do not promise all of it,
so that without one of these a run fails for another reason."""


def parse(name: str, text: str) -> Value:
    """Returns the value of a setting from text, as ``--set name=text`` gives it.

    Raises:
        UsageError: The engine does not know the setting, or the text is no value of it.
    """
    setting = setting_named(name)
    try:
        value = _PARSERS[setting.type](text)
    except (ValueError, KeyError):
        value = None
    if value is None or not _allowed(setting, value):
        raise UsageError(f"{name}={text} cannot be set", "", f"give {_choice(setting)}")
    return value


def _allowed(setting: Setting, value: Value) -> bool:
    if setting.type is ValueType.INTEGER:
        return isinstance(value, int) and setting.least <= value <= MOST
    return not setting.values or value in setting.values


def _choice(setting: Setting) -> str:
    """The possible values of a setting, in words."""
    if setting.type is ValueType.INTEGER:
        return f"a whole number from {setting.least} to {MOST}"
    fixed = {
        ValueType.BOOLEAN: ("true", "false"),
        ValueType.ACKS: ("0", "1", "all"),
        ValueType.RESET: ("earliest", "latest", "none", "by_duration:PT1H"),
    }
    choices = fixed.get(setting.type, setting.values)
    return " or ".join(choice or "nothing" for choice in choices)


def setting_named(name: str) -> Setting:
    """Returns the setting of that name.

    Raises:
        UsageError: The engine does not know it; the nearest names are given.
    """
    if name in SETTINGS:
        return SETTINGS[name]
    raise UsageError(f"the engine knows no setting {name!r}", "", nearest_or_known(name, SETTINGS))


def of_scope(values: Mapping[str, Value], scope: Scope) -> dict[str, Value]:
    """The values whose settings belong to a scope."""
    return {name: value for name, value in values.items() if setting_named(name).scope is scope}


def _acks(text: str) -> int:
    return {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}[text]


def _reset(text: str) -> str:
    if reset_policy(text) is None:
        raise ValueError(text)
    return text


_PARSERS: dict[ValueType, Callable[[str], Value]] = {
    ValueType.INTEGER: int,
    ValueType.BOOLEAN: {"true": True, "false": False}.__getitem__,
    ValueType.TEXT: str,
    ValueType.ACKS: _acks,
    ValueType.RESET: _reset,
}
