"""What a fetch may read, and what of it a consumer hands on.

The broker: kafka.log.UnifiedLog.read and TransactionIndex.collectAbortedTxns. The consumer:
org.apache.kafka.clients.consumer.internals.CompletedFetch. Since 0.11 (KIP-98). A read_committed consumer buffers
nothing: the broker gives it no record above the last stable offset, and names the aborted transactions below.
"""

from collections.abc import Iterable
from typing import NamedTuple

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
"""As the protocol numbers isolation levels."""


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index: ``last_offset`` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class FetchedBatch(NamedTuple):
    """A batch as a consumer sees it. ``abort_marker`` is true of a control batch that aborts."""

    base_offset: int
    last_offset: int
    producer_id: int
    transactional: bool
    control: bool = False
    abort_marker: bool = False


def fetch_upper_bound(isolation: int, end_offset: int, high_watermark: int, last_stable: int, follower: bool) -> int:
    """The offset that a fetch does not reach. UnifiedLog.read with FetchIsolation.

    Args:
        isolation: A consumer's isolation level.
        end_offset: The leader's log end offset: what followers read up to.
        high_watermark: What consumers read up to.
        last_stable: What read_committed consumers read up to.
        follower: Whether a replica fetches.
    """
    if follower:
        return end_offset
    return last_stable if isolation == READ_COMMITTED else high_watermark


def aborted_transactions(
    index: Iterable[AbortedTransaction], fetch_offset: int, upper_bound: int
) -> tuple[AbortedTransaction, ...]:
    """The aborted transactions that a read from ``fetch_offset`` below ``upper_bound`` has to know of.

    TransactionIndex.collectAbortedTxns over the log's segments in order: the search ends at the first entry whose last
    stable offset is not below the upper bound, because later ones begin behind it.
    """
    found: list[AbortedTransaction] = []
    for entry in index:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
            found.append(entry)
        if entry.last_stable_offset >= upper_bound:
            break
    return tuple(found)


def delivered_batches(
    batches: Iterable[FetchedBatch], aborted: Iterable[AbortedTransaction]
) -> tuple[FetchedBatch, ...]:
    """The batches whose records a read_committed consumer gives to the application, in their order.

    CompletedFetch.nextFetchedRecord: a producer is under abortion from the first offset of an aborted transaction of
    it up to the abort marker. Markers are never handed on, with read_uncommitted neither.
    """
    waiting = sorted(aborted, key=lambda entry: entry.first_offset)
    aborting: set[int] = set()
    delivered: list[FetchedBatch] = []
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            aborting.add(waiting.pop(0).producer_id)
        if batch.abort_marker:
            aborting.discard(batch.producer_id)
        elif not batch.control and not (batch.transactional and batch.producer_id in aborting):
            delivered.append(batch)
    return tuple(delivered)
