"""Partition of an internal topic that holds a group or a transactional id."""

from __future__ import annotations

DEFAULT_PARTITIONS = 50
"""offsets.topic.num.partitions and transaction.state.log.num.partitions unless set otherwise; never changed later."""


def coordinator_partition(name: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The partition whose leader coordinates the name.

    GroupCoordinatorService.partitionFor (GroupMetadataManager before 4.0), since 0.8.2, and
    TransactionStateManager.partitionFor, since 0.11: Utils.abs of Java's hash, which runs over UTF-16 code units; the
    absolute value of the smallest integer is 0.

    Args:
        name: Group or transactional id.
        partitions: Number of partitions of the topic.
    """
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return 0 if signed == -(1 << 31) else abs(signed) % partitions
