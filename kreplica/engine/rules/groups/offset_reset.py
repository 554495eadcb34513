"""Position of a consumer without a committed offset, or with one that is out of range: auto.offset.reset.

org.apache.kafka.clients.consumer.internals.OffsetFetcherUtils and AutoOffsetResetStrategy; before 4.0
OffsetResetStrategy. From 0.8 to 0.8.2 the values were called largest and smallest.
"""

import re
from typing import NamedTuple

NO_RESET = -1
"""No position: the application gets an error (NoOffsetForPartitionException, OffsetOutOfRangeException)."""
NOT_YET = -2
"""No position yet: the consumer asks again later."""

BY_DURATION = "by_duration"
"""The policy that begins with the first record not older than a duration."""

_DURATION = re.compile(
    r"P(?=\d|T\d)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE
)


class ResetPolicy(NamedTuple):
    """latest, earliest, none, or by_duration with how far back, in milliseconds."""

    name: str
    duration_ms: int = 0


def reset_policy(value: str) -> ResetPolicy | None:
    """Parses a value of auto.offset.reset; None if it is not valid.

    AutoOffsetResetStrategy.fromString: by_duration:PnDTnHnMn.nS since 4.0 (KIP-1106), never negative.
    """
    if value in {"latest", "earliest", "none"}:
        return ResetPolicy(value)
    name, _, duration = value.partition(":")
    found = _DURATION.fullmatch(duration)
    if name != BY_DURATION or found is None:
        return None
    days, hours, minutes, seconds, fraction = (part or "0" for part in found.groups())
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return ResetPolicy(name, whole * 1000 + int(fraction.ljust(9, "0")) // 1_000_000)


def reset_position(policy: ResetPolicy, log_start: int, last_fetchable: int, offset_at_time: int | None) -> int:
    """The position after a reset.

    Args:
        policy: The consumer's.
        log_start: The log start offset.
        last_fetchable: The high watermark; the last stable offset for read_committed.
        offset_at_time: by_duration: the first offset whose record is as recent, None if there is none.

    Returns:
        An offset; NO_RESET where the application must decide; NOT_YET under by_duration while no record is as recent:
        ListOffsets then answers -1, which OffsetFetcherUtils.handleListOffsetResponse ignores.
    """
    if policy.name == "latest":
        return last_fetchable
    if policy.name == "earliest":
        return log_start
    if policy.name == "none":
        return NO_RESET
    return NOT_YET if offset_at_time is None else offset_at_time


def latest_is_available(high_watermark: int, epoch_start: int) -> bool:
    """True if a leader may answer with the latest offset: its high watermark has reached the start of its epoch.

    Partition.fetchOffsetForTimestamp, since 2.2 (KIP-207): until then OFFSET_NOT_AVAILABLE, which a consumer retries.
    Before, a consumer that asked a new leader could get an offset below what it had already read.
    """
    return high_watermark >= epoch_start
