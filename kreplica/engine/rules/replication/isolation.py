"""Aborted transactions in the answer to a fetch, and the batches that a consumer delivers.

The broker: kafka's TransactionIndex.collectAbortedTxns. The consumer:
org.apache.kafka.clients.consumer.internals.CompletedFetch. Since 0.11 (KIP-98). A read_committed consumer buffers
nothing: the broker gives it no record above the last stable offset (``fetching.readable_end``), and names the aborted
transactions below.
"""

from collections.abc import Iterable
from typing import NamedTuple


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


def aborted_transactions(
    index: Iterable[AbortedTransaction], fetch_offset: int, upper_bound: int
) -> tuple[AbortedTransaction, ...]:
    """The aborted transactions that a read from ``fetch_offset`` below ``upper_bound`` has to know of.

    TransactionIndex.collectAbortedTxns over the log's segments in order: the search ends at the first entry whose last
    stable offset is not below the upper bound, because later ones begin after it.
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

    CompletedFetch.nextFetchedRecord: a producer's transactional batches are left out from the first offset of its
    aborted transaction up to the abort marker. Markers are never delivered, not even with read_uncommitted.
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
