"""Consumer groups that no longer commit although the log moved on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.groups.commits import Commits, commits
from kreplica.fleet.windows import DAY_MS
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import GROUPS, PARTITIONS
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted

NAME = "group-stopped"


def _ends(history: ClusterHistory) -> dict[tuple[str, int], dict[int, int]]:
    """High watermarks of partitions by the observation of the sample."""
    samples = history.samples(PARTITIONS)
    columns = [samples.rows[name].to_list() for name in ("topic", "partition", "high_watermark")]
    found: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for row in samples.known("high_watermark").tolist():
        topic, partition, end = (column[row] for column in columns)
        found[str(topic), int(partition)][int(samples.numbers[row])] = int(end)
    return found


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups whose newest commits are those of a sample a day or longer before, although the log moved on since."""
    ends = _ends(history)
    for (group, topic), partitions in commits(history).items():
        newest = max(one.at[-1] for one in partitions.values())
        stopped = {
            partition: since
            for partition, one in partitions.items()
            if one.at[-1] == newest
            and (since := _since(one)) is not None
            and _moved_on(ends[topic, partition], since, newest, one.offsets[-1])
            and history.times[newest] - history.times[since] >= DAY_MS
        }
        if not stopped:
            continue
        first = min(stopped.values())
        lasted = int(history.times[newest] - history.times[first]) // 1000
        yield history.finding(
            Span(-1, first, newest),
            history.groups.tellers,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=f"{group} has not committed for {spell_duration(lasted)} or longer in"
            f" {counted(len(stopped), 'partition')}, although records were written",
            topic=topic,
            group=group,
            evidence={"partitions": sorted(stopped)},
        )


def _since(one: Commits) -> int | None:
    """The first of the newest samples that have one offset; None where the newest one stands alone."""
    same = len(one.offsets)
    while same and one.offsets[same - 1] == one.offsets[-1]:
        same -= 1
    return one.at[same] if same < len(one.offsets) - 1 else None


def _moved_on(ends: dict[int, int], since: int, newest: int, offset: int) -> bool:
    before, now = ends.get(since), ends.get(newest)
    return before is not None and now is not None and now > before and offset < now


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (GROUPS, PARTITIONS),
    "a group committed nothing for a day although records were written: its consumers hang, or are gone",
    "look at its members; records may be deleted by retention before they are read",
    find,
)
