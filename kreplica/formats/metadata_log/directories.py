"""Log directories of replicas as a metadata log names them (KIP-858): by ids, three of them reserved.

Kafka: org.apache.kafka.common.DirectoryId, org.apache.kafka.controller.ClusterControlManager.
"""

from __future__ import annotations

from typing import Final

from kreplica.formats.metadata_log.image import BrokerState
from kreplica.formats.schema import uuid_text

MIGRATING: Final = uuid_text(bytes(16))
"""The broker registered before brokers named their directories."""
UNASSIGNED: Final = uuid_text(bytes(15) + b"\x01")
"""The broker has not yet chosen one."""
LOST: Final = uuid_text(bytes(15) + b"\x02")
"""One that is offline, and not named."""


def is_online(broker: BrokerState, directory: str | None) -> bool:
    """True if a directory of a broker is online, as far as the broker has said. DirectoryId.isOnline."""
    if directory == LOST:
        return False
    return not broker.directories or directory in (None, UNASSIGNED, MIGRATING) or directory in broker.directories


def first_directory(broker: BrokerState | None) -> str:
    """The directory that a new replica is written with: the broker's only one. ClusterControlManager.defaultDir."""
    if broker is None:
        return UNASSIGNED
    if not broker.directories:
        return MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED
