"""The leader epochs of a log: one entry for each epoch, with the offset at which it begins.

org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache. Two lists of equal length that both grow; the lookup is
``log_truncation.epoch_end_offset``. They are changed in place.
"""

from collections.abc import Sequence


def first_at_or_above(values: Sequence[int], wanted: int) -> int:
    """The index of the first value that is not below ``wanted``; the length if all are.

    java.util.TreeMap.ceilingEntry, by which LeaderEpochFileCache looks up its entries since 2.7; before, it searched
    them from the first on.
    """
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def assign_epoch(epochs: list[int], starts: list[int], epoch: int, start: int) -> None:
    """Adds the entry that ``epoch`` begins at ``start``; entries that contradict it are removed.

    LeaderEpochFileCache.assign, since 2.0.1 (KAFKA-7415): a leader assigns its epoch when it is elected, before any
    write.
    """
    if len(epochs) > 0 and epochs[-1] == epoch and start >= starts[-1]:
        return
    keep = min(first_at_or_above(epochs, epoch), first_at_or_above(starts, start))
    del epochs[keep:]
    del starts[keep:]
    epochs.append(epoch)
    starts.append(start)


def assign_epoch_until_2_0(epochs: list[int], starts: list[int], epoch: int, start: int) -> None:
    """The same in 0.11 to 2.0.0: an epoch that is not above the latest is left out, and nothing is ever removed.

    LeaderEpochFileCache.assign of 2.0.0; the first record of an epoch assigned it. Records of an older epoch, which a
    follower gets from a leader that never had its own latest one, counted as records of that latest epoch.
    """
    if len(epochs) == 0 or (epoch > epochs[-1] and start >= starts[-1]):
        epochs.append(epoch)
        starts.append(start)


def truncate_epochs_from_end(epochs: list[int], starts: list[int], end_offset: int) -> None:
    """Drops the epochs that begin at or after ``end_offset``: LeaderEpochFileCache.truncateFromEnd, since 0.11."""
    keep = first_at_or_above(starts, end_offset)
    del epochs[keep:]
    del starts[keep:]


def truncate_epochs_from_start(epochs: list[int], starts: list[int], start_offset: int) -> None:
    """Drops the epochs that end before ``start_offset``; the one that holds it begins there.

    LeaderEpochFileCache.truncateFromStart, since 0.11.
    """
    later = first_at_or_above(starts, start_offset + 1)
    if later == 0:
        return
    del epochs[: later - 1]
    del starts[: later - 1]
    starts[0] = start_offset
