"""Rows of lives: stretches of time in which a partition, a topic or a broker was one thing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Struct

from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.history.ingest import time_text
from kreplica.history.lives.stretches import Stretch, StretchKind
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.rows import Int32, Meaning, of_partition
from kreplica.model.tables.schema import BROKERS, PARTITIONS

_KIND = Meaning("state; absent: not there; unknown: no snapshot tells; pause: no snapshot though one was due")
_FROM = Meaning("time of the first snapshot of it", label="FROM")
_LAST_SEEN = Meaning("time of the last snapshot that saw it; null of a pause", drop=2)
_TO = Meaning("time of the first later snapshot that says otherwise; null if none does", label="TO", drop=1)
_SNAPSHOTS = Meaning("snapshots that saw it", drop=4)
_EXACT = Meaning("told by a metadata log: times are those of records, and it held from one to the other", drop=6)


class PartitionStretch(Struct, frozen=True):
    """A stretch of a partition's life."""

    topic: Annotated[str, Meaning("topic name", screen=False)]
    partition: Annotated[Int32, Meaning("partition index", screen=False)]
    kind: Annotated[StretchKind, _KIND]
    valid_from: Annotated[str, _FROM]
    last_seen: Annotated[str | None, _LAST_SEEN]
    valid_to: Annotated[str | None, _TO]
    leader: Annotated[Int32 | None, of_partition("leader")]
    leader_epoch: Annotated[Int32 | None, of_partition("leader_epoch", drop=5)]
    isr: Annotated[Sequence[Int32] | None, of_partition("isr")]
    replicas: Annotated[Sequence[Int32] | None, of_partition("replicas", drop=3)]
    topic_id: Annotated[str | None, Meaning(PARTITIONS.field("topic_id").doc, screen=False)]
    changed: Annotated[str, Meaning("difference from the state before, or what was not told", fold=True)]
    snapshots: Annotated[int, _SNAPSHOTS]
    exact: Annotated[bool, _EXACT]


class BrokerStretch(Struct, frozen=True):
    """A stretch of a broker's life."""

    broker: Annotated[Int32, Meaning("broker id", screen=False)]
    kind: Annotated[StretchKind, Meaning(f"{_KIND.text}; settings: settings of it changed, not before last_seen")]
    valid_from: Annotated[str, _FROM]
    last_seen: Annotated[str | None, _LAST_SEEN]
    valid_to: Annotated[str | None, _TO]
    alive: Annotated[bool | None, Meaning(BROKERS.field("alive").doc)]
    fenced: Annotated[bool | None, Meaning(BROKERS.field("fenced").doc, drop=5)]
    rack: Annotated[str | None, Meaning(BROKERS.field("rack").doc, drop=3)]
    gained: Annotated[int | None, Meaning("partitions whose leader it became meanwhile")]
    lost: Annotated[int | None, Meaning("partitions whose leader it was, and another is since")]
    changed: Annotated[str, Meaning("difference from the state before, or what was not told", fold=True)]
    snapshots: Annotated[int, _SNAPSHOTS]
    exact: Annotated[bool, _EXACT]


class TopicStretch(Struct, frozen=True):
    """A stretch of a topic's life in which none of its partitions changed."""

    topic: Annotated[str, Meaning("topic name", screen=False)]
    kind: Annotated[StretchKind, _KIND]
    valid_from: Annotated[str, _FROM]
    last_seen: Annotated[str | None, _LAST_SEEN]
    valid_to: Annotated[str | None, _TO]
    partitions: Annotated[int | None, Meaning("number of partitions")]
    offline: Annotated[int | None, Meaning("partitions without a leader")]
    under_replicated: Annotated[int | None, Meaning("partitions with replicas that are not in sync")]
    under_min_isr: Annotated[int | None, Meaning("partitions without a leader, or below min.insync.replicas")]
    changed: Annotated[str, Meaning("difference from the stretch before", fold=True)]
    snapshots: Annotated[int, _SNAPSHOTS]


class ClusterPeriod(Struct, frozen=True):
    """A cluster in a history."""

    cluster: Annotated[str, Meaning("cluster id, or the name that ingest was given")]
    name: Annotated[str, Meaning("name of the cluster in its newest snapshot")]
    snapshots: Annotated[int, Meaning("number of snapshots")]
    valid_from: Annotated[
        str, Meaning("time of the oldest one, or from when a metadata log tells", label="FROM", drop=3)
    ]
    last_seen: Annotated[str, Meaning("time of the newest one, or until when a metadata log tells")]
    pauses: Annotated[int, Meaning("times in which no snapshot was taken though one was due, and no log tells", drop=2)]
    longest_pause_seconds: Annotated[int | None, Meaning("length of the longest of them", drop=1, label="LONGEST")]


class CommittedOffset(Struct, frozen=True):
    """The commits of a consumer group in a partition, around a moment."""

    group: Annotated[str, Meaning("consumer group", screen=False)]
    topic: Annotated[str, Meaning("topic name")]
    partition: Annotated[Int32, Meaning("partition index")]
    offset: Annotated[int | None, Meaning("offset in the last sample up to the moment; null if there is none")]
    sampled_at: Annotated[str | None, Meaning("time of that sample, which is of the first snapshot of a day")]
    later_offset: Annotated[int | None, Meaning("offset in the first sample after the moment", drop=2)]
    later_sampled_at: Annotated[str | None, Meaning("time of that sample", drop=2)]
    state: Annotated[str | None, Meaning("state of the group", drop=1)]
    group_type: Annotated[str | None, Meaning("classic, consumer, share or streams", drop=3)]
    seen_at: Annotated[str, Meaning("time of the last snapshot up to the moment that has the row", drop=4)]


Row = PartitionStretch | BrokerStretch | TopicStretch | ClusterPeriod | CommittedOffset
"""A row of an answer."""


@dataclass(frozen=True, slots=True)
class StretchTimes:
    """Times of a stretch, as they stand in rows."""

    valid_from: str
    last_seen: str | None
    valid_to: str | None

    @classmethod
    def of(cls, one: Stretch, times: Integers) -> StretchTimes:
        """The times of a stretch, by the milliseconds of the observations; what a log tells held until it ended."""
        ended = None if one.ended is None else time_text(int(times[one.ended]))
        seen = one.until if one.exact else one.last
        last = None if one.kind is StretchKind.PAUSE else time_text(int(times[seen]))
        return cls(time_text(int(times[one.first])), last, ended)


def changes(one: Stretch) -> str:
    """Difference of a state from the one before, or what was not told."""
    if one.lacking:
        return f"not told: {', '.join(one.lacking)}"
    before = one.before or {}
    told = [(name, told_value(name, before[name]), told_value(name, one.values[name])) for name in one.changed]
    texts = [f"{name} {was} -> {now}" for name, was, now in told if name != "topic_id"]
    again = ["created anew: another topic id"] if "topic_id" in one.changed else []
    return "; ".join([*again, *texts])


def told_value(column: str, value: Hashable) -> str:
    """A value of a state for people: lists by commas, ``none`` for an empty one and for a leader that is not there."""
    if column == "leader" and value == NO_LEADER:
        return "none"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "null" if value is None else str(value)
