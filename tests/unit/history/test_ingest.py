"""A history on disk: the definition's runs, the same bytes in any order, and nothing lost or doubled by a stop."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from examples import examples
from histories.folders import (
    StoppedError,
    StoppingStorage,
    candidate,
    contents,
    defined_runs,
    moment,
    newest_files,
    stored_runs,
)
from histories.observations import HOUR, MARCH, observations, observed
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.history.ingest import Candidate, Ingested, ingest, stored_snapshots
from kreplica.history.model import Observation
from kreplica.history.months import manifest as manifests
from kreplica.history.months import month as months
from kreplica.history.months.files import table_of_runs
from kreplica.history.months.month import Month
from kreplica.history.months.observations import digest_of
from kreplica.store.reading import list_manifests
from kreplica.store.writing import write_snapshot
from kreplica.system.stores.storage import LocalStorage

ORDERS, OTHERS = ("orders", 0), ("orders", 1)
TODAY = [
    observed(0, {ORDERS: {"leader": 1}, OTHERS: {"leader": 2}}),
    observed(1, {ORDERS: {"leader": 2}}, whole=False),
    observed(2, {ORDERS: {"leader": 2}, OTHERS: {"leader": 2, "topic_id": 1}}),
]


def taken_in(root: Path, some: Sequence[Observation], *, compact: bool = False) -> Ingested:
    return ingest([candidate(one) for one in some], LocalStorage(root), compact=compact)


def batches_of(data: st.DataObject, some: Sequence[Observation]) -> list[list[Observation]]:
    """The observations in some order, some of them twice, cut into batches."""
    again = data.draw(st.permutations([*some, *some[:2]]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(again)), max_size=3)))
    return [list(again[begin:end]) for begin, end in zip([0, *cuts], [*cuts, len(again)], strict=True)]


@examples(0.2)
@given(observations(), st.data())
def test_any_order_and_any_batches_give_the_definition_and_the_same_bytes(
    some: list[Observation], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        once, bit_by_bit = Path(folder, "once"), Path(folder, "bit by bit")
        taken_in(once, some)
        for batch in batches_of(data, some):
            taken_in(bit_by_bit, batch)
        assert stored_runs(bit_by_bit) == stored_runs(once) == defined_runs(some)
        assert taken_in(bit_by_bit, some, compact=True).total("added") == 0
        assert contents(bit_by_bit) == contents(once)


def one_by_one(storage: StoppingStorage, begun: list[Observation]) -> None:
    for one in TODAY:
        begun.append(one)
        ingest([candidate(one)], storage)


@pytest.mark.one_python
@pytest.mark.parametrize("after", [False, True])
def test_a_stop_at_any_change_loses_and_doubles_nothing(tmp_path: Path, after: bool) -> None:
    undisturbed = tmp_path / "undisturbed"
    for one in TODAY:
        taken_in(undisturbed, [one])
    counted = StoppingStorage(tmp_path / "counted")
    for one in TODAY[:2]:
        ingest([candidate(one)], counted)
    before = counted.changes
    ingest([candidate(TODAY[2])], counted)
    assert counted.changes - before >= 4
    for fatal in range(counted.changes):
        root = tmp_path / f"stopped {fatal}"
        storage = StoppingStorage(root, fatal, after=after)
        done: list[Observation] = []
        with pytest.raises(StoppedError):
            one_by_one(storage, done)
        assert stored_runs(root) in (defined_runs(done[:-1]), defined_runs(done))
        for one in TODAY:
            taken_in(root, [one])
        assert contents(root) == contents(undisturbed)


def join_and_clear(storage: StoppingStorage) -> None:
    month = Month(storage, "Zk5", "2026-03")
    month.compact()
    month.clear_up(-1)


@pytest.mark.one_python
def test_a_stop_while_pieces_are_joined_or_cleared_up_loses_nothing(tmp_path: Path) -> None:
    some = [observed(hour / 2, {ORDERS: {"leader": hour % 2}}) for hour in range(4)]
    whole, counted = tmp_path / "whole", StoppingStorage(tmp_path / "counted")
    taken_in(whole, some)
    for one in some:
        taken_in(tmp_path / "counted", [one])
    join_and_clear(counted)
    assert contents(tmp_path / "counted") == contents(whole)
    assert counted.changes > 8
    folders = [path.parent.name for path in (tmp_path / "counted").rglob("*.*")]
    assert sorted(folders) == ["manifests", "observations", "partitions", "partitions"]
    for fatal in range(counted.changes):
        root = tmp_path / str(fatal)
        for one in some:
            taken_in(root, [one])
        with pytest.raises(StoppedError):
            join_and_clear(StoppingStorage(root, fatal))
        assert stored_runs(root) == defined_runs(some)
        join_and_clear(StoppingStorage(root))
        assert contents(root) == contents(whole)


def test_of_two_at_once_the_second_begins_anew(tmp_path: Path) -> None:
    taken_in(tmp_path, TODAY[:1])

    class Overtaken(LocalStorage):
        overtaken = False

        def create(self, path: str, content: bytes) -> bool:
            if "manifests" in path and not self.overtaken:
                self.overtaken = True
                taken_in(tmp_path, TODAY[1:2])
            return super().create(path, content)

    storage = Overtaken(tmp_path)
    assert ingest([candidate(TODAY[2])], storage).total("added") == 1
    assert storage.overtaken
    assert stored_runs(tmp_path) == defined_runs(TODAY)


def test_of_two_with_the_same_snapshots_the_first_has_added_them(tmp_path: Path) -> None:
    class Overtaken(LocalStorage):
        def create(self, path: str, content: bytes) -> bool:
            if "manifests" in path:
                taken_in(tmp_path, TODAY)
            return super().create(path, content)

    found = ingest([candidate(one) for one in TODAY], Overtaken(tmp_path))
    assert (found.total("added"), found.total("known")) == (0, 3)
    assert [path.name for path in tmp_path.rglob("manifests/*")] == ["00000001.json"]


def test_others_that_never_stop_are_given_up(tmp_path: Path) -> None:
    class Crowded(LocalStorage):
        def create(self, path: str, content: bytes) -> bool:
            return "manifests" not in path and super().create(path, content)

    with pytest.raises(UsageError, match="others added to it 100 times"):
        ingest([candidate(TODAY[0])], Crowded(tmp_path))


def test_files_that_nobody_names_stay_for_a_day(tmp_path: Path) -> None:
    for one in TODAY:
        taken_in(tmp_path, [one])
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    counting = {tmp_path / name for name in contents(tmp_path)}
    unnamed = sorted(path for path in files - counting if path.parent.name != "manifests")
    assert len(unnamed) >= 3
    os.utime(unnamed[0], (MARCH / 1000, MARCH / 1000))
    taken_in(tmp_path, [observed(3, {})])
    assert [path for path in unnamed if not path.exists()] == unnamed[:1]


def test_a_file_that_is_written_again_is_young_again(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    months.put(storage, "a/b", b"1")
    os.utime(tmp_path / "a/b", (MARCH / 1000, MARCH / 1000))
    assert (storage.age("a/b") or 0) > 86_400
    months.put(storage, "a/b", b"1")
    assert (storage.age("a/b") or 0) < 86_400
    storage.remove("a/b")
    storage.remove("a/b")
    assert storage.age("a/b") is None
    assert not storage.renew("a/b")
    assert storage.names("a") == []


def test_pieces_are_joined_once_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "MOST_PIECES", 2)
    some = [observed(hour / 2, {ORDERS: {"leader": hour % 2}}) for hour in range(6)]
    pieces = []
    for one in some:
        taken_in(tmp_path, [one])
        pieces.append(len(newest_files(tmp_path).get("partitions closed", [])))
    assert pieces == [0, 1, 2, 1, 2, 1]
    assert stored_runs(tmp_path) == defined_runs(some)


@pytest.mark.parametrize("whole", [True, False])
def test_a_snapshot_that_tells_nothing_new_writes_its_observation_alone(tmp_path: Path, whole: bool) -> None:
    some = [observed(number / 10, {ORDERS: {"leader": 1}, OTHERS: {}}, whole=whole) for number in range(3)]
    taken_in(tmp_path, some[:2])
    before = {path for path in tmp_path.rglob("*.parquet") if path.parent.name != "observations"}
    taken_in(tmp_path, some[2:])
    assert {path for path in tmp_path.rglob("*.parquet") if path.parent.name != "observations"} == before
    assert stored_runs(tmp_path) == defined_runs(some)
    taken_in(tmp_path, [observed(0.5, {ORDERS: {"leader": 1}}, whole=False)])
    assert {path for path in tmp_path.rglob("open-*") if path not in before}


@pytest.mark.parametrize("more", [[], TODAY[2:], TODAY[:1]], ids=["nothing", "a later one", "an earlier one"])
def test_a_month_of_the_version_before_is_read_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[Observation]
) -> None:
    """Version 1 named the newest observation in each run that it had seen."""
    some = [one for one in TODAY if one not in more][:2]
    with monkeypatch.context() as patch:
        patch.setattr(months, "table_of_runs", lambda *arguments: table_of_runs(*arguments[:-1], -2))
        patch.setattr(manifests, "SCHEMA_VERSION", 1)
        taken_in(tmp_path / "old", some)
    assert stored_runs(tmp_path / "old") == defined_runs(some)
    (manifest,) = (tmp_path / "old").rglob("manifests/*")
    assert json.loads(manifest.read_bytes())["schema_version"] == 1
    taken_in(tmp_path / "new", [*some, *more])
    taken_in(tmp_path / "old", more)
    assert stored_runs(tmp_path / "old") == defined_runs([*some, *more])
    taken_in(tmp_path / "old", some, compact=True)
    assert contents(tmp_path / "old") == contents(tmp_path / "new")


def test_snapshots_older_than_what_is_kept_are_refused_and_months_dropped(tmp_path: Path) -> None:
    april = observed(5, {ORDERS: {"leader": 1}})
    taken_in(tmp_path, [*TODAY, april])
    day = timedelta(days=1)
    some = [candidate(one) for one in (*TODAY, april)]
    found = ingest(some, LocalStorage(tmp_path), keep=day, now=moment(MARCH + HOUR) + day)
    assert (found.rows[0].refused, found.rows[0].known, found.dropped) == (1, 3, 0)
    later = ingest(some, LocalStorage(tmp_path), keep=day, now=moment(MARCH + 5 * HOUR) + day)
    assert (later.rows[0].refused, later.rows[0].known, later.dropped) == (3, 1, 1)
    assert stored_runs(tmp_path) == defined_runs([april])
    assert later.exit_code is ExitCode.OK


def test_a_stop_while_a_month_is_dropped_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    april, now = observed(5, {ORDERS: {"leader": 1}}), moment(MARCH + 5 * HOUR)
    for fatal in range(8):
        root = tmp_path / str(fatal)
        for one in (*TODAY, april):
            taken_in(root, [one])
        with pytest.raises(StoppedError):
            ingest([], StoppingStorage(root, fatal, after=True), keep=timedelta(0), now=now)
        assert stored_runs(root) == defined_runs([*TODAY, april] if fatal < 2 else [april])
        assert ingest([], LocalStorage(root), keep=timedelta(0), now=now).dropped == (fatal < 2)
        assert taken_in(root, TODAY).total("added") == 3


def test_a_snapshot_without_an_id_is_of_no_cluster(tmp_path: Path) -> None:
    found = ingest([candidate(TODAY[0]), candidate(TODAY[1], cluster=None)], LocalStorage(tmp_path))
    assert (found.nameless, found.total("added"), found.exit_code) == (1, 1, ExitCode.INCOMPLETE)
    assert "--cluster NAME" in found.warnings[0]


def _unreadable() -> object:
    raise InputError("orders.parquet", "", "it was cut")


def test_a_damaged_snapshot_is_named_and_the_others_are_taken_in(tmp_path: Path) -> None:
    some = [candidate(one) for one in TODAY]
    torn = months.replace(some[1].snapshot, read=_unreadable)
    found = ingest([some[0], Candidate("Zk5", "prod", torn), some[2]], LocalStorage(tmp_path))
    assert (found.rows[0].added, found.rows[0].damaged, found.exit_code) == (2, 1, ExitCode.INCOMPLETE)
    assert found.warnings == [f"{torn.name}: cannot read orders.parquet; it was cut"]
    assert stored_runs(tmp_path) == defined_runs([TODAY[0], TODAY[2]])
    only = ingest([Candidate("Zk6", "prod", torn)], LocalStorage(tmp_path))
    assert (only.rows[0].added, only.rows[0].damaged) == (0, 1)
    assert not list(tmp_path.glob("cluster=Zk6/*/manifests/*"))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _other_schema(path: Path) -> None:
    path.write_text(path.read_text().replace("kreplica/history/v1", "kreplica/plan/v1"))


def _newer(path: Path) -> None:
    path.write_text(path.read_text().replace('"schema_version": 2', '"schema_version": 3'))


def _outside(path: Path) -> None:
    path.write_text(path.read_text().replace("/partitions/", "/../partitions/"))


def _other_cluster(path: Path) -> None:
    path.write_text(path.read_text().replace('"cluster": "Zk5"', '"cluster": "Zk6"'))


def _no_observations(path: Path) -> None:
    document = json.loads(path.read_text())
    document["files"] = [file for file in document["files"] if file["table"] != "observations"]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("files", "damage", "reason"),
    [
        ("manifests/*.json", _cut, "not a manifest of a history"),
        ("manifests/*.json", _other_schema, "expected the schema kreplica/history/v1"),
        ("manifests/*.json", _newer, "schema version 3, this kreplica reads up to 2"),
        ("manifests/*.json", _outside, "is not one of this month"),
        ("manifests/*.json", _other_cluster, "it is of cluster Zk6"),
        ("manifests/*.json", _no_observations, "does not name one file of observations"),
        ("partitions/open-*", _cut, "bytes, found"),
        ("partitions/open-*", Path.unlink, "no such file"),
        ("observations/*", Path.unlink, "no such file"),
    ],
)
def test_a_damaged_month_stops_no_other_cluster(
    tmp_path: Path, files: str, damage: Callable[[Path], object], reason: str
) -> None:
    taken_in(tmp_path, TODAY[:1])
    (damaged,) = tmp_path.glob(f"cluster=Zk5/*/{files}")
    damage(damaged)
    found = ingest([candidate(TODAY[1]), candidate(TODAY[1], cluster="Zk6")], LocalStorage(tmp_path))
    assert [(row.cluster, row.added, row.left_out) for row in found.rows] == [("Zk5", 0, 1), ("Zk6", 1, 0)]
    assert (found.total("damaged"), found.faults, found.exit_code) == (0, 1, ExitCode.INCOMPLETE)
    assert reason in found.warnings[0]
    assert str(tmp_path) in found.warnings[0]
    several = ingest([candidate(one) for one in TODAY], LocalStorage(tmp_path))
    assert (several.rows[0].left_out, several.rows[0].damaged) == (len(TODAY), 0)
    (line,) = several.warnings
    assert f" and {len(TODAY) - 1} more snapshots not added: " in line
    assert reason in line


def test_what_was_added_is_counted_where_the_pieces_cannot_be_joined(tmp_path: Path) -> None:
    taken_in(tmp_path, TODAY[:2])
    (closed,) = tmp_path.glob("cluster=Zk5/*/partitions/closed-*")
    _cut(closed)
    last = candidate(observed(3, {ORDERS: {"leader": 1}, OTHERS: {"leader": 1}}))
    found = ingest([last], LocalStorage(tmp_path), compact=True)
    assert (found.total("added"), found.total("left_out"), found.total("damaged"), found.faults) == (1, 0, 0, 1)
    assert found.exit_code == ExitCode.INCOMPLETE
    assert found.warnings[0].startswith(f"cannot read {closed}; expected ")
    again = ingest([last], LocalStorage(tmp_path))
    assert (again.total("known"), again.faults) == (1, 0)


def test_a_history_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="cannot write to the history"):
        taken_in(file, TODAY)


def test_stored_snapshots_are_told_apart_by_their_manifests_alone(tmp_path: Path, snapshot_with) -> None:
    dumps, history = tmp_path / "dumps", LocalStorage(tmp_path / "history")
    for leader in (1, 2):
        rows = [{"topic": "orders", "partition": 0, "replicas": [1], "leader": leader}]
        write_snapshot(snapshot_with(rows, source="kafka"), dumps)
    write_snapshot(snapshot_with([], cluster_id=None, name="prod"), dumps)
    assert len({digest_of(manifest) for manifest in list_manifests([dumps]).manifests}) == 3
    some, problems = stored_snapshots([dumps])
    found = ingest(some, history, unread=problems)
    assert [(row.cluster, row.added) for row in found.rows] == [("cluster-id", 2)]
    assert found.nameless == 1
    for parquet in dumps.rglob("*.parquet"):
        parquet.unlink()
    named, _ = stored_snapshots([dumps], "prod")
    again = ingest(named, history)
    assert [(row.cluster, row.added, row.known) for row in again.rows] == [("cluster-id", 0, 2), ("prod", 1, 0)]
