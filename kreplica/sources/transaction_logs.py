"""Finds the partitions of `__transaction_state` on disks, replays each, and looks up where open transactions began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kreplica.formats.batch_windows import read_windows
from kreplica.formats.damage_tally import DamageTally
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.files import named_paths
from kreplica.formats.partition_logs import PartitionLog, find_logs, first_copies
from kreplica.formats.record_columns import RecordColumns
from kreplica.formats.records import decode_records
from kreplica.formats.transaction_state import (
    TRANSACTION_TOPIC,
    Findings,
    TransactionRecord,
    TransactionReplay,
    transaction_events,
)
from kreplica.formats.until import Until

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TransactionLogs:
    """What was found below the paths.

    Args:
        logs: The copy that counts of each partition of the topic.
        copies: Other copies of these partitions.
        others: Logs of other partitions, in which open transactions may stand.
    """

    logs: Sequence[PartitionLog]
    copies: Sequence[PartitionLog]
    others: Mapping[Place, Sequence[PartitionLog]]


@dataclass(slots=True)
class ReplayedLog:
    """What came of one partition of the topic.

    Args:
        log: Its files.
        records: State or events, as asked for.
        findings: What could not be decoded.
    """

    log: PartitionLog
    records: list[TransactionRecord] = field(default_factory=list)
    findings: Findings = field(default_factory=lambda: Findings(""))


def find_transaction_logs(paths: Sequence[str]) -> TransactionLogs:
    """The partitions of the topic below files, directories and patterns.

    A file that is named itself is taken for a segment of the topic whatever its name; so is one that a pattern matches,
    where its directory tells no partition.

    Raises:
        InputError: A path cannot be read.
    """
    named, matched = {Path(path) for path in paths}, {path for path in named_paths(paths) if not path.is_dir()}
    topic, others = [], dict[Place, list[PartitionLog]]()
    for log in find_logs(paths):
        if log.topic == TRANSACTION_TOPIC:
            topic.append(log)
        elif not (matched if log.topic is None else named).isdisjoint(log.segments):
            topic.append(replace(log, topic=None, partition=None))  # restored-3 tells no partition of this topic
        elif log.topic is not None and log.partition is not None:
            others.setdefault((log.topic, log.partition), []).append(log)
    logs, copies = first_copies(topic)
    return TransactionLogs(logs, copies, others)


def replay_transactions(log: PartitionLog, until: Until, *, events: bool) -> ReplayedLog:
    """Reads one partition of the topic: every record, or the state that they come to."""
    replayed, replay = ReplayedLog(log, findings=Findings(str(log.directory))), TransactionReplay()
    for path in log.segments:
        with FileBytes.open(path) as source:
            for window in read_windows(source):
                replayed.findings.damage.extend(window.damage)
                for records in decode_records(window):
                    replayed.findings.damage.extend(records.damage)
                    counted = _counted(records, until)
                    if events:
                        replayed.records.extend(transaction_events(counted, replayed.findings))
                    else:
                        replay.add(counted)
    replayed.records.extend(replay.state(replayed.findings))
    return replayed


def _counted(records: RecordColumns, until: Until) -> RecordColumns:
    included = until.includes(records)
    return records if included is None else records.take(included)


def first_offsets(
    logs: Mapping[Place, Sequence[PartitionLog]], wanted: Mapping[Place, frozenset[int]]
) -> dict[tuple[Place, int], int]:
    """Where each producer's open transaction begins in each partition: the first batch behind its last marker.

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
        damage: Takes what could not be read, where a marker may have stood.

    Raises:
        InputError: A file cannot be read.
    """
    begun: dict[int, Begun] = {}
    for path in log.segments:
        _follow(path, producers, begun, DamageTally() if damage is None else damage)
    return begun


def _follow(path: Path, producers: frozenset[int] | None, begun: dict[int, Begun], damage: DamageTally) -> None:
    """Notes where a transaction begins, and forgets it where its marker stands."""
    with FileBytes.open(path) as source:
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
