"""The newest whole snapshot of the cluster one means is read; everything else is named for what it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import TABLES
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import (
    list_manifests,
    read_dump_directory,
    read_partitions_file,
    read_snapshot_files,
    verify,
)
from kreplica.store.writing import write_snapshot

MakeSnapshot = Callable[..., ClusterSnapshot]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _parquet(directory: Path, table: str) -> Path:
    (found,) = (directory / table).rglob("*.parquet")
    return found


def _refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_dump_directory(path, **options)
    return str(caught.value)


def test_what_was_written_is_read(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    written = make_snapshot()
    write_snapshot(written, tmp_path)
    read = read_dump_directory(tmp_path)
    for name in ("cluster_id", "name", "taken_at", "source", "controller", "features", "gaps", "notes"):
        assert getattr(read, name) == getattr(written, name)
    for schema in TABLES:
        assert list(read.table(schema).rows()) == list(written.table(schema).rows())


def test_the_newest_is_read(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    for hour in (1, 3, 2):
        write_snapshot(make_snapshot(taken_at=NOON + timedelta(hours=hour), leader=hour), tmp_path)
    assert read_dump_directory(tmp_path).partition("orders", 10)["leader"] == 3


def test_the_newest_until_a_moment_is_read(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    for hour in (1, 3, 2):
        write_snapshot(make_snapshot(taken_at=NOON + timedelta(hours=hour), leader=hour), tmp_path)
    for minutes, leader in ((60, 1), (119, 1), (120, 2), (1000, 3)):
        at = NOON + timedelta(minutes=minutes)
        assert read_dump_directory(tmp_path, at=at).partition("orders", 10)["leader"] == leader
    message = _refusal(tmp_path, at=NOON)
    assert "no snapshot was taken at or before 2026-03-01T12:00:00+00:00" in message
    assert "the oldest is of 2026-03-01T13:00:00" in message


def test_one_of_several_clusters_has_to_be_named(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    write_snapshot(make_snapshot(cluster_id="first", name="a", leader=1), tmp_path)
    write_snapshot(make_snapshot(cluster_id="second", name="b", leader=2), tmp_path)
    assert "snapshots of 2 clusters and none was named" in _refusal(tmp_path)
    write_snapshot(make_snapshot(cluster_id=None, name="dump/of third", leader=3), tmp_path)
    message = _refusal(tmp_path)
    assert "snapshots of 3 clusters" in message
    for word in ("first (manifests/", "second (manifests/", "dump%2Fof%20third"):
        assert word in message
    for cluster, leader in (("first", 1), ("b", 2), ("dump/of third", 3)):
        assert read_dump_directory(tmp_path, cluster=cluster).partition("orders", 10)["leader"] == leader
    assert "no snapshot of cluster fourth is in it; it holds: " in _refusal(tmp_path, cluster="fourth")


def test_a_directory_that_is_no_dump_is_refused(tmp_path: Path) -> None:
    assert "without manifests" in _refusal(tmp_path)
    assert "no such directory" in _refusal(tmp_path / "absent")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "notes.json").write_text("{}")
    assert "holds no manifest" in _refusal(tmp_path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = {
    "absent": (Path.unlink, "it is not there, but the manifest"),
    "cut": (_cut, "bytes, found"),
    "flipped": (_flip, "expected the SHA-256"),
    "empty": (_empty, "bytes, found 0"),
    "folder": (_folder, "is a directory"),
}


@pytest.mark.parametrize("table", ["partitions", "groups"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_named(tmp_path: Path, damage: str, table: str, make_snapshot: MakeSnapshot) -> None:
    manifest = read_manifest(write_snapshot(make_snapshot(), tmp_path))
    path = _parquet(tmp_path, table)
    harm, reason = DAMAGE[damage]
    harm(path)
    message = _refusal(tmp_path)
    assert str(path) in message
    assert reason in message
    (problem,) = verify(manifest)
    assert problem.path == path
    assert reason in problem.reason


def _forge(manifest_path: Path, table: str, content: bytes, rows: int | None = None) -> None:
    """Puts another content behind a table, with size and checksum to match."""
    import hashlib

    document = json.loads(manifest_path.read_text())
    (file,) = [file for file in document["files"] if file["table"] == table]
    (manifest_path.parent.parent / file["path"]).write_bytes(content)
    file |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    file["rows"] = file["rows"] if rows is None else rows
    manifest_path.write_text(json.dumps(document))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    _forge(write_snapshot(make_snapshot(), tmp_path), "brokers", b"not Parquet at all")
    message = _refusal(tmp_path)
    assert str(_parquet(tmp_path, "brokers")) in message
    assert "not a Parquet file that can be read" in message


def test_another_number_of_rows_is_named(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    path = write_snapshot(make_snapshot(), tmp_path)
    _forge(path, "brokers", _parquet(tmp_path, "brokers").read_bytes(), rows=3)
    assert "expected 3 rows, found 2" in _refusal(tmp_path)


def test_the_file_of_another_table_is_named(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    path = write_snapshot(make_snapshot(), tmp_path)
    _forge(path, "brokers", _parquet(tmp_path, "groups").read_bytes(), rows=1)
    assert "expected the table brokers of a snapshot, found its table groups" in _refusal(tmp_path)


def test_a_damaged_newest_snapshot_is_not_passed_over(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    """An older state, shown as if it were the newest, would be a wrong answer."""
    write_snapshot(make_snapshot(taken_at=NOON), tmp_path)
    newest = write_snapshot(make_snapshot(taken_at=NOON + timedelta(hours=1)), tmp_path)
    newest.write_text("{")
    assert str(newest) in _refusal(tmp_path)


def test_a_dump_directory_may_be_moved(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    write_snapshot(make_snapshot(), tmp_path / "here")
    shutil.move(tmp_path / "here", tmp_path / "there")
    assert len(read_dump_directory(tmp_path / "there").partitions) == 3


def test_files_in_the_making_are_ignored(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    write_snapshot(make_snapshot(), tmp_path)
    (tmp_path / ".writing-0123456789ab").mkdir()
    (tmp_path / ".writing-0123456789ab" / "manifest.json").write_text("{")
    (tmp_path / "manifests" / ".hidden.json").write_text("{")
    listing = list_manifests([tmp_path])
    assert len(listing.manifests) == 1
    assert not listing.problems


def test_listing_names_what_it_cannot_take_and_goes_on(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    first = write_snapshot(make_snapshot(cluster_id="b", taken_at=NOON), tmp_path / "one")
    third = write_snapshot(make_snapshot(cluster_id="a", taken_at=NOON + timedelta(hours=1)), tmp_path / "one")
    second = write_snapshot(make_snapshot(cluster_id="c", taken_at=NOON), tmp_path / "two")
    foreign = tmp_path / "two" / "manifests" / "package.json"
    foreign.write_text('{"name": "left-pad"}')
    damaged = tmp_path / "one" / "manifests" / third.name.replace("-a-", "-z-")
    damaged.write_text(third.read_text()[:-10])
    absent, plain = tmp_path / "absent", tmp_path / "plain"
    plain.mkdir()
    listing = list_manifests([tmp_path / "one", tmp_path / "two", absent, plain, tmp_path / "one", first])
    assert [manifest.path for manifest in listing.manifests] == [first, second, third]
    assert {problem.path for problem in listing.problems} == {foreign, damaged, absent, plain}
    assert all(problem.reason for problem in listing.problems)


def test_one_manifest_can_be_read(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    old = write_snapshot(make_snapshot(taken_at=NOON, leader=5), tmp_path)
    write_snapshot(make_snapshot(taken_at=NOON + timedelta(hours=1)), tmp_path)
    assert read_snapshot_files(read_manifest(old)).partition("orders", 10)["leader"] == 5
    renamed = old.rename(old.with_name("before the change.json"))
    assert read_dump_directory(renamed).partition("orders", 10)["leader"] == 5


def test_an_older_kreplica_lacked_some_tables(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    path = write_snapshot(make_snapshot(), tmp_path)
    document = json.loads(path.read_text())
    document["empty"] = []
    document["files"] = [file for file in document["files"] if file["table"] == "partitions"]
    path.write_text(json.dumps(document))
    assert len(read_dump_directory(tmp_path).brokers) == 0


def test_one_partitions_file_alone_keeps_its_facts(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    written = make_snapshot()
    write_snapshot(written, tmp_path)
    read = read_partitions_file(_parquet(tmp_path, "partitions"))
    assert (read.cluster_id, read.taken_at, read.gaps) == (written.cluster_id, written.taken_at, written.gaps)
    assert list(read.partitions.rows()) == list(written.partitions.rows())
    assert len(read.brokers) == 0


def test_another_table_of_a_snapshot_is_not_taken_for_its_partitions(
    tmp_path: Path, make_snapshot: MakeSnapshot
) -> None:
    write_snapshot(make_snapshot(), tmp_path)
    path = tmp_path / "renamed.parquet"
    shutil.copy(_parquet(tmp_path, "brokers"), path)
    with pytest.raises(InputError, match="expected the table partitions of a snapshot, found its table brokers"):
        read_partitions_file(path)


ROW = {"topic": "t", "partition": 1, "internal": False, "replicas": [1, 2], "isr": [1], "leader": 1}


def _foreign(path: Path, *rows: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def test_a_partitions_file_of_another_program_is_sorted_and_named_by_its_path(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "x.parquet", ROW, ROW | {"partition": 0}, ROW | {"topic": "a"})
    read = read_partitions_file(path)
    assert (read.cluster_id, read.name, read.source) == (None, str(path), "parquet")
    assert read.taken_at.timestamp() == pytest.approx(path.stat().st_mtime, abs=0.001)
    found = [(row["topic"], row["partition"]) for row in read.partitions.rows()]
    assert found == [("a", 1), ("t", 0), ("t", 1)]


def test_a_partition_twice_is_named(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "x.parquet", ROW, ROW | {"partition": 0}, ROW)
    with pytest.raises(InputError, match="partition t-1 is in it twice; give one snapshot"):
        read_partitions_file(path)


def test_rows_that_repeat_others_are_counted_among_many(tmp_path: Path) -> None:
    rows = [ROW | {"topic": topic, "partition": number} for topic in ("a", "b", "c") for number in range(4)]
    assert len(read_partitions_file(_foreign(tmp_path / "x.parquet", *rows)).partitions) == 12
    with pytest.raises(InputError, match="partition b-2 is in it twice, and 1 row more repeats others; give"):
        read_partitions_file(_foreign(tmp_path / "x.parquet", *rows, rows[6], rows[11]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"leader": "1"}, "column leader; expected int32, found string;"),
        ({"topic": b"t"}, "column topic; expected string, found binary;"),
    ],
)
def test_a_column_of_another_type_is_named_with_the_type_it_has(
    tmp_path: Path, value: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_partitions_file(_foreign(tmp_path / "x.parquet", ROW | value))


def test_another_table_alone_is_refused(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    write_snapshot(make_snapshot(), tmp_path)
    with pytest.raises(InputError, match="expected the table partitions of a snapshot, found its table groups"):
        read_partitions_file(_parquet(tmp_path, "groups"))


def test_parquet_of_something_else_is_refused(tmp_path: Path) -> None:
    path = _foreign(tmp_path / "x.parquet", {"colour": "red"})
    with pytest.raises(InputError, match=r"column topic; it is not there.*found colour"):
        read_partitions_file(path)


def test_many_rows_in_few_bytes_are_refused_before_they_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of equal values takes a few bytes of a Parquet file, however long it is."""
    path = tmp_path / "x.parquet"
    part = pa.Table.from_pylist([ROW]).take(np.zeros(200_000, np.int64))
    pq.write_table(part, path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 1 << 16
    monkeypatch.setenv("KREPLICA_MAX_INPUT_BYTES", str(32 << 20))
    before = pa.total_allocated_bytes()
    reason = r"its 200000 rows take some \d+ bytes of memory, more than 33554432 bytes; KREPLICA_MAX_INPUT_BYTES"
    with pytest.raises(InputError, match=reason):
        read_partitions_file(path)
    assert pa.total_allocated_bytes() - before < 16 << 20


def test_rows_that_the_manifest_does_not_name_are_refused(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    manifest = write_snapshot(make_snapshot(), tmp_path)
    document = json.loads(manifest.read_text())
    for file in document["files"]:
        file["rows"] += file["table"] == "partitions"
    manifest.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"expected \d+ rows, found \d+"):
        read_dump_directory(tmp_path)


@pytest.mark.parametrize("key", ["kreplica.schema_version", "kreplica.snapshot"])
def test_a_newer_or_damaged_footer_is_refused(tmp_path: Path, key: str) -> None:
    table = pa.Table.from_pylist([ROW]).replace_schema_metadata({key: "99"})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"schema version 99|snapshot facts in its footer"):
        read_partitions_file(tmp_path / "x.parquet")


def test_no_damage_of_one_file_is_more_than_an_input_error(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    """Every byte of the file turned, one at a time: a refusal or a snapshot, never another error."""
    write_snapshot(make_snapshot(), tmp_path)
    original = _parquet(tmp_path, "partitions").read_bytes()
    path = tmp_path / "x.parquet"
    refused = 0
    for position in range(0, len(original), 3):
        content = bytearray(original)
        content[position] ^= 0xFF
        path.write_bytes(content)
        try:
            read_partitions_file(path)
        except InputError:
            refused += 1
    assert refused > len(original) / 3 * 0.3
