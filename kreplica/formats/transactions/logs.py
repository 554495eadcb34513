"""Replays partitions of `__transaction_state`, and looks up where open transactions began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from kreplica.formats.damage import DamageTally
from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.logs.internal_topic import Place
from kreplica.formats.logs.partition_logs import PartitionLog
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.rows import log_records
from kreplica.formats.segments.windows import read_windows
from kreplica.formats.transactions.records import Findings, TransactionRecord, TransactionReplay, transaction_events

RECORDS_AT_ONCE = 1 << 14
"""Records of a history that are held at once: as Python objects they take some twenty times their bytes in the log."""


@dataclass(slots=True)
class ReplayedLog:
    """Result of replaying one partition of the topic.

    Args:
        log: Its files.
        records: The last record of each transactional id.
        findings: Records that could not be decoded.
    """

    log: PartitionLog
    records: list[TransactionRecord] = field(default_factory=list)
    findings: Findings = field(default_factory=lambda: Findings(""))


def replay_transactions(log: PartitionLog, as_of: AsOf) -> ReplayedLog:
    """Replays one partition of the topic to its state."""
    replayed, replay = ReplayedLog(log, findings=Findings(str(log.directory))), TransactionReplay()
    for _, records in log_records(log.segments, as_of, replayed.findings.damage):
        replay.add(records)
    replayed.records.extend(replay.state(replayed.findings))
    return replayed


def transactional_ids(log: PartitionLog, as_of: AsOf) -> set[str]:
    """Every transactional id in a partition of the topic, forgotten ones too."""
    replay = TransactionReplay()
    for _, records in log_records(log.segments, as_of, DamageTally()):
        replay.add(records)
    return replay.ids()


def transaction_history(log: PartitionLog, as_of: AsOf, found: Findings) -> Iterator[list[TransactionRecord]]:
    """Every record of one partition of the topic, some at a time: earlier ones are not kept."""
    for _, records in log_records(log.segments, as_of, found.damage):
        events = transaction_events(records, found)
        while some := list(islice(events, RECORDS_AT_ONCE)):
            yield some


def first_offsets(
    logs: Mapping[Place, Sequence[PartitionLog]], wanted: Mapping[Place, frozenset[int]]
) -> dict[tuple[Place, int], int]:
    """First offset of each producer's open transaction in each partition: of the first batch after its last marker.

    Args:
        logs: Logs of partitions; of several copies the lowest offset counts.
        wanted: Producer ids of open transactions by partition.
    """
    found: dict[tuple[Place, int], int] = {}
    for place, producers in wanted.items():
        for log in logs.get(place, ()):
            for producer, begun in open_in(log, producers).items():
                found[place, producer] = min(begun.first_offset, found.get((place, producer), begun.first_offset))
    return found


@dataclass(frozen=True, slots=True)
class Begun:
    """An open transaction in one log.

    Args:
        first_offset: Of its first batch.
        producer_epoch: Of its last batch.
        last_timestamp: Latest timestamp of its last batch, ms since the epoch.
    """

    first_offset: int
    producer_epoch: int
    last_timestamp: int


def open_in(
    log: PartitionLog, producers: frozenset[int] | None = None, damage: DamageTally | None = None
) -> dict[int, Begun]:
    """Transactions without a marker at the end of a log, by producer id.

    Args:
        log: Its segments, in order.
        producers: Only of these; of all if None.
        damage: Takes the ranges that could not be read, where a marker may have been.
    """
    begun: dict[int, Begun] = {}
    for path in log.segments:
        _follow(path, producers, begun, DamageTally() if damage is None else damage)
    return begun


def _follow(path: Path, producers: frozenset[int] | None, begun: dict[int, Begun], damage: DamageTally) -> None:
    """Adds a transaction where it begins, and removes it at its marker."""
    with FoundBytes.open(path) as source:
        for window in read_windows(source):
            damage.add(window.damage)
            batches = window.batches
            wanted = batches.transactional & batches.valid
            if producers is not None:
                wanted &= np.isin(batches.producer_id, list(producers))
            for row in np.flatnonzero(wanted).tolist():
                producer = int(batches.producer_id[row])
                if batches.control[row]:
                    begun.pop(producer, None)
                    continue
                first = begun[producer].first_offset if producer in begun else int(batches.base_offset[row])
                begun[producer] = Begun(first, int(batches.producer_epoch[row]), int(batches.max_timestamp[row]))
