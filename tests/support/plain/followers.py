"""A follower that cuts its log before it follows: Kafka's classes step by step, with dictionaries and no bisection.

LeaderEpochFileCache (endOffsetFor, truncateFromEnd) and AbstractFetcherThread (fetchTruncatingPartitions,
getOffsetTruncationState, updateFetchOffsetAndMaybeMarkTruncationComplete), 3.9 and 4.x.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PlainLog:
    """First offset of each leader epoch, and the log end offset."""

    starts: dict[int, int]
    end: int

    def end_of(self, epoch: int) -> tuple[int, int] | None:
        """endOffsetFor; None stands for the undefined epoch and offset."""
        lower = [each for each in self.starts if each <= epoch]
        higher = [each for each in self.starts if each > epoch]
        if self.starts and epoch == max(self.starts):
            return epoch, self.end
        if not higher:
            return None
        return max(lower, default=epoch), self.starts[min(higher)]

    def truncate(self, offset: int) -> None:
        """UnifiedLog.truncateTo: an epoch that begins where the log ends goes too, even if nothing is cut."""
        self.end = min(self.end, offset)
        self.starts = {epoch: start for epoch, start in self.starts.items() if start < self.end}


def follow(follower: PlainLog, leader: PlainLog, high_watermark: int) -> int:
    """Cuts the follower's log until truncation is complete; where it then ends."""
    fetch_offset, complete = high_watermark, False
    for _ in range(1 + len(follower.starts)):
        if complete:
            return follower.end
        fetch_offset, complete = _round(follower, leader, fetch_offset)
        follower.truncate(fetch_offset)
    assert complete, "each round takes an epoch away"
    return follower.end


def _round(follower: PlainLog, leader: PlainLog, fetch_offset: int) -> tuple[int, bool]:
    if not follower.starts:
        return fetch_offset, True
    return one_answer(follower, leader.end_of(max(follower.starts)), fetch_offset)


def one_answer(follower: PlainLog, answer: tuple[int, int] | None, fetch_offset: int) -> tuple[int, bool]:
    """getOffsetTruncationState: where to cut, and whether that is all. None for an undefined offset."""
    if answer is None:
        return fetch_offset, True
    epoch, leader_end = answer
    if epoch == -1:
        return min(leader_end, follower.end), True
    own = follower.end_of(epoch)
    if own is None:
        return min(leader_end, follower.end), True
    if own[0] != epoch:
        return min(own[1], follower.end), False
    return min(own[1], leader_end, follower.end), True
