"""Changes of partitions in a metadata log as rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from kreplica.formats.metadata_log.changes import ChangeKind, kinds_of
from kreplica.formats.metadata_log.image import PartitionChange
from kreplica.model.tables.rows import Int32, Meaning


class MetadataChange(Struct, frozen=True):
    """A change of a partition; null where there is no before, no after, or, for a comparison, no single record."""

    offset: Annotated[int | None, Meaning("offset of the record that made the change; null for a comparison")]
    timestamp: Annotated[
        int | None, Meaning("when it was written, ms since the epoch; null for a comparison", label="TIME", drop=4)
    ]
    topic: Annotated[str, Meaning("topic name")]
    partition: Annotated[Int32, Meaning("partition index")]
    kinds: Annotated[
        Sequence[ChangeKind],
        Meaning(
            "created, removed, leader, unclean, isr, elr, reassignment, recovery, directories: what changed;"
            " empty for what held where the history of `--who-led` begins with a checkpoint"
        ),
    ]
    leader_before: Annotated[Int32 | None, Meaning("leader before it, null if none")]
    leader: Annotated[Int32 | None, Meaning("leader after it, null if none")]
    leader_epoch: Annotated[Int32, Meaning("leader epoch after it; of a removed partition the last one", drop=3)]
    partition_epoch: Annotated[Int32, Meaning("partition epoch after it")]
    isr_before: Annotated[
        Sequence[Int32] | None, Meaning("in-sync replicas before it, null if it created the partition")
    ]
    isr: Annotated[
        Sequence[Int32] | None, Meaning("in-sync replicas after it, null if it removed the partition", drop=5)
    ]
    elr: Annotated[Sequence[Int32] | None, Meaning("eligible leader replicas after it", drop=1)]
    replicas: Annotated[Sequence[Int32], Meaning("full assignment, the preferred leader first", drop=2)]
    adding: Annotated[Sequence[Int32], Meaning("replicas being added")]
    removing: Annotated[Sequence[Int32], Meaning("replicas being removed")]


def change_row(change: PartitionChange, *, compared: bool = False) -> MetadataChange:
    """A change as a row.

    Args:
        change: The change.
        compared: Whether it is the difference of two states, which no single record made.
    """
    before, after = change.before, change.after
    state = after or before
    assert state is not None, "a change has a state before or behind it"
    return MetadataChange(
        offset=None if compared else change.offset,
        timestamp=None if compared else change.timestamp,
        topic=change.topic,
        partition=change.partition,
        kinds=kinds_of(change),
        leader_before=None if before is None else _known(before.leader),
        leader=None if after is None else _known(after.leader),
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        isr_before=None if before is None else list(before.isr),
        isr=None if after is None else list(after.isr),
        elr=None if after is None else list(after.elr),
        replicas=list(state.replicas),
        adding=list(state.adding),
        removing=list(state.removing),
    )


def _known(leader: int) -> int | None:
    return leader if leader >= 0 else None
