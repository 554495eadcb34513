"""Rules on the files beside a segment: the batches and markers that their entries lead to exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.formats.checks.index_entries import EntryVerdict, index_damage, offset_entries, time_entries
from kreplica.formats.log_directory.indexes import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES, TRANSACTION_ENTRY_BYTES
from kreplica.formats.logs.log_range import SegmentContents
from kreplica.formats.logs.replicas import Finding, ReplicaFiles


def offset_index(replica: ReplicaFiles) -> Iterator[Finding]:
    """An entry of an offset index leads to the first byte of a batch that does not begin after its offset.

    Zeros at the end are preallocated; entries after the end of a log that was cut are made anew when the broker starts.
    """
    for segment in replica.log.segments:
        index = replica.offset_indexes.get(segment.base_offset)
        if index is None:
            continue
        rebuilt = replica.rebuilt(segment)
        yield from replica.damaged("offset-index", index_damage(segment, index, rebuilt=rebuilt))
        if not index.damage:
            verdicts = offset_entries(segment, index, rebuilt=rebuilt)
            file = replica.file(segment.base_offset, ".index")
            yield from _wrong(replica, "offset-index", file, OFFSET_ENTRY_BYTES, verdicts)


def time_index(replica: ReplicaFiles) -> Iterator[Finding]:
    """An entry of a time index has the latest timestamp of the batch that holds its offset."""
    for segment in replica.log.segments:
        index = replica.time_indexes.get(segment.base_offset)
        if index is None:
            continue
        rebuilt = replica.rebuilt(segment)
        yield from replica.damaged("time-index", index_damage(segment, index, rebuilt=rebuilt))
        if not index.damage:
            verdicts = time_entries(segment, index, rebuilt=rebuilt)
            file = replica.file(segment.base_offset, ".timeindex")
            yield from _wrong(replica, "time-index", file, TIME_ENTRY_BYTES, verdicts)


def _wrong(
    replica: ReplicaFiles, rule: str, file: str, entry: int, verdicts: Iterator[EntryVerdict]
) -> Iterator[Finding]:
    for each in verdicts:
        if each.valid is False:
            yield replica.finding(rule, file, each.row * entry, each.message, each.expected, each.found)


def transaction_index(replica: ReplicaFiles) -> Iterator[Finding]:
    """An aborted transaction ends at an abort marker of its producer, and every marker with data is in the index.

    It begins with its first batch, which compaction may have removed, after the producer's transaction before it;
    its last stable offset is where the next open transaction of another producer begins, or else after the marker:
    consumers go by these. A follower enters all that it appends at once, so the next one may begin after it.
    UnifiedLog.append, ProducerStateManager.lastStableOffset, TransactionIndex. Compaction takes markers away: no batch
    at the offset is nothing wrong.
    """
    for segment in replica.log.segments:
        index = replica.transaction_indexes.get(segment.base_offset)
        if index is not None:
            yield from replica.damaged("transaction-index", index.damage)
        if segment.damage or (index is not None and index.damage):
            continue
        yield from _entries_without_marker(replica, segment)
        yield from _wrong_bounds(replica, segment)
        if not replica.rebuilt(segment):
            yield from _markers_without_entry(replica, segment)


def _entries_without_marker(replica: ReplicaFiles, segment: SegmentContents) -> Iterator[Finding]:
    index = replica.transaction_indexes.get(segment.base_offset)
    if index is None:
        return
    markers = {(marker.offset, marker.producer_id) for marker in segment.aborts}
    file, batches = replica.file(segment.base_offset, ".txnindex"), segment.batches
    for row, (producer, last) in enumerate(zip(index.producer_ids.tolist(), index.last_offsets.tolist(), strict=True)):
        place = int(np.searchsorted(batches.last_offset, last))
        behind = place == len(batches)
        there = not behind and int(batches.base_offset[place]) <= last
        if (last, producer) not in markers and (there or (behind and not replica.rebuilt(segment))):
            expected = f"an abort marker of producer {producer} at offset {last} of {segment.path.name}"
            found = "no batch" if behind else f"another batch at byte {int(batches.position[place])}"
            message, at = "an aborted transaction without its marker", row * TRANSACTION_ENTRY_BYTES
            yield replica.finding("transaction-index", file, at, message, expected, found)


def _markers_without_entry(replica: ReplicaFiles, segment: SegmentContents) -> Iterator[Finding]:
    index = replica.transaction_indexes.get(segment.base_offset)
    known = set() if index is None else set(zip(index.last_offsets.tolist(), index.producer_ids.tolist(), strict=True))
    for marker in segment.aborts:
        _, first = _begun(segment, marker.offset, marker.producer_id)
        if first is not None and (marker.offset, marker.producer_id) not in known:
            expected = f"an entry for producer {marker.producer_id}, offsets {first} to {marker.offset}"
            found = "no entry" if index is not None else f"no {segment.base_offset:020d}.txnindex"
            message = f"this abort marker is not in {segment.base_offset:020d}.txnindex"
            yield replica.finding("transaction-index", str(segment.path), marker.position, message, expected, found)


def _wrong_bounds(replica: ReplicaFiles, segment: SegmentContents) -> Iterator[Finding]:
    index = replica.transaction_indexes.get(segment.base_offset)
    if index is None:
        return
    markers = {(marker.offset, marker.producer_id) for marker in segment.aborts}
    columns = index.producer_ids, index.first_offsets, index.last_offsets, index.last_stable_offsets
    file = replica.file(segment.base_offset, ".txnindex")
    for row, (producer, first, last, stable) in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
        if (last, producer) not in markers:
            continue
        ended, begun = _begun(segment, last, producer)
        if begun is not None and not ended < first <= begun:
            message, expected = (
                "an aborted transaction from another offset",
                f"first offset {begun}, of its first batch",
            )
            yield replica.finding("transaction-index", file, row * TRANSACTION_ENTRY_BYTES, message, expected, first)
        if stable > last + 1 and not _may_begin_a_transaction(replica, segment, stable, producer):
            message = "a last stable offset behind the marker"
            expected = f"last stable offset {last + 1}, or where another producer's transaction begins"
            yield replica.finding("transaction-index", file, row * TRANSACTION_ENTRY_BYTES, message, expected, stable)


def _may_begin_a_transaction(replica: ReplicaFiles, segment: SegmentContents, offset: int, other: int) -> bool:
    """True if records of another producer's transaction begin there, or the log does not tell."""
    batches = segment.batches
    place = int(np.searchsorted(batches.last_offset, offset))
    if place == len(batches):
        return replica.rebuilt(segment)  # the log was cut
    if batches.base_offset[place] > offset:
        return True  # compacted away
    data = bool(batches.transactional[place]) and not batches.control[place]
    return data and int(batches.base_offset[place]) == offset and int(batches.producer_id[place]) != other


def _begun(segment: SegmentContents, marker: int, producer: int) -> tuple[int, int | None]:
    """Of the transaction that the marker ends, as far as this segment shows: where the producer's one before it ended
    (-1 if not known), and its first offset here; None if it has no data here.
    """
    batches = segment.batches
    mine = batches.take((batches.producer_id == producer) & batches.transactional & (batches.last_offset < marker))
    ended = np.flatnonzero(mine.control)
    data = mine.take(slice(int(ended[-1]) + 1 if len(ended) else 0, None))
    return int(mine.last_offset[ended[-1]]) if len(ended) else -1, int(data.base_offset[0]) if len(data) else None
