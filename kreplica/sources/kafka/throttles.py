"""Throttles as they stand, each value with its origin (DescribeConfigs): what has to be known to put them back.

A broker tells the value that holds and where it comes from: its own (``broker-dynamic``) or the cluster's default
(``cluster-dynamic``). A broker that is down tells nothing. A topic's list is its own or there is none; an own list may
be empty. Rates that nobody set are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kreplica.errors import UnreachableError
from kreplica.model.throttles import DIRECTORY_RATE, THROTTLE_LISTS, THROTTLE_RATES
from kreplica.sources.kafka.configs import (
    Setting,
    read_cluster_settings,
    read_named_broker_settings,
    read_topic_settings,
)
from kreplica.sources.kafka.connections.failures import BrokerFailure
from kreplica.sources.kafka.nodes import Nodes

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import Gap
    from kreplica.sources.kafka.connections.connection import BrokerConnection

RATES = (*THROTTLE_RATES, DIRECTORY_RATE)
"""Settings of brokers, and of the cluster's default, that throttle."""


@dataclass(frozen=True, slots=True)
class Throttles:
    """The throttles of some brokers and topics.

    Args:
        rates: The value that holds at each broker, by broker and name; left out where none is set.
        defaults: The cluster's default by name; left out where none is set.
        lists: The own value of each topic, by topic and name; left out where it has none.
        unread: Brokers that could not be asked, and why.
    """

    rates: Mapping[tuple[int, str], Setting]
    defaults: Mapping[str, str]
    lists: Mapping[tuple[str, str], str]
    unread: Mapping[int, str]

    def own_rate(self, broker: int, name: str) -> str | None:
        """A broker's own value, None where it has none: the cluster's default holds, or no limit."""
        found = self.rates.get((broker, name))
        return found.value if found is not None and found.origin == "broker-dynamic" else None


def read_throttles(handle: ClusterHandle, brokers: Iterable[int], topics: Collection[str]) -> Throttles:
    """Reads the throttles of brokers and topics; one that does not exist has none.

    Args:
        handle: A live cluster whose brokers are named; ``handle.timeout`` bounds the whole read.
        brokers: Ids of the brokers.
        topics: Names of the topics.

    Raises:
        UnreachableError: No server answered, or it refused to tell the settings of topics or of the cluster.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    with Nodes(handle) as nodes:
        try:
            defaults, gaps = read_cluster_settings(nodes.entry)
            found = read_topic_settings(nodes.entry, topics, THROTTLE_LISTS)
        except BrokerFailure as failure:
            raise UnreachableError("throttles cannot be read", str(failure)) from None
        for gap in (*gaps, *found.gaps):
            raise UnreachableError("throttles cannot be read", gap.message)
        rates, unread = _rates(nodes, brokers)
    return Throttles(
        rates,
        {row.name: row.value for row in defaults if row.name in RATES and row.value is not None},
        {(row.entity, row.name): row.value or "" for row in found.rows if row.origin == "topic"},
        unread,
    )


def _rates(nodes: Nodes, brokers: Iterable[int]) -> tuple[dict[tuple[int, str], Setting], dict[int, str]]:
    rates: dict[tuple[int, str], Setting] = {}
    unread: dict[int, str] = {}
    answers = nodes.each_broker({broker: partial(_rates_of, broker) for broker in dict.fromkeys(brokers)})
    for broker, answer in answers.items():
        if isinstance(answer, BrokerFailure):
            unread[broker] = str(answer)
            continue
        rows, gaps = answer
        if gaps:
            unread[broker] = gaps[0].message
        rates |= {(broker, row.name): row for row in rows if row.value is not None}
    return rates, unread


def _rates_of(broker: int, connection: BrokerConnection) -> tuple[list[Setting], tuple[Gap, ...]]:
    return read_named_broker_settings(connection, broker, RATES)
