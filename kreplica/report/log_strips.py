"""Logs as strips: the records of each leader epoch, and the high watermark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.trace import Event, text_of


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive records of one leader epoch.

    Args:
        epoch: The leader epoch.
        start: Offset of the first.
        end: Offset after the last.
        values: Their values; control records are named by their kind.
    """

    epoch: int
    start: int
    end: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """One replica's log.

    Args:
        node: Whose.
        partition: Of what.
        pieces: By offset.
        high_watermark: Its own; None while its process is down.
        leads: Whether it leads.
        running: Whether its process runs.
    """

    node: str
    partition: str
    pieces: tuple[Piece, ...]
    high_watermark: int | None
    leads: bool
    running: bool


def log_strips(events: Iterable[Event], until: int | None = None) -> tuple[Strip, ...]:
    """The logs of every replica, as they are after the events.

    Args:
        events: A trace.
        until: Only events up to this time, in microseconds.
    """
    logs = ReplicaLogs()
    for event in events:
        if until is None or event.time <= until:
            logs(event)
    return tuple(
        _strip(partition, replica, logs.leader(partition) is replica)
        for partition, replicas in logs.partitions.items()
        for _, replica in sorted(replicas.items())
    )


def pieces_of(replica: ReplicaLog) -> tuple[Piece, ...]:
    """The consecutive records of each leader epoch in a log."""
    pieces: list[Piece] = []
    start = replica.base
    for epoch, records in groupby(replica.records, key=lambda record: record.epoch):
        values = tuple(map(text_of, records))
        pieces.append(Piece(epoch, start, start + len(values), values))
        start += len(values)
    return tuple(pieces)


def _strip(partition: str, replica: ReplicaLog, leads: bool) -> Strip:
    return Strip(replica.node, partition, pieces_of(replica), replica.shown_high_watermark, leads, replica.running)
