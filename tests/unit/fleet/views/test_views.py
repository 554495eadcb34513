"""Views of a history: their rows against what each snapshot says by itself, and findings over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from histories.clusters import PlantedCluster, chosen_of, hours
from histories.logs import slice_of
from planted.incidents import start, stop

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.views.broken import BROKEN, KEPT, NOT_KNOWN, findings_in
from kreplica.fleet.views.catalogue import BY_NAME, VIEWS
from kreplica.fleet.views.view import ViewRows
from kreplica.health.rules import Severity
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.history.selection import choose
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage

Row = dict[str, Any]


def lively() -> PlantedCluster:
    """A cluster in which something of every table changes, over the end of a month."""
    cluster = PlantedCluster()
    cluster.set("broker", "0", "num.io.threads", "8", "broker-static")
    for number in range(3):
        cluster.groups["billing", "orders", number] = {"offset": 90, "state": "Stable", "group_type": "classic"}
    for broker in range(3):
        cluster.log_dirs[broker, "/data"] = {"total_bytes": 1000, "usable_bytes": 900 - broker, "error": None}
        cluster.quorum[broker] = {"voter": True, "leader": broker == 0}
    cluster.snapshot(3)
    cluster.add("orders", 3, replicas=[0], isr=[0], min_isr=1)
    cluster.set("topic", "orders", "retention.ms", "1")
    cluster.log_dirs[1, "/data"]["usable_bytes"] = 10
    cluster.snapshot(2)
    stop(cluster, 2)
    for node in (0, 1):
        cluster.quorum[node]["leader"] = node == 1
    cluster.log_dirs[0, "/data"] = {"total_bytes": 2000, "usable_bytes": 900, "error": "KafkaStorageException"}
    cluster.groups["billing", "orders", 1]["state"] = "Empty"
    cluster.snapshot(3)
    start(cluster, 2)
    gone = [cluster.partitions.pop(("audit", number)) for number in range(2)]
    del cluster.partitions["orders", 3]
    cluster.set("topic", "orders", "retention.ms", None)
    cluster.snapshot(2)
    for number, row in enumerate(gone):
        cluster.partitions["audit", number] = {**row, "replicas": [0, 1], "isr": [0, 1], "topic_id": "anew"}
    cluster.snapshot(30)
    return cluster


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[ClusterHistory, list[ClusterSnapshot]]:
    cluster = lively()
    chosen = chosen_of(tmp_path_factory.mktemp("views"), [cluster])
    return ClusterHistory(chosen.months), cluster.taken


def table(name: str) -> Callable[[ClusterSnapshot], Iterator[Row]]:
    return lambda snapshot: iter(getattr(snapshot, name).rows())


def topics(snapshot: ClusterSnapshot) -> Iterator[Row]:
    parts = defaultdict(list)
    for row in snapshot.partitions.rows():
        parts[row["topic"]].append(row)
    for topic, rows in parts.items():
        sizes = [len(row["replicas"]) for row in rows]  # type: ignore[arg-type]
        told = {"topic": topic, "partitions": len(rows), "replicas_least": min(sizes), "replicas_most": max(sizes)}
        yield {**told, "min_isr_least": min(int(str(row["min_isr"])) for row in rows)}


STATES = {"topics": topics, **{name: table(name) for name in ("brokers", "log_dirs", "configs", "groups", "quorum")}}


def test_every_view_is_of_states_or_of_samples() -> None:
    assert sorted(BY_NAME) == sorted([*STATES, "disks", "offsets"])
    assert [view.name for view in VIEWS if view.sampled] == ["disks", "offsets"]


@pytest.mark.parametrize("name", STATES)
def test_rows_of_states_are_what_each_snapshot_says(name: str, history: Any) -> None:
    told, snapshots = history
    view = BY_NAME[name]
    rows = view.read(told)
    names = list(view.columns)
    for number, snapshot in enumerate(snapshots):
        shown = (rows.first <= number) & ((rows.ended < 0) | (rows.ended > number))
        found = {tuple(map(str, (rows.columns[one][row] for one in names))) for row in np.flatnonzero(shown).tolist()}
        assert found == {tuple(str(row[one]) for one in names) for row in STATES[name](snapshot)}
        assert (rows.last[shown] >= number).all()
    assert len(rows) > len(STATES_AT_ONCE[name](snapshots[0])), "something changed"


STATES_AT_ONCE = {name: lambda snapshot, of=of: list(of(snapshot)) for name, of in STATES.items()}


@pytest.mark.parametrize(("name", "every"), [("disks", 1), ("offsets", 24)])
def test_rows_of_samples_are_what_the_sampled_snapshots_say(name: str, every: int, history: Any) -> None:
    told, snapshots = history
    rows = BY_NAME[name].read(told)
    assert len(np.unique(rows.first)) >= len(snapshots) // every
    for row in range(len(rows)):
        snapshot = snapshots[int(rows.first[row])]
        values = {one: column[row] for one, column in rows.columns.items()}
        if name == "disks":
            (own,) = [one for one in snapshot.log_dirs.rows() if one["broker"] == values["broker"]]
            assert values == {one: own[one] for one in values}
        else:
            (own,) = [one for one in snapshot.groups.rows() if one["partition"] == values["partition"]]
            (log,) = [
                one
                for one in snapshot.partitions.rows()
                if (one["topic"], one["partition"]) == ("orders", own["partition"])
            ]
            ends = {one: log[one] for one in ("log_start_offset", "high_watermark")}
            about = {one: own[one] for one in ("group", "topic", "partition", "offset")}
            assert values == {**about, **ends, "lag": 10}


def found_by(history: ClusterHistory, view: str, verdict: Callable[[Row], bool | None]) -> list[FleetFinding]:
    rows = BY_NAME[view].read(history)
    answers = [verdict({one: column[row] for one, column in rows.columns.items()}) for row in range(len(rows))]
    codes = np.array([NOT_KNOWN if one is None else BROKEN if one else KEPT for one in answers], np.int8)
    return list(findings_in(history, rows, codes, "mine", Severity.WARNING, lambda values: str(sorted(values))))


def test_findings_over_views_have_their_times_and_what_they_are_about(history: Any) -> None:
    told, _ = history
    (low,) = found_by(told, "disks", lambda row: row["usable_bytes"] < 100)
    assert (low.broker, hours(low), low.in_newest) == (1, (2, 3, 39, None), True)
    assert low.evidence == {"path": "/data", "usable_bytes": 10, "total_bytes": 1000}
    (error,) = found_by(told, "log_dirs", lambda row: row["error"] is not None)
    assert (error.broker, hours(error)) == (0, (4, 5, 39, None))
    (setting,) = found_by(told, "configs", lambda row: row["name"] == "retention.ms")
    assert (hours(setting), setting.evidence["setting"], setting.in_newest) == ((2, 3, 7, 8), "retention.ms", False)
    (wide,) = found_by(told, "topics", lambda row: row["partitions"] > 3)
    assert (wide.topic, hours(wide)) == ("orders", (2, 3, 7, 8))
    (narrow,) = found_by(told, "topics", lambda row: row["topic"] == "audit" and row["replicas_most"] < 3)
    assert hours(narrow) == (9, 10, 39, None)
    (empty,) = found_by(told, "groups", lambda row: row["state"] == "Empty")
    assert (empty.group, empty.topic, empty.partition, hours(empty)) == ("billing", "orders", 1, (4, 5, 39, None))


def test_what_is_not_known_neither_begins_nor_ends_a_finding() -> None:
    """Rows of one thing at hours 0 to 5, each of which ends the one before it."""
    first = np.arange(6)
    ended = np.append(first[1:], -1)
    none = np.full(6, -1)
    rows = ViewRows({}, np.zeros(6, np.int64), first, first, ended, none, first)
    history = _Times()
    for verdicts, expected in (
        ([0, -1, 1, -1, 1, 0], [(-1, 2, 4, 5)]),
        ([0, 1, -1, -1, -1, -1], [(0, 1, 1, -1)]),
        ([1, 0, 1, 1, 0, 0], [(-1, 0, 0, 1), (1, 2, 3, 4)]),
        ([-1, 0, 0, -1, 0, -1], []),
    ):
        codes = np.array(verdicts, np.int8)
        list(findings_in(history, rows, codes, "mine", Severity.INFO, str))  # type: ignore[arg-type]
        assert history.spans == expected
        history.spans.clear()


class _Times:
    def __init__(self) -> None:
        self.spans: list[tuple[int, int, int, int]] = []

    def finding(self, span: Any, *_: Any, **__: Any) -> None:
        self.spans.append((span.before, span.first, span.last, span.ended))


def test_where_a_metadata_log_tells_findings_are_exact(tmp_path: Path) -> None:
    cluster = lively()
    storage = LocalStorage(tmp_path)
    ingest([Candidate("c1", "prod", Incoming.of_log(slice_of(cluster.taken)))], storage)
    told = ClusterHistory(choose(storage, logs=True).months)
    (wide,) = found_by(told, "topics", lambda row: row["partitions"] > 3)
    assert (hours(wide), wide.exact) == ((3, 3, 8, 8), True)
    (away,) = found_by(told, "brokers", lambda row: row["alive"] is False)
    assert (away.broker, hours(away), away.exact) == (2, (5, 5, 8, 8), True)
    assert [len(view.read(told)) for view in VIEWS if view.sampled] == [0, 0]
