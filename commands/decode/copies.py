"""Warnings about copies of partitions that were not read because another copy goes further, by disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.formats.logs.partition_logs import PartitionLog


def copy_warnings(chosen: Iterable[PartitionLog], copies: Sequence[PartitionLog]) -> list[str]:
    """A line for each log directory: a cluster's disks together have a hundred copies of the topic's partitions.

    A copy of another topic id gets a line of its own: only the cluster knows which of two topics of a name is newer.

    Args:
        chosen: Copies of ``first_copies`` that are read.
        copies: Those that are not.
    """
    read = {log.partition: log for log in chosen} if copies else {}
    homes: dict[Path, list[PartitionLog]] = {}
    for log in copies:
        homes.setdefault(log.directory.parent, []).append(log)
    strange = [told for log in copies if (told := _of_another_topic(log, read[log.partition]))]
    return [*strange, *(_told(home, logs) for home, logs in homes.items())]


def _of_another_topic(copy: PartitionLog, read: PartitionLog) -> str:
    """A remark where the topic was deleted and created again between two copies (KIP-516); empty otherwise."""
    other, mine = copy.topic_id, read.topic_id
    if other == mine or None in (other, mine):
        return ""
    return (
        f"{copy.directory} is of another topic of that name ({other}) than {read.directory} ({mine}), which is read:"
        " if the cluster has the other one, name its directory alone"
    )


def _told(home: Path, logs: list[PartitionLog]) -> str:
    if len(logs) == 1:
        return f"{logs[0].directory} is another copy of partition {logs[0].partition}, not read"
    numbers = ", ".join(str(log.partition) for log in logs)
    return f"{home} has other copies of partitions {numbers}, not read"
