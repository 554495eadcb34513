"""Lives of partitions, topics and brokers in a history: what they were, from when to when, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kreplica.errors import ExitCode, UsageError
from kreplica.history.ingest import time_text
from kreplica.history.lives.broker import broker_rows
from kreplica.history.lives.group_commits import group_rows
from kreplica.history.lives.log_line import LogLine, Moments
from kreplica.history.lives.partition import partition_rows
from kreplica.history.lives.rows import (
    BrokerStretch,
    ClusterPeriod,
    CommittedOffset,
    PartitionStretch,
    Row,
    TopicStretch,
)
from kreplica.history.lives.told_line import Line
from kreplica.history.lives.topic import topic_rows
from kreplica.history.months.log_steps import STEPS, exact_name
from kreplica.history.selection import LOOK, Chosen, HistoryMonth, choose, moment_of, nothing_wanted, storage_of
from kreplica.history.tables import LOG_TABLES, TABLES
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, PARTITIONS, TableSchema
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.store.selection import Wanted, refuse_without_zone
from kreplica.system.stores.locations import Place
from kreplica.system.stores.storage import Storage

_PARTITIONS = next(table for table in TABLES if table.of is PARTITIONS)
_GROUPS = next(table for table in TABLES if table.of is GROUPS)
_EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class LivedCluster:
    """The life of one thing in one cluster.

    Args:
        cluster: The cluster's label.
        name: Its name in the newest snapshot.
        rows: The stretches, in order.
        snapshots: Number of snapshots that were looked at.
        newest_ms: Time of the newest of them, milliseconds since the epoch; where there is none, the end of the logs.
        since_ms: Time of the oldest of them; where there is none, the beginning of the logs.
        notes: Remarks.
    """

    cluster: str
    name: str
    rows: Sequence[Row]
    snapshots: int
    newest_ms: int
    since_ms: int
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lives:
    """The life of one thing, in each cluster that has it.

    Args:
        what: Its name: ``orders``, ``orders-2``, ``broker 3``, or ``clusters``.
        row: Class of the rows.
        clusters: The clusters that have it.
        chosen: The months that were read, and the problems of the others.
    """

    what: str
    row: type[Row]
    clusters: Sequence[LivedCluster]
    chosen: Chosen = field(default_factory=lambda: Chosen((), (), 0, 0))

    @property
    def rows(self) -> list[Row]:
        """The rows of all clusters."""
        return [row for cluster in self.clusters for row in cluster.rows]

    @property
    def exit_code(self) -> ExitCode:
        """5 where a month could not be read."""
        return ExitCode.INCOMPLETE if self.chosen.left_out else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read, and remarks on names."""
        return [*self.chosen.warnings, *(note for cluster in self.clusters for note in cluster.notes)]

    def age_seconds(self, now: datetime | None = None) -> int | None:
        """Age of the newest snapshot; None where there is none."""
        newest = max((one.newest_ms for one in self.clusters), default=None)
        moment = (now or datetime.now(UTC)).timestamp()
        return None if newest is None else round(moment - newest / 1000)


def lives_in(
    history: Place | str | Storage,
    topic: str | None = None,
    partition: int | None = None,
    broker: int | None = None,
    wanted: Wanted = _EVERYTHING,
    *,
    group: str | None = None,
    moment: datetime | None = None,
) -> Lives:
    """The life of a partition, a topic or a broker, what a consumer group had committed, or the clusters of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        topic: The topic. A word that names no topic may be one and a partition: orders-2.
        partition: Its partition; the topic as a whole if None.
        broker: The broker; the clusters if None, and no topic is named.
        wanted: Which clusters, from when to when.
        group: A consumer group in place of these.
        moment: When the group had committed what is told; the newest snapshot if None.

    Raises:
        InputError: There is no history.
        UsageError: Nothing in it has that name; the moment has no zone.
    """
    refuse_without_zone(moment)
    storage = storage_of(history)
    if group is not None:
        return _group_commits(_chosen(storage, wanted, GROUPS), group, moment)
    if topic is not None:
        return _topic_lives(_chosen(storage, wanted, PARTITIONS, logs=True), topic, partition)
    if broker is None:
        chosen = _chosen(storage, wanted, logs=True)
        found = [_lived(name, Line(months), [_period(name, months)]) for name, months in chosen.by_cluster().items()]
        return Lives("clusters", ClusterPeriod, found, chosen)
    chosen = _chosen(storage, wanted, BROKERS, CONFIGS, PARTITIONS, logs=True)
    lines = {name: Line(months) for name, months in chosen.by_cluster().items()}
    lived = [(name, line, broker_rows(line, broker)) for name, line in lines.items()]
    found = [_lived(name, line, rows) for name, line, rows in lived if rows]
    if not found:
        raise UsageError(f"no snapshot that was looked at tells of a broker {broker}", fix=LOOK)
    return Lives(f"broker {broker}", BrokerStretch, found, chosen)


