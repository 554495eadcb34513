"""Last stable offset (LSO) of a log: transactions before it are decided, and read_committed consumers read up to it.

org.apache.kafka.storage.internals.log.ProducerStateManager and UnifiedLog, since 0.11 (KIP-98).

    offset      0   1   2   3   4   5   6   7
    record      a1  b1  n   a2  A+  b2
                    ^                        b is open since 1: the LSO is 1, whatever the high watermark
    a is committed at 4 (A+); until the high watermark is above 4 it counts as undecided, because the marker may be lost
"""

from collections.abc import Iterable

from kreplica.engine.rules.transactions.producer_state import NO_OFFSET

CompletedTransaction = tuple[int, int]
"""First offset of a transaction and offset of its marker."""


def first_unstable_offset(open_starts: Iterable[int], unreplicated: Iterable[CompletedTransaction]) -> int:
    """The first offset that is not decided, or decided by a marker that is not replicated; NO_OFFSET if there is none.

    ProducerStateManager.firstUnstableOffset.

    Args:
        open_starts: First offsets of the open transactions.
        unreplicated: Transactions whose marker is not below the high watermark.
    """
    return min((*open_starts, *(start for start, _ in unreplicated)), default=NO_OFFSET)


def last_stable_offset(first_unstable: int, high_watermark: int, log_start: int = 0) -> int:
    """The offset up to which records are both committed to the log and decided. UnifiedLog.lastStableOffset.

    Args:
        first_unstable: The first unstable offset, or NO_OFFSET; one below the log start counts as the log start.
        high_watermark: The replica's.
        log_start: The log start offset.
    """
    if first_unstable == NO_OFFSET:
        return high_watermark
    return min(max(first_unstable, log_start), high_watermark)


def still_unreplicated(
    unreplicated: Iterable[CompletedTransaction], high_watermark: int
) -> tuple[CompletedTransaction, ...]:
    """Transactions whose marker is not yet below the high watermark. ProducerStateManager.onHighWatermarkUpdated.

    A truncation forgets all of them and reads the log again: it is assumed to stop at the high watermark or above.
    """
    return tuple(transaction for transaction in unreplicated if transaction[1] >= high_watermark)


def transaction_index_lso(open_starts_of_others: Iterable[int], marker_offset: int) -> int:
    """The LSO in the transaction index's entry for an aborted transaction: as if the marker were replicated.

    ProducerStateManager.lastStableOffset(CompletedTxn). A reader below it needs no later entry of the index.

    Args:
        open_starts_of_others: First offsets of the open transactions of other producers.
        marker_offset: Offset of the abort marker.
    """
    return min(open_starts_of_others, default=marker_offset + 1)
