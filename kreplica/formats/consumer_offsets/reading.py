"""Committed offsets, groups and records of `__consumer_offsets`, read from the files of brokers.

Of several copies of a partition the one that goes furthest is read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.errors import UsageError
from kreplica.formats.consumer_offsets.logs import Replayed, replay_logs
from kreplica.formats.consumer_offsets.records import type_name
from kreplica.formats.damage import DamageTally
from kreplica.formats.logs.internal_topic import PARTITIONS, TopicLogs, TopicReading, find_topic_logs
from kreplica.formats.segments.as_of import AsOf
from kreplica.model.internal_topics import OFFSETS_TOPIC
from kreplica.model.topic_pattern import topic_pattern

if TYPE_CHECKING:
    from kreplica.formats.consumer_offsets.events import OffsetEvents
    from kreplica.formats.consumer_offsets.rows import CommittedOffset


@dataclass(frozen=True, slots=True)
class OffsetsReading(TopicReading):
    """Offsets and groups that were read, and from which logs.

    Args:
        rows: Committed and pending offsets that were asked for, sorted.
        all_groups: Number of groups in the logs, asked for or not.
        results: Result of replaying each log.
        commits: All committed offsets of each log, asked for or not.
        expired: Number of rows whose expiration time had passed at the moment asked for: a coordinator drops these
            unless members read the topic (OffsetMetadataManager.cleanupExpiredOffsets).
    """

    rows: Sequence[CommittedOffset] = ()
    all_groups: int = 0
    results: Sequence[Replayed] = ()
    commits: Sequence[Sequence[CommittedOffset]] = ()
    expired: int = 0

    @property
    def types(self) -> dict[str, int]:
        """Number of records by type of key, in the order of the types."""
        counts: dict[int, int] = {}
        for result in self.results:
            for number, count in result.replay.types.items():
                counts[number] = counts.get(number, 0) + count
        return {str(number): counts[number] for number in sorted(counts)}

    @property
    def unknown(self) -> dict[int, int]:
        """Number of records by type, of the types that Kafka does not write to the topic, or not yet."""
        return {int(number): count for number, count in self.types.items() if type_name(int(number)) is None}


def decode_offsets(
    paths: Sequence[str],
    groups: Sequence[str] = (),
    topics: str | None = None,
    *,
    partitions: int = PARTITIONS,
    as_of: AsOf | None = None,
    members: bool = False,
) -> OffsetsReading:
    """Reads committed offsets, and with ``members`` the groups and their members, from the named files.

    Args:
        paths: Log directories, folders of partitions, or segments.
        groups: Regular expressions for whole names of groups; all groups if there are none.
        topics: Pattern of the topics, as ``--topic`` takes it; all topics if None.
        partitions: Number of partitions of __consumer_offsets.
        as_of: State as of this offset or time; the end of the logs if None.
        members: Whether the groups and their members are replayed, too.

    Raises:
        UsageError: There is nothing to read, or a pattern is none.
        InputError: A file cannot be read.
    """
    patterns = group_patterns(groups)
    topic = topic_pattern(topics) if topics is not None else None
    damage = DamageTally()
    logs = _chosen(paths, as_of, damage)
    results = replay_logs([log.segments for log in logs.logs], as_of, groups=members)
    from kreplica.formats.consumer_offsets.rows import committed_offsets

    commits: list[list[CommittedOffset]] = []
    homes: set[tuple[str, int]] = set()
    for log, result in zip(logs.logs, results, strict=True):
        found = committed_offsets(result, log.directory)
        commits.append(found)
        damage.join(result.damage)
        homes |= set() if log.partition is None else {(row.group, log.partition) for row in found}
    rows = [row for found in commits for row in found]
    kept = [row for row in rows if is_wanted(row.group, patterns) and (topic is None or topic.fullmatch(row.topic))]
    kept.sort(key=lambda row: (row.group, row.topic, row.partition, row.pending, row.record_offset))
    return OffsetsReading(
        logs,
        partitions,
        _wanted(groups, partitions),
        damage,
        logs.doubt(homes, partitions),
        kept,
        len({row.group for row in rows}),
        results,
        commits,
        _expired(kept, as_of),
    )


def _expired(rows: Sequence[CommittedOffset], as_of: AsOf | None) -> int:
    moment = time.time() * 1000 if as_of is None or as_of.timestamp is None else as_of.timestamp
    return sum(row.expire_timestamp is not None and row.expire_timestamp <= moment for row in rows)


def decode_offset_events(
    paths: Sequence[str],
    groups: Sequence[str] = (),
    topics: str | None = None,
    *,
    partitions: int = PARTITIONS,
    as_of: AsOf | None = None,
) -> tuple[OffsetEvents, OffsetsReading]:
    """Every record of the named files, and the logs they are from; arguments as in ``decode_offsets``.

    Raises:
        UsageError: There is nothing to read, or a pattern is none.
    """
    from kreplica.formats.consumer_offsets.events import OffsetEvents

    patterns = group_patterns(groups)
    topic = topic_pattern(topics) if topics is not None else None
    damage, wanted = DamageTally(), _wanted(groups, partitions)
    logs = _chosen(paths, as_of, damage)
    reading = OffsetsReading(logs, partitions, wanted, damage, "")
    return OffsetEvents(logs.logs, patterns, topic, as_of, damage), reading


def group_patterns(groups: Sequence[str]) -> list[re.Pattern[str]]:
    """The compiled patterns of names of groups.

    Raises:
        UsageError: One is not a regular expression.
    """
    return [_pattern(text) for text in groups]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(
            f"{text!r} is not a regular expression", error.msg, "quote a special character with \\"
        ) from None


def is_wanted(group: str, patterns: Sequence[re.Pattern[str]]) -> bool:
    """True if one of the patterns matches the whole name, or there are no patterns."""
    return not patterns or any(pattern.fullmatch(group) for pattern in patterns)


def _wanted(groups: Sequence[str], partitions: int) -> frozenset[int]:
    """The partitions that the answer needs: all, unless groups are named in full."""
    if groups and all(re.escape(text).replace("\\-", "-") == text for text in groups):
        return frozenset(coordinator_partition(text, partitions) for text in groups)
    return frozenset(range(partitions))


def _chosen(names: Sequence[str], as_of: AsOf | None, damage: DamageTally) -> TopicLogs:
    """The log to read of each partition; adds folders that could not be listed to the damage."""
    logs = find_topic_logs(names, OFFSETS_TOPIC, "offsets", "name a broker's log directory, or segments")
    damage.add(logs.damage)
    if as_of is not None and as_of.offset is not None and len(logs.logs) > 1:
        why = f"offsets of one log say nothing of another, and {len(logs.logs)} are named"
        raise UsageError("--as-of-offset is for one log", why, "name one partition's directory, or use --as-of-time")
    return logs
