"""Consumer groups that no longer commit although the log moved on, whose offsets went back, or that are dead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import DAY_MS
from kreplica.health.rules import Severity
from kreplica.model.durations import spell_duration
from kreplica.model.schema import GROUPS, PARTITIONS
from kreplica.model.words import counted

STOPPED, BACK, DEAD = "group-stopped", "group-offsets-back", "dead-group"
DEAD_MS = 7 * DAY_MS
WITHOUT_MEMBERS = ("Dead", "Empty")


@dataclass(slots=True)
class _Commits:
    """Samples of what a group had committed of one partition, in order: observation and offset."""

    at: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


def _commits(history: ClusterHistory) -> dict[tuple[str, str], dict[int, _Commits]]:
    """Commits by group and topic, and by partition."""
    samples = history.samples(GROUPS)
    rows = samples.known("offset").tolist()
    columns = [samples.rows[name].to_list() for name in ("group", "topic", "partition", "offset")]
    found: dict[tuple[str, str], dict[int, _Commits]] = defaultdict(lambda: defaultdict(_Commits))
    for row in rows:
        group, topic, partition, offset = (column[row] for column in columns)
        one = found[str(group), str(topic)][int(partition)]
        one.at.append(int(samples.numbers[row]))
        one.offsets.append(int(offset))
    return found


def _ends(history: ClusterHistory) -> dict[tuple[str, int], dict[int, int]]:
    """High watermarks of partitions by the observation of the sample."""
    samples = history.samples(PARTITIONS)
    columns = [samples.rows[name].to_list() for name in ("topic", "partition", "high_watermark")]
    found: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for row in samples.known("high_watermark").tolist():
        topic, partition, end = (column[row] for column in columns)
        found[str(topic), int(partition)][int(samples.numbers[row])] = int(end)
    return found


def find_stopped(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups whose newest commits are those of a sample a day or longer before, although the log moved on since."""
    ends = _ends(history)
    for (group, topic), partitions in _commits(history).items():
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
            rule=STOPPED,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=f"{group} has not committed for {spell_duration(lasted)} or longer in"
            f" {counted(len(stopped), 'partition')}, although records were written",
            topic=topic,
            group=group,
            evidence={"partitions": sorted(stopped)},
        )


def _since(one: _Commits) -> int | None:
    """The first of the newest samples that have one offset; None where the newest one stands alone."""
    same = len(one.offsets)
    while same and one.offsets[same - 1] == one.offsets[-1]:
        same -= 1
    return one.at[same] if same < len(one.offsets) - 1 else None


def _moved_on(ends: dict[int, int], since: int, newest: int, offset: int) -> bool:
    before, now = ends.get(since), ends.get(newest)
    return before is not None and now is not None and now > before and offset < now


def find_back(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups whose committed offsets are lower than in the sample before."""
    for (group, topic), partitions in _commits(history).items():
        back: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for partition, one in partitions.items():
            for place in np.flatnonzero(np.diff(one.offsets) < 0).tolist():
                by = one.offsets[place] - one.offsets[place + 1]
                back[one.at[place], one.at[place + 1]].append((partition, by))
        for (before, after), some in sorted(back.items()):
            yield history.finding(
                Span.event(before, after),
                history.groups.tellers,
                rule=BACK,
                severity=Severity.WARNING,
                certainty=Certainty.PROVED,
                message=f"committed offsets of {group} went back in {counted(len(some), 'partition')},"
                f" by {sum(by for _, by in some)} in all",
                topic=topic,
                group=group,
                evidence={"partitions": sorted(partition for partition, _ in some), "by": sum(by for _, by in some)},
            )


def find_dead(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups without members for a week or longer, up to the newest snapshot that tells."""
    table = history.groups
    if not len(table):
        return
    states = table.strings("state")
    codes = [code for code, word in enumerate(states.dictionary) if word in WITHOUT_MEMBERS]
    spans: dict[str, Span] = {}
    for first, last in table.chains(np.isin(states.codes, codes)):
        span = Span(
            table.seen_before(first),
            int(table.runs.first[first]),
            int(table.runs.last[last]),
            int(table.runs.ended[last]),
        )
        group = str(table.strings("group")[last])
        if group not in spans or span.last > spans[group].last:
            spans[group] = span
    for group, span in spans.items():
        lasted = int(history.times[span.last] - history.times[span.first])
        if lasted >= DEAD_MS and span.ended < 0:
            yield history.finding(
                span,
                table.tellers,
                rule=DEAD,
                severity=Severity.INFO,
                certainty=Certainty.PROVED,
                message=f"{group} has had no member for {spell_duration(lasted // 1000)}",
                group=group,
            )


STOPPED_RULE = FleetRule(
    STOPPED,
    Severity.WARNING,
    (GROUPS, PARTITIONS),
    "a group committed nothing for a day although records were written: its consumers hang, or are gone",
    "look at its members; records may be deleted by retention before they are read",
    find_stopped,
)
BACK_RULE = FleetRule(
    BACK,
    Severity.WARNING,
    (GROUPS,),
    "offsets that a group had committed went back: records are read twice",
    "ask who reset them; otherwise look for an unclean election, or for a topic that was created anew",
    find_back,
)
DEAD_RULE = FleetRule(
    DEAD,
    Severity.INFO,
    (GROUPS,),
    "a group has had no member for a week: its offsets are kept, or expire, for nobody",
    "delete it if nobody is to come back: kafka-consumer-groups --delete --group NAME",
    find_dead,
)
