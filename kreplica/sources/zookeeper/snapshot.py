"""A snapshot from the znodes of a cluster in ZooKeeper mode.

What ZooKeeper cannot know stays null: brokers' own settings and Kafka's defaults, offline replicas (the controller
holds them in memory), offsets, sizes. A topic that waits in /admin/delete_topics is left out, as brokers leave it out
of their metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from kreplica.errors import InputError
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted, listed
from kreplica.sources.zookeeper import tree as paths
from kreplica.sources.zookeeper.settings import Settings, settings_of
from kreplica.sources.zookeeper.tree import Tree, state_path
from kreplica.sources.zookeeper.znodes import (
    Assignment,
    BrokerRegistration,
    ClusterIdentity,
    ControllerRegistration,
    Decoded,
    FinalizedFeatures,
    PartitionList,
    PartitionState,
    ZnodeError,
    decode,
    decode_epoch,
    decode_id,
)

_SHOWN = 3
_NO_LEADER = -1
_Value = TypeVar("_Value")
Targets = Mapping[tuple[str, int], list[int]]


@dataclass(slots=True)
class Decoder:
    """Decodes znodes of one tree and keeps a list of those that cannot be decoded.

    Args:
        tree: The znodes.
        source: Name of the export, in which damage is an error; None for a live tree, where it is a gap.
    """

    tree: Tree
    source: str | None
    damaged: list[str] = field(default_factory=list)

    def value(self, path: str, form: type[Decoded]) -> Decoded | None:
        """The value of a znode, None if it is not there, or damaged."""
        return self._kept(path, lambda data: decode(data, form))

    def epoch(self, path: str) -> int | None:
        """The number in a znode, None if it is not there, or damaged."""
        return self._kept(path, decode_epoch)

    def _kept(self, path: str, read: Callable[[bytes | None], _Value]) -> _Value | None:
        node = self.tree.nodes.get(path)
        if node is None:
            return None
        try:
            return read(node.data)
        except ZnodeError as error:
            self.refuse(path, str(error))
            return None

    def refuse(self, path: str, reason: str) -> None:
        """Records that a znode is not what it should be.

        Raises:
            InputError: It is one of an export.
        """
        if self.source is not None:
            raise InputError(self.source, path, f"not what Kafka writes there: {reason}") from None
        self.damaged.append(f"{path} ({reason})")


def snapshot_of(tree: Tree, *, name: str, taken_at: datetime, source: str, gaps: Iterable[Gap] = ()) -> ClusterSnapshot:
    """The snapshot of a tree.

    Args:
        tree: The znodes.
        name: The user's name for the cluster; of an export, its path.
        taken_at: Time of the reading, UTC.
        source: ``zookeeper`` or ``znode-json``.
        gaps: Gaps of the reading itself.

    Raises:
        InputError: A znode of an export is not what Kafka writes there.
    """
    decoder = Decoder(tree, name if source == "znode-json" else None)
    settings = settings_of(tree, decoder.value)
    rows = _Rows(decoder, settings)
    rows.gather()
    controller = decoder.value(paths.CONTROLLER, ControllerRegistration)
    identity = decoder.value(paths.CLUSTER_ID, ClusterIdentity)
    features = decoder.value(paths.FEATURE, FinalizedFeatures)
    brokers = _brokers(decoder, rows.named)
    return ClusterSnapshot(
        cluster_id=identity.id if identity is not None else None,
        name=name,
        taken_at=taken_at,
        source=source,
        partitions=Table.from_columns(PARTITIONS, rows.columns),
        brokers=brokers,
        configs=Table.from_rows(CONFIGS, settings.rows),
        controller=controller.brokerid if controller is not None else None,
        controller_epoch=decoder.epoch(paths.CONTROLLER_EPOCH),
        features=features.levels if features is not None else {},
        gaps=(*gaps, *_gaps(decoder)),
        notes=tuple(_notes(decoder, rows, controller)),
    )


class _Rows:
    """The columns of the partitions table while they are gathered."""

    def __init__(self, decoder: Decoder, settings: Settings) -> None:
        self._decoder = decoder
        self._settings = settings
        self._targets = _targets(decoder)
        self._deleted = set(decoder.tree.children.get(paths.DELETE_TOPICS, ()))
        self.stateless: list[str] = []
        self.named: set[int] = set()
        self.columns: dict[str, list[object]] = {name: [] for name in _COLUMNS}

    def gather(self) -> None:
        """Reads every topic that is not being deleted."""
        for topic, path in self._decoder.tree.below(paths.TOPICS):
            assignment = self._decoder.value(path, Assignment) if topic not in self._deleted else None
            if assignment is None:
                continue
            for number, replicas in assignment.partitions.items():
                partition = decode_id(number)
                if partition is None:
                    self._decoder.refuse(path, f"partition {number!r} is no number")
                else:
                    self._partition(topic, partition, replicas, assignment)

    def _partition(self, topic: str, partition: int, replicas: list[int], assignment: Assignment) -> None:
        path = state_path(topic, partition)
        tree = self._decoder.tree
        state = self._decoder.value(path, PartitionState)
        if state is None and path in tree.nodes:  # damaged: it has been counted
            return
        if state is None and path in tree.denied:
            return
        if state is None:
            self.stateless.append(f"{topic}-{partition}")
        leader = max(state.leader, _NO_LEADER) if state is not None else _NO_LEADER
        adding, removing = self._move(topic, partition, replicas, assignment)
        min_isr, unclean = self._settings.health(topic, leader)
        self.named.update(replicas, state.isr if state is not None else ())
        values = (
            topic,
            partition,
            assignment.topic_id,
            topic in INTERNAL_TOPICS,
            leader,
            state.leader_epoch if state is not None else None,
            tree.nodes[path].version if state is not None else None,
            replicas,
            state.isr if state is not None else [],
            adding,
            removing,
            state.leader_recovery_state if state is not None else None,
            min_isr,
            unclean,
        )
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)

    def _move(
        self, topic: str, partition: int, replicas: list[int], assignment: Assignment
    ) -> tuple[list[int] | None, list[int] | None]:
        """Adding and removing replicas; of a znode of version 1 only those that its target shows."""
        adding, removing = assignment.adding_replicas, assignment.removing_replicas
        if adding is not None or removing is not None:
            key = str(partition)
            return (adding or {}).get(key, []), (removing or {}).get(key, [])
        target = self._targets.get((topic, partition))
        if target is None:
            return [], []
        # Before Kafka 2.4 the controller widened the assignment to target and origin together, and noted the origin
        # nowhere: the removed replicas are known, the added ones are not.
        return None, [replica for replica in replicas if replica not in target]


_COLUMNS = (
    "topic",
    "partition",
    "topic_id",
    "internal",
    "leader",
    "leader_epoch",
    "partition_epoch",
    "replicas",
    "isr",
    "adding",
    "removing",
    "recovery_state",
    "min_isr",
    "unclean_leader_election",
)


def _targets(decoder: Decoder) -> Targets:
    listed = decoder.value(paths.REASSIGN, PartitionList)
    return {(one.topic, one.partition): one.replicas for one in listed.partitions} if listed is not None else {}


def _brokers(decoder: Decoder, named: set[int]) -> Table:
    rows: list[dict[str, object]] = []
    for name, path in decoder.tree.below(paths.BROKER_IDS):
        registration = decoder.value(path, BrokerRegistration)
        broker = decode_id(name)
        if broker is None:
            decoder.refuse(path, "its name is no broker id")
            continue
        host, port = registration.address if registration is not None else (None, None)
        rack = registration.rack if registration is not None else None
        rows.append({"broker": broker, "host": host, "port": port, "rack": rack, "alive": True})
    # Only its ephemeral znode shows that a broker is alive; where the list may not be read, no broker is called dead.
    gone = False if paths.BROKER_IDS in decoder.tree.children else None
    registered = {row["broker"] for row in rows}
    rows += [{"broker": broker, "alive": gone} for broker in sorted(named - registered)]
    return Table.from_rows(BROKERS, rows)


def _gaps(decoder: Decoder) -> Iterable[Gap]:
    denied = sorted(decoder.tree.denied)
    if denied:
        yield Gap(
            "failed-request",
            f"{counted(len(denied), 'znode')} may not be read: the credentials need read permission (r) on"
            f" {listed(denied, _SHOWN)}",
            len(denied),
        )
    if decoder.damaged:
        count = len(decoder.damaged)
        message = f"{counted(count, 'znode')} cannot be understood: {listed(decoder.damaged, _SHOWN)}"
        yield Gap("failed-request", message, count)


def _notes(decoder: Decoder, rows: _Rows, controller: ControllerRegistration | None) -> Iterable[str]:
    tree = decoder.tree
    if controller is None and paths.CONTROLLER not in tree.denied:
        yield "no broker is the controller (/controller is not there): no leader is elected until one is"
    if (controller is not None and controller.kraft_epoch >= 0) or tree.data(paths.MIGRATION):
        yield "this cluster moves or has moved to KRaft: what ZooKeeper says may be old; read the brokers"
    if rows.stateless:
        what = f"{counted(len(rows.stateless), 'partition')} without a state znode, being created"
        yield f"{what}: {listed(rows.stateless, _SHOWN)}"
    deleted = sorted(tree.children.get(paths.DELETE_TOPICS, ()))
    if deleted:
        yield f"{counted(len(deleted), 'topic')} marked for deletion, left out: {listed(deleted, _SHOWN)}"
    yield from _pending(decoder)
    unset = sum(value is None for value in rows.columns["min_isr"])
    if paths.TOPIC_CONFIGS in tree.children and unset:
        partitions = counted(len(rows.columns["min_isr"]), "partition")
        yield (
            f"min.insync.replicas is not known for {unset} of {partitions}: nobody set it dynamically, and brokers'"
            " files are not in ZooKeeper"
        )


def _pending(decoder: Decoder) -> Iterable[str]:
    """Changes that wait for the controller."""
    moves = decoder.value(paths.REASSIGN, PartitionList)
    if moves is not None:
        yield f"{counted(len(moves.partitions), 'partition')} in /admin/reassign_partitions"
    elections = decoder.value(paths.PREFERRED_ELECTION, PartitionList)
    if elections is not None:
        yield f"{counted(len(elections.partitions), 'preferred leader election')} waiting for the controller"
    changes = decoder.tree.children.get(paths.ISR_CHANGES, ())
    if changes:
        yield f"{counted(len(changes), 'ISR change notification')} waiting for the controller"
