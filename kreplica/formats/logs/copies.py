"""Copies of one partition compared: which is ahead, where they diverge, records a restart would cut, unique records.

The comparison finds where two copies of a partition's log differ.

Followers append the very batches of their leader, so that first and last offset, leader epoch and checksum tell one
batch from another. Brokers compact on their own, at different times: the same epoch at an offset, but other bytes,
is no difference as long as the records that both still have are the same ones. An offset that only one of them still
has is taken for compacted away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from msgspec import Struct

from kreplica.engine.rules.replication.log_truncation import truncate_by_leader_epoch, truncate_to_high_watermark
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.log_directory.offset_checkpoint import REPLICATION
from kreplica.formats.logs.log_range import LogContents
from kreplica.formats.logs.replicas import ReplicaFiles, ReplicaFolder
from kreplica.formats.segments.batches import BatchColumns
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import BatchWindow
from kreplica.model.tables.rows import Int32, Meaning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.logs.log_range import SegmentContents


_IDENTITY = np.dtype([("base", "i8"), ("last", "i8"), ("epoch", "i4"), ("crc", "u4")])
RecordContent = tuple[int, bytes | None, bytes | None]
"""Timestamp, key and value."""


@dataclass(frozen=True, slots=True)
class _Batch:
    segment: SegmentContents
    index: int

    @property
    def base_offset(self) -> int:
        return int(self.segment.batches.base_offset[self.index])

    @property
    def last_offset(self) -> int:
        return int(self.segment.batches.last_offset[self.index])

    @property
    def leader_epoch(self) -> int:
        return int(self.segment.batches.leader_epoch[self.index])


def first_difference(left: LogContents, right: LogContents, log_start: int = 0) -> int | None:
    """The first offset, in the range that both logs cover, at which they do not hold the same record.

    Args:
        left, right: Two copies of one partition.
        log_start: The higher of both log starts, where that is after the first segments' beginning.

    Returns:
        None if one is the beginning of the other, as far as both go.
    """
    begin, end = max(left.start_offset, right.start_offset, log_start), min(left.end_offset, right.end_offset)
    mine, others = _unlike(left, right, begin, end), _unlike(right, left, begin, end)
    place = 0
    for batch in mine:
        while place < len(others) and others[place].last_offset < batch.base_offset:
            place += 1
        for other in _overlapping(others, place, batch):
            found = _difference(batch, other, begin)
            if found is not None:
                return found
    return None


def _unlike(log: LogContents, other: LogContents, begin: int, end: int) -> list[_Batch]:
    """Batches of the common range that the other log does not have as they are."""
    known = np.unique(np.concatenate([np.zeros(0, _IDENTITY), *(_identity(each.batches) for each in other.segments)]))
    return [
        _Batch(segment, index)
        for segment in log.segments
        for index in np.flatnonzero(
            (segment.batches.last_offset >= begin)
            & (segment.batches.base_offset < end)
            & ~_in_sorted(_identity(segment.batches), known)
        ).tolist()
    ]


def _identity(batches: BatchColumns) -> NDArray[Any]:
    found = np.zeros(len(batches), _IDENTITY)
    found["base"], found["last"] = batches.base_offset, batches.last_offset
    found["epoch"], found["crc"] = batches.leader_epoch, batches.crc
    return found


def _in_sorted(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def _overlapping(others: list[_Batch], place: int, batch: _Batch) -> Iterator[_Batch]:
    while place < len(others) and others[place].base_offset <= batch.last_offset:
        yield others[place]
        place += 1


def _difference(left: _Batch, right: _Batch, begin: int) -> int | None:
    if left.leader_epoch != right.leader_epoch:
        return max(left.base_offset, right.base_offset, begin)
    mine, others = _records(left), _records(right)
    unlike = (offset for offset, content in mine.items() if others.get(offset, content) != content)
    return next((offset for offset in unlike if offset >= begin), None)


def _records(batch: _Batch) -> dict[int, RecordContent]:
    batches = batch.segment.batches.take(slice(batch.index, batch.index + 1))
    position, size = int(batches.position[0]), int(batches.size[0])
    with FileBytes.open(batch.segment.path) as source:
        data = np.frombuffer(source.read(position, size), np.uint8)
    if len(data) < size:  # it was truncated meanwhile
        return {}
    window = BatchWindow(str(batch.segment.path), position, data, batches, ())
    return {
        int(offset): (int(records.timestamp[index]), records.key(index), records.value(index))
        for records in decode_records(window)
        for index, offset in enumerate(records.offset.tolist())
    }


class ComparedCopy(Struct, frozen=True, kw_only=True):
    """One copy of a partition beside the others; of a copy whose log cannot be read only what its small files say."""

    topic: Annotated[str, Meaning("topic name")]
    partition: Annotated[Int32, Meaning("partition index")]
    topic_id: Annotated[
        str | None, Meaning("topic id in its partition.metadata, null where there is none (before 2.8)")
    ]
    log_dir: Annotated[str, Meaning("log directory of this copy", drop=2)]
    node_id: Annotated[Int32 | None, Meaning("broker it is of, null without meta.properties", label="NODE")]
    leads: Annotated[
        bool,
        Meaning(
            "whether this copy is taken for the leader's: the highest leader epoch, then the longest", screen=False
        ),
    ]
    log_start_offset: Annotated[
        int | None, Meaning("first offset of the log, null where the log cannot be read", screen=False)
    ] = None
    end_offset: Annotated[int | None, Meaning("log end offset, null where the log cannot be read", label="END")] = None
    high_watermark: Annotated[
        int | None, Meaning("high watermark as checkpointed, null without the file", label="HW", drop=5)
    ] = None
    epochs: Annotated[
        Sequence[Mapping[str, int]] | None,
        Meaning(
            "leader epochs: objects with epoch and start_offset; null where neither checkpoint nor log tells them",
            drop=1,
        ),
    ] = None
    differs_at: Annotated[
        int | None,
        Meaning("first offset at which it holds another record than the leader's copy; null if none, and for that"),
    ] = None
    truncation_by_high_watermark: Annotated[
        int | None, Meaning("offset at which it would be cut before KIP-101; null for the leader's copy", screen=False)
    ] = None
    cut_by_high_watermark: Annotated[
        int | None, Meaning("number of offsets that would be cut then", label="CUT_BY_HW", drop=3)
    ] = None
    truncation_by_leader_epoch: Annotated[
        int | None,
        Meaning("offset at which it is cut since KIP-101 and KIP-279; null for the leader's copy", screen=False),
    ] = None
    cut_by_leader_epoch: Annotated[
        int | None, Meaning("number of offsets that are cut then", label="CUT_BY_EPOCH", drop=4)
    ] = None
    cut_committed: Annotated[
        int | None,
        Meaning(
            "how many of them the leader's copy has not, though a high watermark of this copy, or of one that"
            " has them too, is behind them: lost when this broker starts; null likewise, or where no high watermark is"
            " known",
            screen=False,
        ),
    ] = None
    only_here_from: Annotated[
        int | None,
        Meaning(
            "first of the committed offsets that no other copy has: below the high watermark of this one, or"
            " of another as far as both have the same; null if none",
            screen=False,
        ),
    ] = None
    only_here: Annotated[
        int | None, Meaning("number of those offsets; null where no high watermark is known", drop=6)
    ] = None
    only_here_above: Annotated[
        int | None,
        Meaning(
            "number of offsets above the high watermark that no other copy has: acknowledged to"
            " producers with acks=1 or 0, and to all if the ISR had shrunk to this broker after it was written; null"
            " likewise",
            screen=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a partition.

    Args:
        replica: Its files.
        epochs: Leader epochs with their first offsets, of its checkpoint or else of its batches.
        high_watermark: As checkpointed; None if no checkpoint has it.
        end_offset: The log end offset.
    """

    replica: ReplicaFiles
    epochs: tuple[tuple[int, int], ...]
    high_watermark: int | None
    end_offset: int

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch, -1 without any."""
        return self.epochs[-1][0] if self.epochs else -1


class Place(NamedTuple):
    """A partition by its topic id: a topic deleted and created anew has another id, and other records (KIP-516)."""

    topic: str
    partition: int
    topic_id: str | None


def partitions_of(folders: Sequence[ReplicaFolder]) -> Mapping[Place, list[ReplicaFolder]]:
    """Copies by partition, sorted; directories that wait for their deletion or hold no log are left out.

    Copies without a topic id are taken for those of the one topic of that name, if there is one.
    """
    there = [folder for folder in folders if folder.place.state == "current" and folder.may_hold_log()]
    ids: dict[str, set[str]] = {}
    for folder in there:
        ids.setdefault(folder.place.topic, set()).update(filter(None, [folder.topic_id]))
    found: dict[Place, list[ReplicaFolder]] = {}
    for folder in sorted(there, key=lambda each: (each.place.topic, each.place.partition, each.path)):
        known = ids[folder.place.topic]
        topic_id = next(iter(known)) if len(known) == 1 else folder.topic_id
        found.setdefault(Place(folder.place.topic, folder.place.partition, topic_id), []).append(folder)
    return found


def copy_of(replica: ReplicaFiles) -> Copy:
    """A replica in the form that is compared."""
    checkpointed, end = _checkpointed_epochs(replica), replica.log.end_offset
    epochs = replica.log.epochs() if checkpointed is None else checkpointed
    kept = tuple((epoch, start) for epoch, start in epochs if start <= end)
    return Copy(replica, kept, _high_watermark(replica), end)


def _checkpointed_epochs(replica: ReplicaFiles) -> list[tuple[int, int]] | None:
    checkpoint = replica.home.epochs.get(replica.place)
    usable = checkpoint is not None and len(checkpoint.epochs) and not checkpoint.damage
    return checkpoint.pairs() if usable and checkpoint is not None else None


def _high_watermark(replica: ReplicaFiles) -> int | None:
    said = replica.checkpoint(REPLICATION)
    return None if said is None else said[1]


def compare_replicas(replicas: Sequence[ReplicaFiles]) -> list[ComparedCopy]:
    """A row for each copy of one partition; one whose log cannot be read is not compared, and its end is not known."""
    rows = iter(compare_copies([copy_of(replica) for replica in replicas if replica.log.readable]))
    return [next(rows) if replica.log.readable else _unreadable_copy(replica) for replica in replicas]


def _unreadable_copy(replica: ReplicaFiles) -> ComparedCopy:
    """Facts in the small files about a copy whose log cannot be read."""
    epochs = _checkpointed_epochs(replica)
    return ComparedCopy(
        **_whose(replica),
        leads=False,
        high_watermark=_high_watermark(replica),
        epochs=None if epochs is None else _epochs(epochs),
    )


def _whose(replica: ReplicaFiles) -> Mapping[str, Any]:
    return {
        "topic": replica.place.topic,
        "partition": replica.place.partition,
        "topic_id": replica.topic_id,
        "log_dir": str(replica.home.path),
        "node_id": None if replica.home.meta is None else replica.home.meta.node_id,
    }


def _epochs(pairs: Iterable[tuple[int, int]]) -> list[Mapping[str, int]]:
    return [{"epoch": epoch, "start_offset": start} for epoch, start in pairs]


def compare_copies(copies: Sequence[Copy]) -> list[ComparedCopy]:
    """A row for each copy of one partition.

    The copy with the highest latest leader epoch, then the longest, is taken for the leader's. Where there are no
    leader epochs yet (before 0.11), a longer one that differs below a high watermark that it does not know is not.

    Args:
        copies: All that were found.
    """
    if not copies:
        return []
    begin = max(copy.replica.log_start_offset for copy in copies)
    differences = _differences(copies, begin)
    leader = _leading(copies, differences)
    marked = any(copy.high_watermark is not None for copy in copies)
    return [_row(copy, leader, copies, differences, begin, marked) for copy in copies]


def _leading(copies: Sequence[Copy], differences: Mapping[frozenset[int], int | None]) -> Copy:
    longest = max(copies, key=lambda each: (each.latest_epoch, each.end_offset, -copies.index(each)))
    known = [each for each in copies if each.high_watermark is not None]
    if longest.latest_epoch >= 0 or not known:
        return longest
    committed = max(known, key=lambda each: (each.high_watermark or 0, each.end_offset, -copies.index(each)))
    at = differences.get(frozenset((copies.index(longest), copies.index(committed))))
    ahead = (longest.high_watermark or 0) < (committed.high_watermark or 0)
    return committed if ahead and at is not None and at < (committed.high_watermark or 0) else longest


def _differences(copies: Sequence[Copy], begin: int) -> Mapping[frozenset[int], int | None]:
    """First difference of each pair of copies."""
    return {
        frozenset((left, right)): first_difference(copies[left].replica.log, copies[right].replica.log, begin)
        for right in range(len(copies))
        for left in range(right)
    }


def _row(
    copy: Copy,
    leader: Copy,
    copies: Sequence[Copy],
    differences: Mapping[frozenset[int], int | None],
    begin: int,
    marked: bool,
) -> ComparedCopy:
    replica, leads = copy.replica, copy is leader
    me = copies.index(copy)
    by_watermark, by_epoch = (None, None) if leads else (_by_high_watermark(copy), _by_leader_epoch(copy, leader))
    shared = max(_shared(me, copies, differences), default=begin)
    from_here = max(begin, shared)
    upto = _committed(me, copies, differences)
    cut = None
    if by_epoch is not None and marked:  # what the leader has, too, is fetched again
        cut = max(0, upto - max(begin, by_epoch, _shared_with(me, copies.index(leader), copies, differences)))
    only_here = max(0, upto - from_here) if len(copies) > 1 and marked else None
    return ComparedCopy(
        **_whose(replica),
        leads=leads,
        log_start_offset=replica.log_start_offset,
        end_offset=copy.end_offset,
        high_watermark=copy.high_watermark,
        epochs=_epochs(copy.epochs),
        differs_at=None if leads else differences[frozenset((me, copies.index(leader)))],
        truncation_by_high_watermark=by_watermark,
        cut_by_high_watermark=None if by_watermark is None else copy.end_offset - by_watermark,
        truncation_by_leader_epoch=by_epoch,
        cut_by_leader_epoch=None if by_epoch is None else copy.end_offset - by_epoch,
        cut_committed=cut,
        only_here_from=from_here if only_here else None,
        only_here=only_here,
        only_here_above=None if only_here is None else copy.end_offset - from_here - only_here,
    )


def _shared(me: int, copies: Sequence[Copy], differences: Mapping[frozenset[int], int | None]) -> Iterator[int]:
    """The offset up to which each other copy has the same records as this one."""
    for other in range(len(copies)):
        if other != me:
            yield _shared_with(me, other, copies, differences)


def _shared_with(me: int, other: int, copies: Sequence[Copy], differences: Mapping[frozenset[int], int | None]) -> int:
    parted = differences[frozenset((me, other))]
    return min(copies[other].end_offset, copies[me].end_offset) if parted is None else parted


def _committed(me: int, copies: Sequence[Copy], differences: Mapping[frozenset[int], int | None]) -> int:
    """The offset up to which its records were committed: by its high watermark, or that of a copy that has them."""
    upto = [0]
    for at, copy in enumerate(copies):
        parted = None if at == me else differences[frozenset((me, at))]
        if copy.high_watermark is not None:  # without a difference it may have lost what it knew to be committed
            upto.append(copy.high_watermark if parted is None else min(copy.high_watermark, parted))
    return min(copies[me].end_offset, max(upto))


def _by_high_watermark(copy: Copy) -> int | None:
    if copy.high_watermark is None:
        return None
    return truncate_to_high_watermark(copy.high_watermark, copy.end_offset)


def _by_leader_epoch(copy: Copy, leader: Copy) -> int | None:
    if not copy.epochs or not leader.epochs:
        return _by_high_watermark(copy)
    epochs, starts = zip(*copy.epochs, strict=True)
    leader_epochs, leader_starts = zip(*leader.epochs, strict=True)
    watermark = copy.replica.log_start_offset if copy.high_watermark is None else copy.high_watermark
    return truncate_by_leader_epoch(
        epochs, starts, copy.end_offset, watermark, leader_epochs, leader_starts, leader.end_offset
    )
