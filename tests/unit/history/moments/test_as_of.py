"""A cluster as it was: what the last snapshots up to a moment told, by the definition, and of the packaged fleet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from histories.folders import FIXED, candidate, moment, values
from histories.observations import HOUR, MARCH, observations, observed
from hypothesis import given
from hypothesis import strategies as st

import kreplica
from kreplica.errors import InputError, UsageError
from kreplica.history.ingest import ingest, stored_snapshots
from kreplica.history.model import Key, Observation
from kreplica.history.moments.as_of import EARLIER
from kreplica.history.reading import History, open_history
from kreplica.history.tables import TABLES
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.reading import list_manifests, read_snapshot_files
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

FLEET = Path(kreplica.__file__).parent / "data/fleet"
ORDERS, OTHERS = ("orders", 0), ("orders", 1)


def history_of(root: Path, some: Sequence[Observation], **facts: Any) -> History:
    ingest([candidate(one, **facts) for one in some], LocalStorage(root))
    return open_history(root)


def rows_of(snapshot: ClusterSnapshot) -> dict[Key, dict[str, object]]:
    """Known values of each partition."""
    found: dict[Key, dict[str, object]] = {}
    for row in snapshot.partitions.rows():
        key = row.pop("topic"), row.pop("partition")
        assert key not in found
        found[key] = {name: value for name, value in row.items() if value is not None}
    return found


def defined(some: Sequence[Observation], until: int) -> dict[Key, dict[str, object]]:
    """By the definition: a whole snapshot tells all, a partial one its own rows; each row is as it was told last."""
    found: dict[Key, Mapping[str, Any]] = {}
    distinct = {(one.digest, one.taken_at): one for one in some}
    for one in sorted(distinct.values(), key=lambda one: one.place):
        if one.taken_at <= until:
            found = {**({} if one.whole else found), **one.rows}
    return {key: {**FIXED, **values(row)} for key, row in found.items()}


@examples(0.3)
@given(observations(), st.integers(-1, 12))
def test_each_row_is_as_the_last_snapshot_told_it(some: list[Observation], hours: int) -> None:
    until = MARCH + hours * HOUR
    with tempfile.TemporaryDirectory() as folder:
        ingest([candidate(one) for one in some], LocalStorage(Path(folder)))
        if not any(one.taken_at <= until for one in some):
            with pytest.raises((UsageError, InputError)):
                open_history(folder).as_of("Zk5", moment(until))
            return
        snapshot = open_history(folder).as_of("Zk5", moment(until))
        assert rows_of(snapshot) == defined(some, until)
        assert snapshot.taken_at == moment(max(one.taken_at for one in some if one.taken_at <= until))


TWO = [
    observed(0, {ORDERS: {"leader": 1}, OTHERS: {"leader": 1}}),
    observed(5, {OTHERS: {"topic_id": 1}}, whole=False),
]
"""The second is of the next month, and partial."""


def test_rows_that_a_partial_snapshot_lacks_are_as_before_and_a_gap_says_so(tmp_path: Path) -> None:
    snapshot = history_of(tmp_path, TWO).as_of()
    assert {key: row.get("leader") for key, row in rows_of(snapshot).items()} == {ORDERS: 7, OTHERS: None}
    assert [gap.kind for gap in snapshot.gaps] == ["torn-read", EARLIER]
    assert "partitions: 1 row as" in snapshot.gaps[1].message
    assert "2026-03-31T20:00" in snapshot.gaps[1].message
    assert snapshot.gaps[1].count == 1


def test_the_age_of_the_last_snapshot_is_told_and_counts_to_the_moment(tmp_path: Path) -> None:
    history = history_of(tmp_path, TWO[:1])
    at = moment(MARCH) + timedelta(minutes=90)
    snapshot = history.as_of("Zk5", at)
    assert snapshot.notes == (
        "the last snapshot before 2026-03-31T21:30:00+00:00 is of 2026-03-31T20:00:00+00:00, 1 h 30 min earlier",
    )
    assert (snapshot.dumped, snapshot.age_seconds(moment(MARCH + 1000 * HOUR))) == (True, 5400)
    newest = history.as_of()
    assert (newest.notes, newest.age_seconds(moment(MARCH + HOUR))) == ((), 3600)


@pytest.mark.parametrize(
    ("cluster", "hours", "reason"),
    [
        (None, 9, "holds 2 clusters"),
        ("prod*", 9, r"holds 2 clusters that fit prod\*; they are prod-eu \(Zk5\), prod-us \(Zk6\); --cluster ID, or"),
        ("Zk7", 9, "holds no cluster Zk7; did you mean Zk"),
        ("else", 9, "holds no cluster else; it has 2 clusters; kreplica history --in .* lists them"),
        ("Zk5", -1, r"19:00:00\+00:00; the first is of 2026-03-31T20:00:00\+00:00; name that moment or a later"),
        ("prod-us", -1, "no snapshot of Zk6 at or before 2026-03-31T19:00"),
    ],
)
def test_one_cluster_and_a_moment_that_it_has(tmp_path: Path, cluster: str | None, hours: int, reason: str) -> None:
    history = history_of(tmp_path, TWO, name="prod-eu")
    ingest([candidate(one, "Zk6", name="prod-us") for one in TWO], LocalStorage(tmp_path))
    with pytest.raises(UsageError, match=reason):
        history.as_of(cluster, moment(MARCH + hours * HOUR))
    assert len(history.as_of("prod-us").partitions) == len(history.as_of("Zk6").partitions) == 2


def test_of_many_clusters_a_few_are_named(tmp_path: Path) -> None:
    for number in range(15):
        ingest([candidate(TWO[0], f"Zk{number:02}", name="prod")], LocalStorage(tmp_path))
    with pytest.raises(UsageError, match=r"holds 15 clusters; they are prod \(Zk00\), .*prod \(Zk11\) and 3 more;"):
        open_history(tmp_path).as_of(None, moment(MARCH + 9 * HOUR))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("manifests/*.json", _cut),
        ("partitions/*.parquet", _cut),
        ("partitions/*.parquet", Path.unlink),
        ("observations/*.parquet", _cut),
        ("observations/*.parquet", Path.unlink),
    ],
)
def test_a_damaged_month_is_never_passed_over(tmp_path: Path, name: str, damage: Callable[[Path], object]) -> None:
    history = history_of(tmp_path, [observed(-100, {ORDERS: {}}), *TWO[:1], observed(5, {ORDERS: {}})])
    for path in tmp_path.glob(f"cluster=Zk5/month=2026-04/{name}"):
        damage(path)
    with pytest.raises(InputError):
        history.as_of()
    assert len(history.as_of("Zk5", moment(MARCH)).partitions) == 2


def test_the_packaged_fleet_as_of_each_snapshot_is_that_snapshot(tmp_path: Path) -> None:
    candidates, problems = stored_snapshots([FLEET])
    assert not problems
    ingest(candidates, LocalStorage(tmp_path))
    history = open_history(tmp_path)
    manifests = list_manifests([FLEET]).manifests
    assert len(manifests) == 12
    for manifest in manifests:
        before = read_snapshot_files(manifest)
        then = history.as_of(before.label, before.taken_at)
        for name in ("cluster_id", "name", "taken_at", "source", "controller_epoch", "features", "gaps", "mode"):
            assert getattr(then, name) == getattr(before, name), name
        for table in TABLES:
            rows = [row | dict.fromkeys(table.measured) for row in before.table(table.of).rows()]
            assert list(then.table(table.of).rows()) == ([] if table.name == "replicas" else rows)


def test_tables_have_times_and_types(tmp_path: Path) -> None:
    history = history_of(tmp_path, [*TWO, observed(6, {OTHERS: {"leader": 0}})])
    arrow = history.table("partitions")
    assert arrow.column_names[:3] == ["cluster", "topic", "partition"]
    assert arrow.column_names[-3:] == ["valid_from", "last_seen", "valid_to"]
    rows = [(row["partition"], row["leader"], row["valid_from"], row["valid_to"]) for row in arrow.to_pylist()]
    first, april, third = (moment(MARCH + hours * HOUR) for hours in (0, 5, 6))
    assert rows == [(0, 7, first, None), (1, 7, first, None), (1, 0, april, None)]
    frame = history.to_pandas("partitions")
    types = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert (types["topic"], types["leader"], types["internal"]) == ("category", "Int32", "boolean")
    assert types["valid_from"] == types["valid_to"] == "datetime64[ms, UTC]"
    assert frame["leader"].tolist() == [7, 7, 0]
    assert frame["valid_to"].isna().all()
    assert frame["last_seen"].tolist() == [first, first, third]
    assert frame["replicas"].tolist() == [[1]] * 3
    assert frame["min_isr"].isna().all()
    observed_frame = history.to_pandas("observations")
    assert observed_frame["taken_at"].tolist() == [first, april, third]
    assert observed_frame["partitions_whole"].tolist() == [True, False, True]
    assert history.table("observations").num_rows == 3


def test_tables_of_some_of_the_time(tmp_path: Path) -> None:
    history = history_of(tmp_path, [observed(hour, {ORDERS: {"leader": hour % 2}}) for hour in range(4)])

    def leaders(since: int, until: int) -> list[object]:
        wanted = Wanted((), moment(MARCH + since * HOUR), moment(MARCH + until * HOUR))
        return history.table("partitions", wanted)["leader"].to_pylist()

    assert leaders(0, 3) == [0, 7, 0, 7]
    assert leaders(1, 2) == [7, 0]
    assert leaders(4, 5) == []
    with pytest.raises(UsageError, match="did you mean partitions"):
        history.table("partition")


def test_a_damaged_month_is_no_table(tmp_path: Path) -> None:
    history = history_of(tmp_path, TWO)
    for path in tmp_path.glob("cluster=Zk5/month=2026-03/partitions/*"):
        path.unlink()
    with pytest.raises(InputError, match="the file is not there"):
        history.to_pandas("partitions")
    assert len(history.to_pandas("observations")) == 2


def test_a_snapshot_for_pandas(snapshot_with) -> None:
    rows = [{"topic": topic, "partition": 0, "replicas": [1, 2], "isr": [1], "leader": 1} for topic in ("a", "b")]
    snapshot = snapshot_with([*rows, {**rows[0], "partition": 1, "leader": None, "elr": [2]}])
    frame = snapshot.to_pandas("partitions")
    assert frame["leader"].tolist()[0] == 1
    assert frame["leader"].isna().tolist() == [False, True, False]
    assert frame["elr"].tolist()[1] == [2]
    assert frame["elr"].tolist()[0] is None
    assert list(frame["topic"].cat.categories) == ["a", "b"]
    assert str(frame["log_start_offset"].dtype) == "Int64"
    assert len(snapshot.to_pandas("groups")) == 0
    with pytest.raises(UsageError, match="no table topics"):
        snapshot.to_pandas("topics")


def test_times_keep_their_zone(tmp_path: Path) -> None:
    history = history_of(tmp_path, TWO[:1])
    berlin = datetime.fromisoformat("2026-03-31T22:00:00+02:00")
    assert history.as_of("Zk5", berlin).taken_at == berlin


def test_a_moment_without_a_zone_is_refused(tmp_path: Path) -> None:
    history = history_of(tmp_path, TWO[:1])
    naive = datetime(2026, 3, 31, 20)  # noqa: DTZ001
    for ask in (
        lambda: history.as_of("Zk5", naive),
        lambda: kreplica.lives_in(tmp_path, group="payments", moment=naive),
        lambda: Wanted(since=naive),
        lambda: Wanted(until=naive),
    ):
        with pytest.raises(UsageError, match="2026-03-31T20:00:00 has no time zone"):
            ask()
