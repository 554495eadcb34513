"""Cordoned brokers: those of which no log directory takes new replicas (``cordoned.log.dirs``, KIP-1066, Kafka 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kreplica.control.settings import EntityType, Operation, SettingChange, SettingResult, alter_settings
from kreplica.model.cordons import SETTING
from kreplica.sources.kafka.configs import read_named_broker_settings
from kreplica.sources.kafka.connections.failures import BrokerFailure
from kreplica.sources.kafka.nodes import Nodes

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def read_cordons(handle: ClusterHandle, brokers: Iterable[int]) -> dict[int, str | None]:
    """Reads each broker's own value, None where it has none.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds the whole read.
        brokers: Those asked; one that knows no such setting, refuses to tell or is down is left out of the answer.

    Raises:
        UnreachableError, AuthenticationError, ConfigurationError: As ``alter_settings``.
    """
    with Nodes(handle) as nodes:
        calls = {
            broker: partial(read_named_broker_settings, broker=broker, names=(SETTING,))
            for broker in dict.fromkeys(brokers)
        }
        answers = nodes.each_broker(calls)
    found: dict[int, str | None] = {}
    for broker, answer in answers.items():
        if not isinstance(answer, BrokerFailure) and answer[0]:
            (row,) = answer[0]
            found[broker] = row.value if row.origin == "broker-dynamic" else None
    return found


def set_cordons(handle: ClusterHandle, values: Mapping[int, str | None]) -> dict[int, SettingResult]:
    """Sets brokers' own values; None deletes one, so that the cluster's default holds.

    Raises:
        ChangeRefusedError, UnreachableError, AuthenticationError, ConfigurationError: As ``alter_settings``.
    """
    changes = {broker: _change(broker, value) for broker, value in values.items()}
    return dict(zip(changes, alter_settings(handle, changes.values()), strict=True))


def _change(broker: int, value: str | None) -> SettingChange:
    operation = Operation.DELETE if value is None else Operation.SET
    return SettingChange(EntityType.BROKER, str(broker), SETTING, operation, value)
