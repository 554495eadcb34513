"""The words for changes of partitions in a metadata log; imports nothing, for they are options of a command."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ChangeKind(StrEnum):
    """What a change did to a partition; one change may be of several kinds."""

    created = "created"
    removed = "removed"
    leader = "leader"
    unclean = "unclean"
    isr = "isr"
    elr = "elr"
    reassignment = "reassignment"
    recovery = "recovery"
    directories = "directories"


COLUMNS: Final = (
    "offset",
    "timestamp",
    "topic",
    "partition",
    "kinds",
    "leader_before",
    "leader",
    "leader_epoch",
    "partition_epoch",
    "isr_before",
    "isr",
    "elr",
    "replicas",
    "adding",
    "removing",
)
"""Fields of a change's row."""
