"""Truncation of a follower's log before it follows a leader.

A log's leader epochs stand in two sequences of equal length, ``epochs`` and ``starts``: entry ``i`` says that epoch
``epochs[i]`` begins at offset ``starts[i]``; both ascend.
"""

from collections.abc import Sequence

from kreplica.engine.rules.replication.leader_epoch_cache import first_at_or_above

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


def epoch_end_offset(epochs: Sequence[int], starts: Sequence[int], end_offset: int, epoch: int) -> tuple[int, int]:
    """The largest epoch that is not above ``epoch``, and the offset at which it ends.

    LeaderEpochFileCache.endOffsetFor, since 0.11 (KIP-101), with the epoch in the answer since 2.0 (KIP-279).

    Args:
        epochs: Leader epochs of the log.
        starts: Where each begins.
        end_offset: The log end offset.
        epoch: The epoch asked for.

    Returns:
        Epoch and end offset; the epoch asked for and the start of the first if all are higher; both undefined (-1) if
        none is as high, and the latest is not it.
    """
    if epoch == UNDEFINED_EPOCH or len(epochs) == 0:
        return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
    if epoch == epochs[-1]:
        return epoch, end_offset
    higher = first_at_or_above(epochs, epoch + 1)
    if higher == len(epochs):
        return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
    if higher == 0:
        return epoch, starts[0]
    return epochs[higher - 1], starts[higher]


def epoch_end_offset_until_2_0(
    epochs: Sequence[int], starts: Sequence[int], end_offset: int, epoch: int
) -> tuple[int, int]:
    """The same in 0.11 to 2.0.0: an epoch older than all that are known is undefined, too.

    LeaderEpochFileCache.endOffsetFor of 2.0; its follower then cut at its high watermark (until KAFKA-7415).
    """
    if len(epochs) > 0 and epoch < epochs[0]:
        return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
    return epoch_end_offset(epochs, starts, end_offset, epoch)


def truncate_to_high_watermark(high_watermark: int, end_offset: int) -> int:
    """Returns the offset at which a follower cut its log before KIP-101: its own high watermark.

    AbstractFetcherThread.truncateToHighWatermark: before 0.11, and later where no leader epochs are known.
    """
    return min(high_watermark, end_offset)


def truncate_by_leader_epoch(
    epochs: tuple[int, ...],
    starts: tuple[int, ...],
    end_offset: int,
    high_watermark: int,
    leader_epochs: tuple[int, ...],
    leader_starts: tuple[int, ...],
    leader_end_offset: int,
) -> int:
    """Returns the offset at which a follower cuts its log since KIP-101 and KIP-279: where it leaves the leader's.

    It asks for the end of its latest epoch; if the leader knows only a lower one it goes down to what both had and
    asks again. AbstractFetcherThread.getOffsetTruncationState; the answer to a fetch since 2.7 (KIP-595) leads to
    the same offset wherever the leader knows the epoch asked for. Where it does not, a fetch ends out of range and
    the follower cuts at the leader's log end offset (fetchOffsetAndTruncate) instead of at its high watermark.

    Args:
        epochs, starts, end_offset: The follower's log.
        high_watermark: The follower's, where it cuts without a common history.
        leader_epochs, leader_starts, leader_end_offset: The leader's log.
    """
    end = end_offset
    held = len(epochs)
    while held > 0:
        answered, leader_end = epoch_end_offset(leader_epochs, leader_starts, leader_end_offset, epochs[held - 1])
        end, finished = truncation_round(epochs[:held], starts[:held], end, high_watermark, answered, leader_end)
        if finished:
            return end
        held = first_at_or_above(starts, end)
    return min(high_watermark, end)


def truncation_round(
    epochs: Sequence[int],
    starts: Sequence[int],
    end_offset: int,
    high_watermark: int,
    answered: int,
    leader_end: int,
) -> tuple[int, bool]:
    """Takes one step of a truncation by the leader's answer about where an epoch ends, since 2.0 (KIP-279).

    AbstractFetcherThread.getOffsetTruncationState.

    Args:
        epochs, starts, end_offset: The follower's log.
        high_watermark: The follower's, where it cuts without a common history.
        answered, leader_end: The leader's ``epoch_end_offset`` for the follower's latest epoch.

    Returns:
        Where to cut, and whether that is all: if not, the follower asks again about its then latest epoch.
    """
    own, own_end = epoch_end_offset(epochs, starts, end_offset, answered)
    return _round(own, own_end, end_offset, high_watermark, answered, leader_end)


def truncation_round_until_2_0(
    epochs: Sequence[int],
    starts: Sequence[int],
    end_offset: int,
    high_watermark: int,
    answered: int,
    leader_end: int,
) -> tuple[int, bool]:
    """The same in 2.0.0: an answer with an epoch older than all of the follower's cuts at the leader's end of it.

    AbstractFetcherThread.getOffsetTruncationState of 2.0.0, which looked up its own epochs as leaders then did: of an
    epoch older than its first one it knew nothing. Since 2.0.1 the follower cuts where its first epoch begins.
    """
    own, own_end = epoch_end_offset_until_2_0(epochs, starts, end_offset, answered)
    return _round(own, own_end, end_offset, high_watermark, answered, leader_end)


def _round(
    own: int, own_end: int, end_offset: int, high_watermark: int, answered: int, leader_end: int
) -> tuple[int, bool]:
    if leader_end == UNDEFINED_EPOCH_OFFSET:
        return min(high_watermark, end_offset), True
    if own_end == UNDEFINED_EPOCH_OFFSET:
        return min(leader_end, end_offset), True
    if own == answered:
        return min(own_end, leader_end, end_offset), True
    # the leader answered with an epoch that the follower never had: down to the one below, and again
    return min(own_end, end_offset), False


def truncation_by_end_offset(end_offset: int, high_watermark: int, leader_end: int) -> int:
    """Returns the offset at which a follower cuts its log if the answer names no epoch: 0.11 to 1.1 (KIP-101).

    ReplicaFetcherThread.maybeTruncate of 0.11: the leader's end of the follower's latest epoch, at most the follower's
    log end; the high watermark if the leader does not know that epoch.
    """
    return min(high_watermark if leader_end == UNDEFINED_EPOCH_OFFSET else leader_end, end_offset)
