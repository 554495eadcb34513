"""leader-epoch-checkpoint of a partition's directory: the first offset of each leader epoch in its log.

    0
    2
    0 0                    leader epoch, first offset written under it
    3 150

Both columns grow from line to line; an epoch under which nothing was written has no line.
Kafka: org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile, KIP-101.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.checkpoint_text import MAX_INT32, MAX_INT64, number, read_checkpoint

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True, eq=False)
class LeaderEpochCheckpoint:
    """The n entries of one file, in its order.

    Args:
        epochs: n leader epochs, int32.
        start_offsets: n first offsets, int64.
        positions: n bytes at which the entries' lines begin.
        damage: What could not be read, and entries that do not grow (they are kept).
    """

    epochs: npt.NDArray[np.int32]
    start_offsets: npt.NDArray[np.int64]
    positions: tuple[int, ...]
    damage: tuple[Damage, ...]

    def pairs(self) -> list[tuple[int, int]]:
        """Epoch and start offset of each entry."""
        return list(zip(self.epochs.tolist(), self.start_offsets.tolist(), strict=True))


def decode_leader_epoch_checkpoint(content: bytes, file: str) -> LeaderEpochCheckpoint:
    """Decodes the file.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    import numpy as np  # here: where logs are only looked for, its import would take as long as all else

    read = read_checkpoint(content, file, "epoch start-offset", _entry)
    damage, before = list(read.damage), (-1, -1)
    for position, entry in read.entries:
        if entry[0] <= before[0] or entry[1] <= before[1]:
            expected = f"more than epoch {before[0]} from {before[1]}"
            damage.append(Damage(file, position, "epochs that do not grow", 0, expected, f"{entry[0]} from {entry[1]}"))
        before = entry
    return LeaderEpochCheckpoint(
        epochs=np.array([epoch for _, (epoch, _) in read.entries], dtype=np.int32),
        start_offsets=np.array([offset for _, (_, offset) in read.entries], dtype=np.int64),
        positions=tuple(position for position, _ in read.entries),
        damage=tuple(damage),
    )


def _entry(words: list[str]) -> tuple[int, int] | None:
    if len(words) != 2:
        return None
    epoch, offset = number(words[0], MAX_INT32), number(words[1], MAX_INT64)
    return None if epoch is None or offset is None else (epoch, offset)
