"""Settings without effect: of another version, another mode, or of clients that the setup does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kreplica.engine.settings import Scope, Value, setting_named
from kreplica.engine.setup import Client, ConsumerSetup, ReaderSetup, Setup, TransformSetup
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.model.settings import UNCLEAN

_OF_ZOOKEEPER = frozenset(("zookeeper.session.timeout.ms",))
_OF_KRAFT = frozenset(
    (
        "broker.session.timeout.ms",
        "broker.heartbeat.interval.ms",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.election.timeout.ms",
        "unclean.leader.election.interval.ms",
    )
)


def idle_settings(setup: Setup, version: Version, settings: Mapping[str, Value]) -> Iterator[str]:
    """Yields, for each setting without effect, a clause with the reason.

    Args:
        setup: The simulated cluster and its clients.
        version: Kafka's version.
        settings: Values by Kafka's names.

    Raises:
        UsageError: The engine does not know a setting.
    """
    for name in settings:
        why = _why_idle(setup, version, name)
        if why:
            yield f"{name} does nothing here: {why}"


def _why_idle(setup: Setup, version: Version, name: str) -> str:
    scope = setting_named(name).scope
    if name == "replica.lag.max.messages" and not version.lag_by_messages:
        return "brokers go by replica.lag.time.max.ms alone since 0.9 (KAFKA-1546)"
    if name == UNCLEAN and version.offline_by_isr_order:
        return "up to 0.8.1 a replica out of sync always may lead (KAFKA-1028)"
    if name in _OF_ZOOKEEPER and version.controller is ControllerKind.KRAFT:
        return f"Kafka {version.name} has no ZooKeeper here"
    if name in _OF_KRAFT and version.controller is ControllerKind.ZOOKEEPER:
        return f"Kafka {version.name} is in ZooKeeper mode here"
    if scope in (Scope.PRODUCER, Scope.CONSUMER) and not any(_is_of(client, scope) for client in setup.clients):
        return f"the scenario has no {scope}"
    return ""


def _is_of(client: Client, scope: Scope) -> bool:
    """True if a client is a producer, or a consumer; a transforming one, and one that writes what it reads, is both."""
    writes = isinstance(client, ConsumerSetup) and bool(client.application.writes_to or client.application.dead_letters)
    reads = isinstance(client, ReaderSetup | ConsumerSetup | TransformSetup)
    return reads if scope is Scope.CONSUMER else writes or not isinstance(client, ReaderSetup | ConsumerSetup)
