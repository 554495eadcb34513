"""The leader epochs of a log: one entry for each epoch, with the offset at which it begins.

org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache. Two lists of equal length that both grow; the lookup is
``log_truncation.epoch_end_offset``. They are changed in place.
"""

from bisect import bisect_left


def assign_epoch(epochs: list[int], starts: list[int], epoch: int, start: int) -> None:
    """Notes that ``epoch`` begins at ``start``; entries that contradict it go.

    LeaderEpochFileCache.assign, since 0.11 (KIP-101). Since 2.0.1 a leader assigns its epoch when it is
    elected, before any write (KAFKA-7415); before, the first record of an epoch did.
    """
    if epochs and epochs[-1] == epoch and start >= starts[-1]:
        return
    keep = min(bisect_left(epochs, epoch), bisect_left(starts, start))
    del epochs[keep:], starts[keep:]
    epochs.append(epoch)
    starts.append(start)


def truncate_epochs_from_end(epochs: list[int], starts: list[int], end_offset: int) -> None:
    """Drops the epochs that begin at or after ``end_offset``: LeaderEpochFileCache.truncateFromEnd, since 0.11."""
    keep = bisect_left(starts, end_offset)
    del epochs[keep:], starts[keep:]


def truncate_epochs_from_start(epochs: list[int], starts: list[int], start_offset: int) -> None:
    """Drops the epochs that end before ``start_offset``; the one that holds it begins there.

    LeaderEpochFileCache.truncateFromStart, since 0.11.
    """
    later = bisect_left(starts, start_offset + 1)
    if later == 0:
        return
    del epochs[: later - 1], starts[: later - 1]
    starts[0] = start_offset
