"""Months chosen from a history: by the names of folders, with what is damaged named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from histories.folders import candidate, defined_runs, moment, plain_run_rows
from histories.observations import HOUR, MARCH, observed

from kreplica.errors import InputError, UsageError
from kreplica.fleet.availability.resilience import resilience_in
from kreplica.fleet.incidents.fleet import incidents_in
from kreplica.history.coding import Coder
from kreplica.history.folding import WHOLE_ROW
from kreplica.history.ingest import ingest
from kreplica.history.lives.reading import lives_in
from kreplica.history.pauses import pauses
from kreplica.history.selection import Chosen, KeyFilter, choose, storage_of
from kreplica.history.tables import TABLES
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

ORDERS, OTHERS = ("orders", 0), ("others", 1)
SOME = [
    observed(0, {ORDERS: {"leader": 1}, OTHERS: {"leader": 2}}),
    observed(2, {ORDERS: {"leader": 2}, OTHERS: {"leader": 2}}),
    observed(5, {ORDERS: {"leader": 2}}),
]
"""Two of March, one of April."""


class WatchedStorage(LocalStorage):
    """Notes which files are read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: list[str] = []

    def read(self, path: str, most: int) -> bytes:
        self.opened.append(path)
        return super().read(path, most)


@pytest.fixture
def history(tmp_path: Path) -> WatchedStorage:
    """Three clusters by two months; the third is called otherwise in April."""
    for cluster, name in (("Zk5", "prod-eu"), ("Zk6", "prod-us"), ("Zk7", "old")):
        ingest([candidate(one, cluster, name=name) for one in SOME[:2]], LocalStorage(tmp_path))
        ingest([candidate(SOME[2], cluster, name=name.replace("old", "new"))], LocalStorage(tmp_path))
    return WatchedStorage(tmp_path)


def told(chosen: Chosen) -> list[tuple[str, str, list[int]]]:
    return [(one.cluster, one.manifest.month, list(one.inside)) for one in chosen.months]


def folders(storage: WatchedStorage) -> set[str]:
    return {path.rsplit("/", 2)[0] for path in storage.opened}


@pytest.mark.parametrize("until", ["2026-03-31T22:00:00.000+00:00", "2026-04-01T00:59:00+01:00"])
def test_only_months_and_clusters_that_are_wanted_are_opened(history: WatchedStorage, until: str) -> None:
    chosen = choose(history, Wanted(("Zk5",), None, datetime.fromisoformat(until)))
    assert told(chosen) == [("Zk5", "2026-03", [0, 1])]
    assert folders(history) == {"cluster=Zk5/month=2026-03"}
    assert (chosen.filtered, chosen.left_out, chosen.problems) == (3, 0, ())


@pytest.mark.parametrize(
    ("patterns", "clusters"),
    [
        (("prod-*",), ["Zk5", "Zk6"]),
        (("Zk5", "new"), ["Zk5", "Zk7"]),
        (("old",), []),
        (("Zk?",), ["Zk5", "Zk6", "Zk7"]),
        (("zk5",), []),
        ((), ["Zk5", "Zk6", "Zk7"]),
    ],
)
def test_clusters_are_told_by_id_or_newest_name(
    history: WatchedStorage, patterns: tuple[str, ...], clusters: Sequence[str]
) -> None:
    chosen = choose(history, Wanted(patterns))
    assert list(chosen.by_cluster()) == clusters
    assert chosen.filtered == 6 - 2 * len(clusters)


def test_the_name_is_the_newest_of_what_is_wanted(history: WatchedStorage) -> None:
    march = choose(history, Wanted(("old",), None, moment(MARCH + 3 * HOUR)))
    assert told(march) == [("Zk7", "2026-03", [0, 1])]
    assert [month.name for month in march.months] == ["old"]


@pytest.mark.parametrize(
    ("since", "until", "inside"),
    [
        (2, 5, [("2026-03", [1]), ("2026-04", [0])]),
        (2.001, 5, [("2026-04", [0])]),
        (0, 1.999, [("2026-03", [0])]),
        (2.5, 4.5, []),
    ],
)
def test_both_ends_of_the_time_are_wanted(
    history: WatchedStorage, since: float, until: float, inside: list[tuple[str, list[int]]]
) -> None:
    wanted = Wanted(("Zk5",), moment(MARCH) + timedelta(hours=since), moment(MARCH) + timedelta(hours=until))
    assert [(month, numbers) for _, month, numbers in told(choose(history, wanted))] == inside


def test_what_is_read_is_the_runs_of_the_definition(history: WatchedStorage) -> None:
    months = choose(history, Wanted(("Zk6",))).months
    every = [row for month in months for row in plain_run_rows(month)]
    assert sorted(every) == defined_runs(SOME)
    some = [row for month in months for row in plain_run_rows(month, KeyFilter("topic", "others"))]
    assert some == [row for row in defined_runs(SOME) if row[0] == OTHERS]
    assert [row for month in months for row in plain_run_rows(month, KeyFilter("partition", 1))] == some
    assert [row for month in months for row in plain_run_rows(month, KeyFilter("topic", "none"))] == []


