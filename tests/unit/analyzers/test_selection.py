"""Snapshots that an audit reads, and the names of those that it cannot read."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters.generated import partition, snapshot_of

from kreplica.errors import InputError
from kreplica.model.tables.schema import SCHEMA_VERSION
from kreplica.store.selection import Selection, Wanted, select_snapshots
from kreplica.store.writing import write_snapshot

MORNING = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
EVERYTHING = Wanted()


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """Two clusters at three times each, and one without a partition and without a broker."""
    folder = tmp_path / "dumps"
    for hour in range(3):
        for number, cluster in enumerate(("aaa", "bbb")):
            when = MORNING + timedelta(hours=hour)
            facts = {"cluster_id": cluster, "name": f"prod-{number}", "taken_at": when}
            write_snapshot(snapshot_of([partition(number=0), partition(number=1)], [{"broker": 1}], **facts), folder)
    write_snapshot(snapshot_of([], cluster_id=None, name="empty", taken_at=MORNING), folder)
    return folder


def files_of(folder: Path, table: str) -> list[Path]:
    return sorted((folder / table).rglob("*.parquet"))


def named(selection: Selection) -> list[tuple[str, int]]:
    return [(item.cluster, item.taken_at.hour) for item in selection.snapshots]


WHOLE = [("aaa", 8), ("aaa", 9), ("aaa", 10), ("bbb", 8), ("bbb", 9), ("bbb", 10), ("empty", 8)]


def test_whole_snapshots_come_by_cluster_and_time(dumps: Path) -> None:
    selection = select_snapshots([dumps], EVERYTHING)
    assert named(selection) == WHOLE
    assert (selection.damaged, selection.orphans, selection.left_out) == ((), (), 0)
    first, last = selection.snapshots[0], selection.snapshots[-1]
    assert first.partitions is not None
    assert pq.read_metadata(first.partitions).num_rows == first.partition_rows == 2
    assert first.broker_rows == 1
    assert (last.partitions, last.brokers, last.partition_rows) == (None, None, 0)


def test_snapshots_are_chosen_by_cluster_and_time(dumps: Path) -> None:
    by_id = select_snapshots([dumps], Wanted(clusters=("a*",)))
    assert named(by_id) == WHOLE[:3]
    assert by_id.filtered == 4
    assert named(select_snapshots([dumps], Wanted(clusters=("prod-1", "empty")))) == WHOLE[3:]
    inner = Wanted(since=MORNING + timedelta(hours=1), until=MORNING + timedelta(hours=1))
    assert named(select_snapshots([dumps], inner)) == [("aaa", 9), ("bbb", 9)]


def test_a_directory_of_dump_directories_stands_for_all_of_them(dumps: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert named(select_snapshots([tmp_path], EVERYTHING)) == WHOLE


def test_a_snapshot_that_is_there_twice_is_read_once(dumps: Path, tmp_path: Path) -> None:
    shutil.copytree(dumps, tmp_path / "copy")
    selection = select_snapshots([dumps, tmp_path / "copy", dumps], EVERYTHING)
    assert named(selection) == WHOLE
    assert selection.repeated == len(WHOLE)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (Path.unlink, "its manifest names it, and it is not there"),
        (truncate, "bytes, its manifest says"),
        (flip_a_byte, "its SHA-256 is not the one in its manifest"),
    ],
)
@pytest.mark.parametrize("table", ["partitions", "brokers"])
def test_a_damaged_file_is_named_and_its_snapshot_left_out(
    dumps: Path, damage: Callable[[Path], None], reason: str, table: str
) -> None:
    victim = next(path for path in files_of(dumps, table) if "cluster=bbb" in str(path) and "T09" in path.name)
    damage(victim)
    selection = select_snapshots([dumps], EVERYTHING)
    assert named(selection) == [place for place in WHOLE if place != ("bbb", 9)]
    assert [problem.path for problem in selection.damaged] == [str(victim)]
    assert reason in selection.damaged[0].reason
    assert (selection.left_out, selection.orphans) == (1, ())


def rewrite(dumps: Path, table: pa.Table | bytes) -> Path:
    """Puts another file in the place of one of partitions, its manifest agreeing with it."""
    victim = next(path for path in files_of(dumps, "partitions") if "cluster=aaa" in str(path) and "T10" in path.name)
    if isinstance(table, bytes):
        victim.write_bytes(table)
    else:
        pq.write_table(table, victim)
    content = victim.read_bytes()
    manifest = next(path for path in (dumps / "manifests").iterdir() if "T10" in path.name and "-aaa-" in path.name)
    document = json.loads(manifest.read_text(encoding="utf-8"))
    for file in document["files"]:
        if file["table"] == "partitions":
            file |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest.write_text(json.dumps(document), encoding="utf-8")
    return victim


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (b"PAR1 but nothing else", "cannot be read"),
        (pa.table({"city": ["Berlin", "Linz"]}), "no column topic, so it is not the partitions table"),
        (pa.table({"topic": ["a"]}), "1 rows, its manifest says 2"),
        (pa.table({"topic": [1, 2]}), "column topic is int64, expected string"),
    ],
)
def test_a_file_that_spark_could_not_read_is_named(dumps: Path, table: pa.Table | bytes, reason: str) -> None:
    victim = rewrite(dumps, table)
    selection = select_snapshots([dumps], EVERYTHING)
    assert [problem.path for problem in selection.damaged] == [str(victim)]
    assert reason in selection.damaged[0].reason
    assert named(selection) == [place for place in WHOLE if place != ("aaa", 10)]


def test_a_manifest_that_is_damaged_foreign_or_newer_is_named_and_its_files_are_no_orphans(dumps: Path) -> None:
    manifests = sorted((dumps / "manifests").iterdir())
    damaged, newer, _ = (path for path in manifests if "-aaa-" in path.name)
    damaged.write_bytes(damaged.read_bytes()[:50])
    document = json.loads(newer.read_text(encoding="utf-8"))
    newer.write_text(json.dumps(document | {"schema_version": SCHEMA_VERSION + 1}), encoding="utf-8")
    foreign = dumps / "manifests" / "package.json"
    foreign.write_text('{"name": "left-pad"}', encoding="utf-8")
    selection = select_snapshots([dumps], EVERYTHING)
    reasons = {Path(problem.path).name: problem.reason for problem in selection.damaged}
    assert set(reasons) == {damaged.name, newer.name, "package.json"}
    assert "not a manifest of kreplica" in reasons[damaged.name]
    assert f"schema version {SCHEMA_VERSION + 1}" in reasons[newer.name]
    assert named(selection) == [place for place in WHOLE if place not in (("aaa", 8), ("aaa", 9))]
    assert selection.orphans == ()


def test_files_that_no_manifest_names_are_orphans(dumps: Path) -> None:
    other = [
        dumps / "notes.txt",
        dumps / "partitions" / "export.parquet",
        dumps / "partitions" / "date=2026-03-01" / "cluster=aaa" / "part-00000.snappy.parquet",
        dumps / "manifests" / "README",
    ]
    for path in other:
        path.write_bytes(b"PAR1")
    (dumps / ".writing-0123456789ab").mkdir()
    (dumps / ".writing-0123456789ab" / "partitions.parquet").write_bytes(b"half")
    (dumps / "partitions" / ".hidden").write_bytes(b"")
    selection = select_snapshots([dumps], EVERYTHING)
    assert [problem.path for problem in selection.orphans] == sorted(map(str, other))
    assert named(selection) == WHOLE
    assert selection.damaged == ()


def test_a_filtered_snapshot_is_not_checked_and_its_files_are_no_orphans(dumps: Path) -> None:
    files_of(dumps / "partitions" / "date=2026-03-01" / "cluster=aaa", "")[0].unlink()
    selection = select_snapshots([dumps], Wanted(clusters=("bbb",)))
    assert named(selection) == WHOLE[3:6]
    assert (selection.damaged, selection.orphans) == ((), ())


def test_a_directory_without_snapshots_is_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    selection = select_snapshots([tmp_path / "photos"], EVERYTHING)
    assert selection.snapshots == ()
    assert [problem.path for problem in selection.orphans] == [str(tmp_path / "photos")]


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_path_that_is_no_directory_stops_the_audit(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"cannot read .*{name}"):
        select_snapshots([tmp_path / name], EVERYTHING)