def _chosen(storage: Storage, wanted: Wanted, *schemas: TableSchema, logs: bool = False) -> Chosen:
    exact = [STEPS.name, *(exact_name(table) for table in LOG_TABLES if table.of in schemas)] if logs else []
    chosen = choose(storage, wanted, [*(schema.name for schema in schemas), *exact], logs=logs)
    if not chosen.months:
        chosen.refuse_damaged()
        raise nothing_wanted(storage, wanted)
    return chosen


def _lived(cluster: str, line: Line, rows: Sequence[Row], notes: Sequence[str] = ()) -> LivedCluster:
    name, times = line.months[-1].name, line.times
    borders = times if len(times) else LogLine(line.months).times
    return LivedCluster(cluster, name, rows, len(times), int(borders[-1]), int(borders[0]), notes)


def _period(cluster: str, months: Sequence[HistoryMonth]) -> ClusterPeriod:
    line = Line(months)
    moments = Moments(line)
    times = moments.times
    lengths = [int(times[one.until] - times[one.first]) // 1000 for one in moments.pauses()]
    return ClusterPeriod(
        cluster=cluster,
        name=months[-1].name,
        snapshots=len(line.times),
        valid_from=time_text(int(times[0])),
        last_seen=time_text(int(times[-1])),
        pauses=len(lengths),
        longest_pause_seconds=max(lengths, default=None),
    )


def _topic_lives(chosen: Chosen, topic: str, partition: int | None) -> Lives:
    lines = {cluster: Line(months) for cluster, months in chosen.by_cluster().items()}
    names = {cluster: _topics(line) for cluster, line in lines.items()}
    every = frozenset().union(*names.values())
    note = ""
    if partition is None and "-" in topic:
        base, _, number = topic.rpartition("-")
        is_number = number.isascii() and number.isdigit() and len(number) <= 10
        if is_number and base in every and topic not in every:
            topic, partition = base, int(number)
        elif is_number and base in every:
            note = f"{topic} is a topic; partition {number} of {base} is told by {base} --partition {number}"
    if topic not in every:
        raise UsageError(f"no topic {topic} in the snapshots that were looked at", nearest_or_known(topic, every))
    found = []
    for cluster, line in lines.items():
        if topic in names[cluster]:
            rows = topic_rows(line, topic) if partition is None else partition_rows(line, topic, partition)
            found += [_lived(cluster, line, rows, [note] if note else [])] if rows else []
    what = topic if partition is None else f"{topic}-{partition}"
    if not found:
        raise UsageError(f"no snapshot that was looked at has {what}", fix=LOOK)
    return Lives(what, TopicStretch if partition is None else PartitionStretch, found, chosen)


def _group_commits(chosen: Chosen, group: str, moment: datetime | None) -> Lives:
    by_cluster = chosen.by_cluster()
    told = [(name, months, group_rows(months, group, moment)) for name, months in by_cluster.items()]
    found = [_lived(name, Line(months), rows) for name, months, rows in told if rows]
    if not found:
        first = min(moment_of(int(times[0])) for months in by_cluster.values() if len(times := Line(months).times))
        if moment is not None and moment < first:
            what = f"no snapshot is of {moment.isoformat()} or before"
            raise UsageError(what, f"the first is of {first.isoformat()}", "name that moment or a later one")
        when = "" if moment is None else f" at {moment.isoformat()}"
        names = {word for months in by_cluster.values() for month in months for word in month.words(_GROUPS, "group")}
        if group in names:
            raise UsageError(f"group {group} had committed nothing{when}", "it is seen at other times", LOOK)
        lacking = f"no group {group} in the snapshots that were looked at"
        if not names:
            raise UsageError(
                lacking, "none of them tells consumer groups", "kreplica snapshot --with groups reads them"
            )
        raise UsageError(lacking, nearest_or_known(group, names))
    return Lives(f"group {group}", CommittedOffset, found, chosen)


def _topics(line: Line) -> frozenset[str]:
    found: set[str] = set()
    for month in line.months:
        found.update(month.words(_PARTITIONS, "topic"))
    return frozenset(found)