def test_what_was_not_known_can_be_read_for_some_keys(tmp_path: Path) -> None:
    both = {ORDERS: {"leader": 1, "topic_id": 1}, OTHERS: {"leader": 2, "topic_id": 2}}
    partly = observed(1, {OTHERS: {"leader": 2}, ("third", 0): {"topic_id": 0}}, whole=False)
    some = [observed(0, both), partly, observed(2, both)]
    ingest([candidate(one) for one in some], LocalStorage(tmp_path))
    (month,) = choose(LocalStorage(tmp_path)).months
    coder = Coder(TABLES[0])
    names = [field.name for field in TABLES[0].value_fields]
    for topic, column in (("orders", WHOLE_ROW), ("others", names.index("topic_id"))):
        found = month.exceptions(coder, KeyFilter("topic", topic))
        assert coder.key_columns(found.keys)["topic"].to_list() == [topic]
        assert (found.places.tolist(), found.columns.tolist()) == ([1], [column])
    assert [one.whole for one in month.told(TABLES[0])] == [True, False, True]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"PAR1")


def _newer(path: Path) -> None:
    path.write_text(path.read_text().replace('"schema_version": ', '"schema_version": 9'))


def _other_month(path: Path) -> None:
    path.write_text(path.read_text().replace('"month": "2026-03"', '"month": "2026-02"'))


@pytest.mark.parametrize(
    ("files", "damage", "reason"),
    [
        ("manifests/*.json", _cut, "not a manifest of a history"),
        ("manifests/*.json", _newer, "this kreplica reads up to"),
        ("manifests/*.json", _other_month, "it is of cluster Zk5 and month 2026-02"),
        ("observations/*", _cut, "bytes, found"),
        ("observations/*", Path.unlink, "the file is not there"),
        ("partitions/open-*", Path.unlink, "the file is not there"),
        ("partitions/open-*", _cut, "bytes, found"),
        ("partitions/open-*", _grown, "bytes, found"),
    ],
)
def test_a_damaged_month_is_named_and_left_out(
    history: WatchedStorage, tmp_path: Path, files: str, damage: Callable[[Path], object], reason: str
) -> None:
    (damaged,) = tmp_path.glob(f"cluster=Zk5/month=2026-03/{files}")
    damage(damaged)
    chosen = choose(history, Wanted(("Zk5",)))
    assert told(chosen) == [("Zk5", "2026-04", [0])]
    assert (chosen.left_out, len(chosen.problems)) == (1, 1)
    assert chosen.problems[0].path == str(damaged)
    assert reason in chosen.problems[0].reason


def test_files_of_a_table_that_nobody_asks_for_need_not_be_there(history: WatchedStorage, tmp_path: Path) -> None:
    for path in tmp_path.glob("cluster=Zk5/*/partitions/*"):
        path.unlink()
    assert len(choose(history, Wanted(("Zk5",)), ["brokers"]).months) == 2


def test_a_folder_that_no_ingest_finished_holds_nothing(history: WatchedStorage, tmp_path: Path) -> None:
    (tmp_path / "cluster=Zk8/month=2026-03/partitions").mkdir(parents=True)
    (tmp_path / "cluster=Zk8/month=of-none").mkdir()
    chosen = choose(history)
    assert (len(chosen.months), chosen.problems, chosen.filtered) == (6, (), 1)


@pytest.mark.parametrize("read", [lives_in, incidents_in, resilience_in])
def test_a_history_that_no_ingest_finished_is_told_from_one_without_what_is_wanted(
    tmp_path: Path, read: Callable[..., Any]
) -> None:
    (tmp_path / "cluster=Zk8/month=2026-03/partitions").mkdir(parents=True)
    with pytest.raises(UsageError, match="holds no snapshot; no ingest into it was finished"):
        read(LocalStorage(tmp_path), wanted=Wanted())
    with pytest.raises(UsageError, match="that is wanted"):
        read(LocalStorage(tmp_path), wanted=Wanted(("Zk9",)))


@pytest.mark.parametrize("name", ["nothing", "dumps"])
def test_a_folder_without_a_history_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "dumps/manifests").mkdir(parents=True)
    with pytest.raises(InputError, match="no history is there"):
        storage_of(tmp_path / name)


@pytest.mark.parametrize(
    ("minutes", "found"),
    [
        ([0, 60, 120, 180, 360, 420], []),
        ([0, 60, 120, 180, 361, 421], [(3, 4)]),
        ([0, 60, 60, 120, 120, 420], [(4, 5)]),
        ([0, 600], []),
        ([0], []),
        ([], []),
    ],
)
def test_a_pause_is_longer_than_three_usual_intervals(minutes: list[int], found: list[tuple[int, int]]) -> None:
    assert pauses(np.array(minutes, np.int64) * 60_000) == found


def test_times_are_of_utc(history: WatchedStorage) -> None:
    (month, _) = choose(history, Wanted(("Zk5",))).months
    assert [datetime.fromtimestamp(one / 1000, UTC).hour for one in month.times.tolist()] == [20, 22]


def test_the_end_of_the_metadata_log_is_that_of_its_leader_as_the_quorum_told_it(tmp_path: Path) -> None:
    ends = (None, {1: 40, 2: 37}, {1: 12, 2: 41}, {1: None, 2: 43})
    for hour, told_ends in enumerate(ends):
        rows = [
            {"node": node, "voter": True, "leader": node == (1 if hour % 2 else 2), "log_end_offset": end}
            for node, end in (told_ends or {}).items()
        ]
        one = observed(hour, {ORDERS: {"leader": 1}})
        ingest([candidate(one, "Zk5", quorum=Table.from_rows(QUORUM, rows))], LocalStorage(tmp_path))
    of_a_log = candidate(observed(3.5, {ORDERS: {"leader": 1}}), "Zk5", source="kraft-metadata", metadata_offset=44)
    ingest([of_a_log], LocalStorage(tmp_path))
    (month,) = choose(LocalStorage(tmp_path), Wanted(), ("observations",)).months
    assert [one.row["metadata_offset"] for one in month.seen] == [None, 40, 41, None, 44]
