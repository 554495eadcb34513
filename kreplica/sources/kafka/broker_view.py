"""The cluster as one broker sees it: what that broker answers from its own copy of the metadata, and nothing else.

    Metadata, DescribeCluster, DescribeTopicPartitions (with a replica out of sync)      to one broker
    DescribeLogDirs, and Metadata of topics found only in it                             to the same broker

Reassignments are not asked for: only the controller knows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.config.addresses import parse_bootstrap_servers
from kreplica.config.properties import translate
from kreplica.model.internal_topics import METADATA_TOPIC
from kreplica.model.snapshot import ClusterSnapshot, Gap, controller_of, utc_now
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.connections.sasl import with_token
from kreplica.sources.kafka.layout import hidden_gap, hidden_topics, log_directories_refused
from kreplica.sources.kafka.log_dirs import read_log_dirs
from kreplica.sources.kafka.snapshot import brokers_table, enter, partitions_table
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.sources.kafka.connections.connection import BrokerConnection
    from kreplica.sources.kafka.layout import Layout

_ANY = -1


def names_one_broker(handle: ClusterHandle) -> bool:
    """True if the handle's bootstrap servers are one address, so that the answers are one broker's."""
    return handle.bootstrap_servers is not None and len(parse_bootstrap_servers(handle.bootstrap_servers)) == 1


def read_broker_view(handle: ClusterHandle) -> ClusterSnapshot:
    """Reads the metadata of the one broker that the handle names.

    Raises:
        UnreachableError: It did not answer in time.
        AuthenticationError: It refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    assert handle.bootstrap_servers is not None, "a broker is named"
    taken_at, deadline = utc_now(), Deadline(handle.timeout)
    settings = with_token(translate(handle.properties).kafka_python, deadline)
    servers = [Address(*server) for server in parse_bootstrap_servers(handle.bootstrap_servers)]
    connection, layout = enter(servers, settings, deadline)
    with connection:
        gaps, notes = _hidden(connection, layout)
        return ClusterSnapshot(
            cluster_id=layout.cluster_id,
            name=handle.name,
            taken_at=taken_at,
            source="kafka",
            partitions=partitions_table(layout, None, {}, {}),
            brokers=brokers_table(layout),
            controller=controller_of(layout.controller, connection.features, Table.empty(QUORUM)),
            features=connection.features,
            gaps=(*layout.gaps, *gaps),
            notes=notes,
        )


def _hidden(connection: BrokerConnection, layout: Layout) -> tuple[tuple[Gap, ...], tuple[str, ...]]:
    """Topics that the broker has files of and the credentials may not describe."""
    try:
        logs = read_log_dirs(connection, _ANY)
        if logs.refused is not None:
            refused = log_directories_refused(connection, logs.refused)
            return (), (f"hidden topics cannot be ruled out: {refused}",)
        unlisted = {replica.topic for replica in logs.replicas} - set(layout.topics) - {METADATA_TOPIC}
        found = hidden_topics(connection, unlisted) if unlisted else []
    except RequestUnsupportedError:
        return (), ()
    except BrokerFailure as failure:
        return (), (f"hidden topics cannot be ruled out: {failure}",)
    return ((hidden_gap(len(found)),) if found else ()), ()
