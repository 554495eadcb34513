"""Offsets that a consumer group had committed at a moment, between the samples before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kreplica.history.ingest import time_text
from kreplica.history.lives.rows import CommittedOffset
from kreplica.history.moments.as_of import rows_as_of
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.history.tables import OBSERVATION, TABLES
from kreplica.model.tables.schema import GROUPS

_GROUPS = next(table for table in TABLES if table.of is GROUPS)

_Key = tuple[str, int]


@dataclass(slots=True)
class _Samples:
    """The last sample up to a moment and the first one after it: milliseconds and offset, by topic and partition."""

    before: dict[_Key, tuple[int, int]] = field(default_factory=dict)
    after: dict[_Key, tuple[int, int]] = field(default_factory=dict)


def group_rows(months: Sequence[HistoryMonth], group: str, moment: datetime | None) -> list[CommittedOffset]:
    """The commits of a group; none where it had nothing then.

    Args:
        months: Of one cluster, in order, those after the moment as well.
        group: The group.
        moment: The moment; the newest snapshot if None.
    """
    until_ms = _milliseconds(moment, months)
    earlier = [cut for month in reversed(months) if (cut := _up_to(month, until_ms)) is not None]
    samples = _samples(months, group, until_ms)
    found = []
    for topic, partition, state, kind, seen_ms in _there(earlier, group):
        before, after = samples.before.get((topic, partition)), samples.after.get((topic, partition))
        row = CommittedOffset(
            group=group,
            topic=topic,
            partition=partition,
            offset=None if before is None else before[1],
            sampled_at=None if before is None else time_text(before[0]),
            later_offset=None if after is None else after[1],
            later_sampled_at=None if after is None else time_text(after[0]),
            state=state,
            group_type=kind,
            seen_at=time_text(seen_ms),
        )
        found.append(row)
    return sorted(found, key=lambda row: (row.topic, row.partition))


def _milliseconds(moment: datetime | None, months: Sequence[HistoryMonth]) -> int:
    return int(months[-1].times[-1]) if moment is None else int(moment.timestamp() * 1000)


def _up_to(month: HistoryMonth, until_ms: int) -> HistoryMonth | None:
    """The month up to a moment; None where all of it is later."""
    count = sum(1 for one in month.seen if one.taken_ms <= until_ms)
    if not count:
        return None
    return HistoryMonth(month.month, month.manifest, month.seen, range(count), month.since_ms, until_ms)


def _there(months: Sequence[HistoryMonth], group: str) -> Iterator[tuple[str, int, str | None, str | None, int]]:
    rows = rows_as_of(_GROUPS, months, KeyFilter("group", group))
    columns = rows.coder.columns(rows.coded)
    names = ("topic", "partition", "state", "group_type")
    cells = zip(*(columns[name].to_list() for name in names), rows.times.tolist(), strict=True)
    for topic, partition, state, kind, seen_ms in cells:
        yield str(topic), int(partition), state, kind, int(seen_ms)


def _samples(months: Sequence[HistoryMonth], group: str, until_ms: int) -> _Samples:
    found = _Samples()
    for month in months:
        table = month.samples(_GROUPS, KeyFilter("group", group))
        names = ("topic", "partition", "offset", OBSERVATION)
        for topic, partition, offset, number in zip(*(table[name].to_list() for name in names), strict=True):
            if offset is None:
                continue
            key, taken_ms = (str(topic), int(partition)), month.seen[int(number)].taken_ms
            if taken_ms <= until_ms:
                found.before[key] = max(found.before.get(key, (taken_ms, offset)), (taken_ms, offset))
            else:
                found.after[key] = min(found.after.get(key, (taken_ms, offset)), (taken_ms, offset))
    return found
