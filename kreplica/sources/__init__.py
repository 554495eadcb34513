"""Ways in: each source reads one cluster into a ClusterSnapshot and writes nothing, anywhere.

``read_snapshot`` picks the source by the options of the handle. A source fills every fact it can know, leaves the rest
null, and lists as a Gap whatever it should have known but was not given.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


class Facet(Flag):
    """Facts that a command needs besides brokers and partitions; a live source asks only for these."""

    PARTITIONS = 0
    TOPIC_CONFIGS = auto()
    BROKER_CONFIGS = auto()
    LOG_DIRS = auto()
    OFFSETS = auto()
    QUORUM = auto()
    GROUPS = auto()
    RETENTION = auto()
    CAUSES = auto()
    """Facts that explain why replicas are missing; nothing is asked for where none is missing."""
    BALANCE = auto()
    """The settings by which the controller restores preferred leaders; part of what BROKER_CONFIGS reads."""
    ANSWERS = auto()
    """Answers of the brokers that are listed as live; asked for only where ZooKeeper is the source, since
    log directories are asked of every broker anyway.
    """
    HEALTH = TOPIC_CONFIGS | LOG_DIRS
    GATE = HEALTH | ANSWERS
    """Facts that a gate rests on: settings, and the brokers that answer."""
    ALL = TOPIC_CONFIGS | BROKER_CONFIGS | LOG_DIRS | OFFSETS | QUORUM | GROUPS | RETENTION | CAUSES


def read_snapshot(
    handle: ClusterHandle, wanted: Facet = Facet.HEALTH, offsets_of: Collection[tuple[str, int]] | None = None
) -> ClusterSnapshot:
    """Reads one cluster through the source that its handle names.

    Args:
        handle: The cluster, and how to reach it.
        wanted: Facts needed besides brokers and partitions.
        offsets_of: Topics and partitions whose offsets are needed, with Facet.OFFSETS; None for all.

    Raises:
        InputError: A dump cannot be read.
        UnreachableError: No broker, or no ZooKeeper server, answered within the handle's timeout.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The handle's client properties cannot be used.
    """
    if handle.dump is not None:
        from kreplica.sources.dumps.dump import read_dump

        return replace(read_dump(handle.dump), dumped=True)
    if handle.by_zookeeper:
        from kreplica.sources.zookeeper.reading import read_zookeeper

        return read_zookeeper(handle, wanted)
    from kreplica.sources.kafka.snapshot import read_live

    return read_live(handle, wanted, offsets_of)
