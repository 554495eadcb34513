"""kreplica history --consumer-group: what a group had committed, between the samples around a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import snapshot_of

from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import GROUPS
from kreplica.model.tables.table import Table
from kreplica.system.stores.storage import LocalStorage

BEGIN = datetime(2026, 3, 30, tzinfo=UTC)
"""The month ends two days later."""


def taken(hours: float, offsets: Mapping[tuple[str, int], int | None], group: str = "payments") -> ClusterSnapshot:
    state = {"state": "Stable", "group_type": "classic"}
    rows = [
        {"group": name, "topic": topic, "partition": number, "offset": offset, **state}
        for name in (group, "other")
        for (topic, number), offset in offsets.items()
    ]
    moment = BEGIN + timedelta(hours=hours)
    groups = Table.from_rows(GROUPS, rows)
    return snapshot_of([], [], taken_at=moment, source="kafka", name="prod", groups=groups)


def keep(root: Path, cluster: str, some: Sequence[ClusterSnapshot]) -> None:
    candidates = []
    for one in some:
        digest = f"{cluster} {one.taken_at}"
        incoming = Incoming(round(one.taken_at.timestamp() * 1000), digest, lambda one=one: one, digest)  # type: ignore[misc]
        candidates.append(Candidate(cluster, one.name, incoming))
    ingest(candidates, LocalStorage(root))


def at(hours: float) -> str:
    return (BEGIN + timedelta(hours=hours)).isoformat()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Commits of three days over a month's end; a partition comes on the second day, another goes on the third."""
    orders, late, gone = ("orders", 0), ("orders", 1), ("old", 0)
    some = [
        taken(1, {orders: 100, gone: 5}),
        taken(9, {orders: 150, gone: 5}),
        taken(25, {orders: 200, gone: 5}),
        taken(33, {orders: 220, late: 7, gone: 5}),
        taken(49, {orders: 300, late: 70}),
        taken(57, {orders: 310, late: 71}),
    ]
    keep(tmp_path / "kept", "Zk5", some)
    return tmp_path / "kept"


COLUMNS = ("topic", "partition", "offset", "sampled_at", "later_offset", "later_sampled_at", "seen_at")


def told(kreplica: Any, kept: Path, *words: str) -> list[tuple[Any, ...]]:
    ended = kreplica("history", "--in", str(kept), "--consumer-group", "payments", *words, "-o", "json")
    assert ended.code == 0, ended.err
    assert {row["group"] for row in ended.document["committed_offsets"]} == {"payments"}
    return [tuple(row[name] for name in COLUMNS) for row in ended.document["committed_offsets"]]


def test_a_moment_lies_between_the_samples_of_two_days(kreplica: Any, kept: Path) -> None:
    assert told(kreplica, kept, "--as-of", at(12)) == [
        ("old", 0, 5, at(1), 5, at(25), at(9)),
        ("orders", 0, 100, at(1), 200, at(25), at(9)),
    ]


def test_a_partition_that_came_after_the_samples_of_its_day_is_there_without_an_offset(
    kreplica: Any, kept: Path
) -> None:
    assert told(kreplica, kept, "--as-of", at(40)) == [
        ("old", 0, 5, at(25), None, None, at(33)),
        ("orders", 0, 200, at(25), 300, at(49), at(33)),
        ("orders", 1, None, None, 70, at(49), at(33)),
    ]


def test_without_a_moment_it_is_that_of_the_newest_snapshot(kreplica: Any, kept: Path) -> None:
    newest = [("orders", 0, 300, at(49), None, None, at(57)), ("orders", 1, 70, at(49), None, None, at(57))]
    assert told(kreplica, kept) == newest == told(kreplica, kept, "--as-of", at(1000))


def test_the_moment_of_a_sample_counts_it(kreplica: Any, kept: Path) -> None:
    assert [row[2:4] for row in told(kreplica, kept, "--as-of", at(25))] == [(5, at(25)), (200, at(25))]
    before = BEGIN + timedelta(hours=25) - timedelta(milliseconds=1)
    assert [row[2:4] for row in told(kreplica, kept, "--as-of", before.isoformat())] == [(5, at(1)), (100, at(1))]


def test_the_same_group_in_two_clusters(kreplica: Any, kept: Path) -> None:
    keep(kept, "Other", [taken(2, {("orders", 0): 1})])
    words = ("history", "--in", str(kept), "--group", "payments", "--as-of", at(2), "-o", "json")
    rows = kreplica(*words).document["committed_offsets"]
    assert [(row["cluster"], row["topic"], row["offset"]) for row in rows] == [
        ("Other", "orders", 1),
        ("Zk5", "old", 5),
        ("Zk5", "orders", 100),
    ]
    assert len(kreplica(*words, "--cluster", "Other").document["committed_offsets"]) == 1


def test_before_its_first_commit_a_group_had_committed_nothing(kreplica: Any, kept: Path) -> None:
    keep(kept, "Other", [taken(30, {("orders", 0): 1}, group="late")])
    ended = kreplica("history", "--in", str(kept), "--group", "late", "--as-of", at(2))
    assert (ended.code, ended.out) == (2, "")
    assert f"group late had committed nothing at {at(2)}; it is seen at other times" in ended.err


def test_the_screen_says_how_many(kreplica: Any, kept: Path) -> None:
    ended = kreplica("history", "--in", str(kept), "--group", "payments", "--as-of", at(12))
    lines = ended.out.splitlines()
    assert lines[0] == "OK group payments: committed offsets of 2 partitions"
    assert lines[2].split()[:4] == ["TOPIC", "PARTITION", "OFFSET", "SAMPLED_AT"]
    assert lines[4].split()[:5] == ["orders", "0", "100", "2026-03-30", "01:00:00"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "paymens"], "no group paymens in the snapshots that were looked at; did you mean payments?"),
        (["--group", "payments", "--as-of", "2026-03-01"], f"00:00:00+00:00 or before; the first is of {at(1)}"),
        (["--group", "payments", "orders"], "a consumer group is asked for alone, at one moment"),
        (["--group", "payments", "--since", "7d"], "a consumer group is asked for alone, at one moment"),
        (["--as-of", "7d"], "--as-of is of a consumer group here; none is named"),
        (["--group", "payments", "--as-of", "noon"], "--as-of noon is no moment"),
    ],
)
def test_what_cannot_be_answered_is_one_line(kreplica: Any, kept: Path, words: list[str], said: str) -> None:
    ended = kreplica("history", "--in", str(kept), *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
