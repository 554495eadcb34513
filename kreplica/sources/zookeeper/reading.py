"""Reads a cluster in ZooKeeper mode by its znodes; nothing is written, and no watch is left on them.

Requests sent, with P partitions of T topics: a handful for the lists and single znodes, then one MultiRead for each 500
of T topics, T topic settings and P partition states (a ZooKeeper before 3.6 is asked for each of them by itself).

A tree that changes while it is read. Every answer tells the transaction that last changed a znode. Znodes that were
The tree may change while it is read. Every answer has the transaction that last changed a znode. Znodes that were not
changed after the transaction with which the reading began are as they were at that moment, all together: nothing needs
to be asked twice. If one was changed, everything is read again, a few times; if the tree keeps changing the snapshot
says so (``torn-read``).
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from kreplica.errors import UnreachableError, UsageError
from kreplica.model.snapshot import ClusterSnapshot, Gap, utc_now
from kreplica.model.wording.words import counted
from kreplica.sources import Facet
from kreplica.sources.zookeeper import tree as paths
from kreplica.sources.zookeeper.client import SessionLostError, ZookeeperSession
from kreplica.sources.zookeeper.snapshot import snapshot_of
from kreplica.sources.zookeeper.tree import Tree, state_path
from kreplica.sources.zookeeper.znodes import Assignment, ZnodeError, decode
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

ATTEMPTS = 4
"""Reads of a tree that keeps changing, at most."""

_PAUSE_SECONDS = 0.2
_SINGLE = (
    paths.ADMIN,
    paths.CHROOT,
    paths.CONTROLLER,
    paths.CONTROLLER_EPOCH,
    paths.CLUSTER_ID,
    paths.FEATURE,
    paths.MIGRATION,
    paths.REASSIGN,
    paths.PREFERRED_ELECTION,
)
_LISTED = (paths.BROKER_IDS, paths.TOPICS, paths.DELETE_TOPICS, paths.ISR_CHANGES)
_COUNTED = (paths.DELETE_TOPICS, paths.ISR_CHANGES)
"""Parents whose children are read by name only."""

_LISTED_SETTINGS = (paths.TOPIC_CONFIGS, paths.BROKER_CONFIGS)


def read_zookeeper(handle: ClusterHandle, wanted: Facet = Facet.HEALTH) -> ClusterSnapshot:
    """Reads a cluster from its ZooKeeper.

    Args:
        handle: With ``zookeeper``; ``handle.timeout`` bounds the whole read.
        wanted: Settings are read if any of topics' or brokers' are wanted; log directories, offsets and groups are not
            in ZooKeeper. With Facet.ANSWERS the brokers it lists are asked whether they are there.

    Raises:
        UnreachableError: No server answered in time.
        AuthenticationError: The credentials are refused.
        UsageError: The chroot is not there, or no Kafka cluster is below it.
        ConfigurationError: The properties cannot be used.
    """
    assert handle.zookeeper is not None, "a ZooKeeper is named"
    deadline = Deadline(handle.timeout)
    settings = bool(wanted & (Facet.TOPIC_CONFIGS | Facet.BROKER_CONFIGS))
    with ZookeeperSession(handle, deadline) as session:
        _require_cluster(session)
        taken_at, tree, gaps = _settled(session, settings, deadline)
    snapshot = snapshot_of(tree, name=handle.name, taken_at=taken_at, source="zookeeper", gaps=gaps)
    if Facet.ANSWERS not in wanted:
        return snapshot
    from kreplica.sources.kafka.broker_liveness import silent_brokers  # it brings Kafka's messages

    return replace(snapshot, gaps=(*snapshot.gaps, *silent_brokers(snapshot, deadline)))


def _require_cluster(session: ZookeeperSession) -> None:
    chroot = session.chroot
    if not session.exists("/"):
        why = "the chroot is not there; ZooKeeper's shell shows what is: ls /"
        raise UsageError(f"ZooKeeper at {session.names} has no znode {chroot}", why, "give HOST:PORT/CHROOT")
    if not session.exists(paths.TOPICS):
        raise UsageError(
            f"no Kafka cluster is below {chroot} of ZooKeeper at {session.names}",
            f"it has no {paths.TOPICS}",
            "a cluster may have a chroot of its own: give HOST:PORT/CHROOT; one in KRaft mode has no ZooKeeper",
        )


def _settled(session: ZookeeperSession, settings: bool, deadline: Deadline) -> tuple[datetime, Tree, tuple[Gap, ...]]:
    """Reads until nothing changed meanwhile or the attempts are used up; returns the time, the tree and the gaps."""
    last: tuple[datetime, Tree, int] | None = None
    stateless: frozenset[str] = frozenset()
    for attempt in range(1, ATTEMPTS + 1):
        taken_at, began = utc_now(), time.monotonic()
        try:
            tree, changed = read_tree(session, settings)
        except SessionLostError:
            session.reconnected()
            continue
        except UnreachableError:
            if last is None:
                raise
            break
        absent = frozenset(path for path in tree.missing if path.endswith("/state"))
        last = (taken_at, tree, changed)
        # A state that is absent twice is not written yet; once, its topic may just have been deleted.
        if not changed and absent == stateless:
            return taken_at, tree, ()
        stateless = absent
        if attempt < ATTEMPTS and deadline.remaining() < 1.2 * (time.monotonic() - began) + _PAUSE_SECONDS:
            break
        time.sleep(_PAUSE_SECONDS)
    if last is None:
        raise UnreachableError(
            f"ZooKeeper at {session.names} closed the connection {ATTEMPTS} times", "", "look into its log"
        )
    taken_at, tree, changed = last
    return taken_at, tree, (_torn(changed),) if changed else ()


def _torn(changed: int) -> Gap:
    message = (
        f"{counted(changed, 'znode')} changed while the tree was read, each time: rows may be of different moments"
    )
    return Gap("torn-read", message, changed)


def read_tree(session: ZookeeperSession, settings: bool) -> tuple[Tree, int]:
    """Reads the tree once.

    Returns:
        The tree, and how many of its znodes changed after the reading began.

    Raises:
        SessionLostError: The connection broke.
        UnreachableError: The time is up.
    """
    tree = Tree()
    begin = session.moment()
    listed = (*_LISTED, *(_LISTED_SETTINGS if settings else ()))
    for parent in listed:
        session.list(tree, parent)
    session.read(tree, _SINGLE)
    doomed = set(tree.children.get(paths.DELETE_TOPICS, ()))
    children = [path for parent in listed if parent not in _COUNTED for _, path in tree.below(parent)]
    session.read(tree, children)
    session.read(tree, [path for topic, path in _topics(tree, doomed) for path in _state_paths(topic, tree.data(path))])
    return tree, _changed(tree, begin, children)


def _topics(tree: Tree, doomed: set[str]) -> list[tuple[str, str]]:
    return [(topic, path) for topic, path in tree.below(paths.TOPICS) if topic not in doomed]


def _state_paths(topic: str, data: bytes | None) -> list[str]:
    try:
        return [state_path(topic, partition) for partition in decode(data, Assignment).partitions]
    except ZnodeError:  # reported when the snapshot is made
        return []


def _changed(tree: Tree, begin: int, children: list[str]) -> int:
    # Notifications come and go all the time below protocol 2.7, and only their number is reported.
    later = sum(node.changed > begin for path, node in tree.nodes.items() if path != paths.ISR_CHANGES)
    return later + sum(path in tree.missing for path in children)
