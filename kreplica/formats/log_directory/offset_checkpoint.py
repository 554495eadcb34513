"""Offset checkpoints of a log directory, one offset for each of its partitions.

    0
    2
    orders 0 77            topic, partition, offset
    audit.log 1 29

| file | offset | written |
|---|---|---|
| replication-offset-checkpoint | high watermark | by replica.high.watermark.checkpoint.interval.ms, at a stop |
| recovery-point-offset-checkpoint | first offset perhaps not flushed | by log.flush.offset.checkpoint.interval.ms |
| log-start-offset-checkpoint | log start inside the first segment | by log.flush.start.offset.checkpoint.interval.ms |
| cleaner-offset-checkpoint | first offset that is not cleaned | after each cleaning; empty or absent before |

Kafka: org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile (4.x), kafka.server.checkpoints (before).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.checkpoint_text import MAX_INT32, MAX_INT64, number, read_checkpoint
from kreplica.model.topic_pattern import is_topic_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REPLICATION: Final = "replication-offset-checkpoint"
RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
LOG_START: Final = "log-start-offset-checkpoint"
CLEANER: Final = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS: Final = (LOG_START, RECOVERY_POINT, REPLICATION, CLEANER)
"""Names of these files in a log directory."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetCheckpoint:
    """The n entries of one file, in its order, each partition once.

    Args:
        topics: n topic names.
        partitions: n partition indexes, int32.
        offsets: n offsets, int64.
        positions: n bytes at which the entries' lines begin.
        damage: What could not be read.
    """

    topics: tuple[str, ...]
    partitions: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    positions: tuple[int, ...]
    damage: tuple[Damage, ...]

    def by_partition(self) -> dict[tuple[str, int], int]:
        """Offset by topic and partition."""
        keys = zip(self.topics, self.partitions.tolist(), strict=True)
        return dict(zip(keys, self.offsets.tolist(), strict=True))


def decode_offset_checkpoint(content: bytes, file: str) -> OffsetCheckpoint:
    """Decodes one of the four files.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    import numpy as np  # here: where logs are only looked for, its import would take as long as all else

    read = read_checkpoint(content, file, "topic partition offset", _entry)
    last: dict[tuple[str, int], int] = {}
    positions: dict[tuple[str, int], int] = {}
    damage = list(read.damage)
    for position, (topic, partition, offset) in read.entries:
        if (topic, partition) in last:
            damage.append(Damage(file, position, f"{topic}-{partition} is there twice; the last one counts", 0))
        last[topic, partition] = offset
        positions[topic, partition] = position
    return OffsetCheckpoint(
        topics=tuple(topic for topic, _ in last),
        partitions=np.array([partition for _, partition in last], dtype=np.int32),
        offsets=np.array(list(last.values()), dtype=np.int64),
        positions=tuple(positions.values()),
        damage=tuple(damage),
    )


def _entry(words: list[str]) -> tuple[str, int, int] | None:
    if len(words) != 3 or not is_topic_name(words[0]):
        return None
    partition, offset = number(words[1], MAX_INT32), number(words[2], MAX_INT64)
    return None if partition is None or offset is None else (words[0], partition, offset)
