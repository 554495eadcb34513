"""The small files of a log directory together: its node and cluster, its last shutdown, the offsets of each replica.

    data/                                   log directory of a broker
      meta.properties  .kafka_cleanshutdown
      replication-, recovery-point-, log-start-, cleaner-offset-checkpoint
      orders-0/                             directory of a partition
        leader-epoch-checkpoint  partition.metadata
        quorum-state                        only in __cluster_metadata-0
      orders-1.3f0c…-future/                a copy on its way to this directory (KIP-113)
      orders-2.81ab…-delete/  -stray/       to be deleted, or found without an assignment (KAFKA-15605)

Kafka: kafka.log.LogManager, org.apache.kafka.storage.internals.log.LogDirUtils and LocalLog.parseTopicPartitionName.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kreplica.formats.damage import Damage, outside
from kreplica.formats.log_directory.leader_epoch_checkpoint import (
    LEADER_EPOCH_CHECKPOINT,
    LeaderEpochCheckpoint,
    decode_leader_epoch_checkpoint,
)
from kreplica.formats.log_directory.meta_properties import (
    META_PROPERTIES,
    PARTITION_METADATA,
    MetaProperties,
    PartitionMetadata,
    decode_meta_properties,
    decode_partition_metadata,
)
from kreplica.formats.log_directory.offset_checkpoint import (
    OFFSET_CHECKPOINTS,
    OffsetCheckpoint,
    decode_offset_checkpoint,
)
from kreplica.formats.log_directory.quorum_state import (
    CLEAN_SHUTDOWN,
    QUORUM_STATE,
    CleanShutdown,
    QuorumState,
    decode_clean_shutdown,
    decode_quorum_state,
)
from kreplica.model.topic_pattern import TOPIC_CHARACTERS

if TYPE_CHECKING:
    from kreplica.formats.file_bytes import SmallFile

OF_THE_DIRECTORY = frozenset({META_PROPERTIES, CLEAN_SHUTDOWN, *OFFSET_CHECKPOINTS})
OF_A_PARTITION = frozenset({LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, QUORUM_STATE})
SMALL_FILES = OF_THE_DIRECTORY | OF_A_PARTITION
"""Names of the files that are read here."""

_PARTITION = re.compile(rf"(?P<topic>{TOPIC_CHARACTERS})-(?P<partition>\d{{1,10}})", re.ASCII)
_MARKED = re.compile(r"(?P<name>.+)\.[0-9a-zA-Z]+-(?P<state>future|delete|stray)")
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """The replica that a directory holds.

    Args:
        topic: Topic name; of a directory that is to be deleted it may be cut off.
        partition: Partition index.
        state: ``current``, ``future``, ``delete`` or ``stray``.
    """

    topic: str
    partition: int
    state: str


@dataclass(slots=True)
class LogDirectory:
    """One log directory, as far as its files were among those read.

    Args:
        path: The directory.
        meta: meta.properties.
        clean_shutdown: .kafka_cleanshutdown; None if it is not there: the broker runs, or did not stop in order.
        checkpoints: Offset checkpoints by file name.
        epochs: leader-epoch-checkpoint of each partition's directory.
        topic_ids: partition.metadata of each partition's directory.
        quorum_state: quorum-state of the metadata log.
        damage: What could not be read in any of them.
    """

    path: Path
    meta: MetaProperties | None = None
    clean_shutdown: CleanShutdown | None = None
    checkpoints: dict[str, OffsetCheckpoint] = field(default_factory=dict)
    epochs: dict[PartitionDirectory, LeaderEpochCheckpoint] = field(default_factory=dict)
    topic_ids: dict[PartitionDirectory, PartitionMetadata] = field(default_factory=dict)
    quorum_state: QuorumState | None = None
    damage: list[Damage] = field(default_factory=list)

    def topic_id(self, place: PartitionDirectory) -> str | None:
        """The topic id in a partition's directory; None if it has none."""
        metadata = self.topic_ids.get(place)
        return None if metadata is None else metadata.topic_id

    def partitions(self) -> list[PartitionDirectory]:
        """Every replica that any of the files names, sorted."""
        named = chain.from_iterable(checkpoint.by_partition() for checkpoint in self.checkpoints.values())
        found = {*self.epochs, *self.topic_ids}
        at_work = {(each.topic, each.partition) for each in found if each.state in ("current", "future")}
        found |= {PartitionDirectory(topic, number, "current") for topic, number in set(named) - at_work}
        return sorted(found, key=lambda each: (each.topic, each.partition, each.state))


def parse_partition_directory(name: str) -> PartitionDirectory | None:
    """The replica that a directory of that name holds; None if it is no partition's directory."""
    marked = _MARKED.fullmatch(name)
    found = _PARTITION.fullmatch(name if marked is None else marked["name"])
    if found is None:
        return None
    return PartitionDirectory(found["topic"], int(found["partition"]), "current" if marked is None else marked["state"])


def read_log_directories(files: Iterable[Path], read: Callable[[Path], SmallFile]) -> list[LogDirectory]:
    """Decodes small files and joins them by log directory.

    Args:
        files: Files whose names are among SMALL_FILES; others are left out, as are those of no partition's directory.
        read: Reads a file; one of which the disk returns nothing is damage, and otherwise as if it were not there.
    """
    found: dict[Path, LogDirectory] = {}
    for path in files:
        if path.name in OF_THE_DIRECTORY:
            _take(found.setdefault(path.parent, LogDirectory(path.parent)), path, read(path))
        elif path.name in OF_A_PARTITION and (place := parse_partition_directory(path.absolute().parent.name)):
            home = path.absolute().parent.parent if path.parent == Path() else path.parent.parent
            _take_partition(found.setdefault(home, LogDirectory(home)), place, path, read(path))
    return [found[home] for home in sorted(found)]


def _take(home: LogDirectory, path: Path, read: SmallFile) -> None:
    home.damage.extend(read.unreadable)
    if path.name == CLEAN_SHUTDOWN:  # its existence says enough
        home.clean_shutdown = _decoded(home, path, read, decode_clean_shutdown)
    elif read.lost:
        return
    elif path.name == META_PROPERTIES:
        home.meta = _decoded(home, path, read, decode_meta_properties)
    else:
        home.checkpoints[path.name] = _decoded(home, path, read, decode_offset_checkpoint)


def _take_partition(home: LogDirectory, place: PartitionDirectory, path: Path, read: SmallFile) -> None:
    home.damage.extend(read.unreadable)
    if read.lost:
        return
    if path.name == LEADER_EPOCH_CHECKPOINT:
        home.epochs[place] = _decoded(home, path, read, decode_leader_epoch_checkpoint)
    elif path.name == PARTITION_METADATA:
        home.topic_ids[place] = _decoded(home, path, read, decode_partition_metadata)
    else:
        home.quorum_state = _decoded(home, path, read, decode_quorum_state)


def _decoded(home: LogDirectory, path: Path, read: SmallFile, decode: Callable[[bytes, str], _Decoded]) -> _Decoded:
    decoded = decode(read.content, str(path))
    home.damage.extend(outside(decoded.damage, read.unreadable))  # type: ignore[attr-defined]
    return decoded
