"""The part of a ZooKeeper tree that describes a Kafka cluster, from a live ensemble or an export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

CHROOT = "/"
ADMIN = "/admin"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
MIGRATION = "/migration"
REASSIGN = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
DELETE_TOPICS = "/admin/delete_topics"
ISR_CHANGES = "/isr_change_notification"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
DEFAULT_ENTITY = "<default>"
"""Child of /config/brokers whose settings hold for all brokers."""


class Znode(NamedTuple):
    """One znode.

    Args:
        data: Its bytes; None if it holds none.
        version: Number of times the data was changed: Kafka's zkVersion, ``stat.version``.
        changed: Transaction that last changed data or children, the larger of mzxid and pzxid; 0 if not known.
    """

    data: bytes | None
    version: int
    changed: int = 0


@dataclass(slots=True)
class Tree:
    """Znodes by path, the chroot left out.

    Args:
        nodes: Those that were read.
        children: Names by parent, for the parents that were listed.
        denied: Paths whose ACL does not let the credentials read.
        missing: Paths that were asked for and are not there.
    """

    nodes: dict[str, Znode] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    def data(self, path: str) -> bytes | None:
        """The data of a znode; None if it is not there or empty."""
        node = self.nodes.get(path)
        return node.data if node is not None else None

    def below(self, parent: str) -> Iterator[tuple[str, str]]:
        """Name and path of each child, in order."""
        for name in sorted(self.children.get(parent, ())):
            yield name, f"{parent}/{name}"


def state_path(topic: str, partition: int | str) -> str:
    """The path of a partition's leader and ISR (TopicPartitionStateZNode)."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"
