"""Hypothesis strategies for clusters: nulls in every field that may be null, empty lists, odd but possible states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, LOG_DIRS, PARTITIONS
from kreplica.model.tables.table import Table

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BROKER_IDS = range(6)
STRANGER = 9
"""A broker id that no list of brokers ever holds."""

Row = Mapping[str, Any]


def snapshot_of(
    partitions: Iterable[Row], brokers: Iterable[Row] = (), log_dirs: Iterable[Row] = (), **facts: Any
) -> ClusterSnapshot:
    """A snapshot of these rows; facts go to ClusterSnapshot as they are."""
    rows = [{"internal": False, "isr": [], **row} for row in partitions]
    named = {"cluster_id": "cluster-id", "name": "test", "taken_at": NOON, "source": "test"}
    return ClusterSnapshot(
        **{**named, **facts},
        partitions=Table.from_rows(PARTITIONS, rows),
        brokers=Table.from_rows(BROKERS, brokers),
        log_dirs=Table.from_rows(LOG_DIRS, log_dirs),
    )


def partition(topic: str = "orders", number: int = 0, **fields: Any) -> dict[str, Any]:
    """A healthy partition of three replicas, with the given fields in place of its own."""
    healthy = {
        "topic": topic,
        "partition": number,
        "internal": False,
        "leader": 1,
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "adding": [],
        "removing": [],
        "min_isr": 2,
        "unclean_leader_election": False,
    }
    return {**healthy, **fields}


@st.composite
def brokers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """None, some or all of the brokers; racks and states known or not."""
    present = draw(st.lists(st.sampled_from(BROKER_IDS), unique=True))
    racks = draw(st.sampled_from([("a", "b", "c"), ("a", "b", None), ("a",), (None,)]))
    states = draw(st.sampled_from([(True,), (True, False), (True, False, None)]))
    return [
        {
            "broker": broker,
            "rack": draw(st.sampled_from(racks)),
            "alive": draw(st.sampled_from(states)),
            "fenced": draw(st.sampled_from([None, False, False, True])),
        }
        for broker in present
    ]


@st.composite
def assignments(draw: st.DrawFn) -> dict[str, Any]:
    """Replicas, ISR, leader and a reassignment in any phase: none, adding, removing, both, finished meanwhile."""
    replicas = draw(
        st.lists(st.sampled_from(BROKER_IDS), unique=True, min_size=0 if draw(st.booleans()) else 1, max_size=4)
    )
    isr = [broker for broker in replicas if draw(st.sampled_from([True, True, False]))]
    if draw(st.integers(0, 9)) == 0:
        isr.append(draw(st.sampled_from([*BROKER_IDS, STRANGER])))  # ZooKeeper mode: outside the assignment
    inside = st.lists(st.sampled_from(replicas or list(BROKER_IDS)), unique=True, max_size=2)
    outside = st.lists(st.sampled_from([*BROKER_IDS, STRANGER]), unique=True, max_size=1)
    changing = st.one_of(st.just([]), inside, outside, st.none())
    return {
        "replicas": replicas,
        "isr": draw(st.permutations(isr)),
        "leader": draw(st.sampled_from([None, -1, STRANGER, *replicas, *isr])),
        "adding": draw(changing),
        "removing": draw(changing),
        "elr": draw(st.one_of(st.none(), st.just([]), inside)),
        "offline_replicas": draw(st.one_of(st.none(), st.just([]), inside)),
    }


@st.composite
def partitions(draw: st.DrawFn, most: int = 8) -> list[dict[str, Any]]:
    """Rows of the partitions table, sorted as that table sorts them."""
    places = draw(
        st.lists(
            st.tuples(st.sampled_from(["a.b", "orders", "__consumer_offsets"]), st.integers(0, 12)),
            unique=True,
            max_size=most,
        )
    )
    return [
        {
            "topic": topic,
            "partition": number,
            "internal": topic.startswith("__"),
            "min_isr": draw(st.sampled_from([None, 1, 2, 3])),
            "unclean_leader_election": draw(st.sampled_from([None, False, True])),
            "leader_epoch": draw(st.sampled_from([None, 0, 7])),
            **draw(assignments()),
        }
        for topic, number in sorted(places)
    ]


@st.composite
def log_dirs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Log directories, some of them offline."""
    present = draw(st.lists(st.sampled_from(BROKER_IDS), unique=True, max_size=3))
    errors = st.sampled_from([None, "KAFKA_STORAGE_ERROR"])
    return [{"broker": broker, "path": "/data", "error": draw(errors)} for broker in present]


@dataclass(frozen=True)
class Cluster:
    """The rows a snapshot is built of: what a failing test shows."""

    partitions: list[dict[str, Any]]
    brokers: list[dict[str, Any]]
    log_dirs: list[dict[str, Any]]

    def snapshot(self) -> ClusterSnapshot:
        return snapshot_of(self.partitions, self.brokers, self.log_dirs)


def clusters() -> st.SearchStrategy[Cluster]:
    """Whole clusters."""
    return st.builds(Cluster, partitions(), brokers(), log_dirs())


def hidden(count: int) -> Gap:
    """A gap: topics that the credentials may not see."""
    return Gap("hidden-topics", f"{count} topics are hidden [from you]", count)
