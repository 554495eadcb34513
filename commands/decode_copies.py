"""Copies of partitions that were not read, because another goes further: told by the disk they are on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.formats.partition_logs import PartitionLog


def copy_warnings(copies: Iterable[PartitionLog]) -> list[str]:
    """A line for each log directory: a cluster's disks together have a hundred copies of the topic's partitions.

    Args:
        copies: Those of ``first_copies`` that were not chosen.
    """
    homes: dict[Path, list[PartitionLog]] = {}
    for log in copies:
        homes.setdefault(log.directory.parent, []).append(log)
    return [_told(home, logs) for home, logs in homes.items()]


def _told(home: Path, logs: list[PartitionLog]) -> str:
    if len(logs) == 1:
        return f"{logs[0].directory} is another copy of partition {logs[0].partition}, not read"
    numbers = ", ".join(str(log.partition) for log in logs)
    return f"{home} has other copies of partitions {numbers}, not read"
