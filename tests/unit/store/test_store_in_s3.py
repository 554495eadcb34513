"""Snapshots in an S3 store: whole or not there, read, chosen and checked as those in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of
from loopback.object_store import ObjectStore, losing_first_answers, object_store

from kreplica.errors import InputError, UnreachableError, UsageError
from kreplica.sources.dumps.dump import read_dump
from kreplica.store import writing
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import list_manifests, read_dump_directory, read_snapshot_files, verify
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import check_directory, write_snapshot
from kreplica.system.stores import s3
from kreplica.system.stores.s3 import S3Place, S3Storage

MORNING = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.client().create_bucket(Bucket="fleet")
        yield running


@pytest.fixture
def place(started: ObjectStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> S3Place:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return S3Place("fleet", re.sub(r"\W", "-", request.node.name))


def filled(root: S3Place | Path) -> S3Place | Path:
    """Two clusters at three times each."""
    for hour in range(3):
        for number, cluster in enumerate(("aaa", "bbb")):
            facts = {"cluster_id": cluster, "name": f"prod-{number}", "taken_at": MORNING + timedelta(hours=hour)}
            write_snapshot(snapshot_of([partition(leader=hour)], [{"broker": 1}], **facts), root)
    return root


def read_back(path: str | None) -> bytes:
    return b"" if path is None else Path(path).read_bytes()


def test_a_snapshot_comes_back_by_directory_and_by_manifest(place: S3Place, started: ObjectStore) -> None:
    written = snapshot_of([partition()], [{"broker": 1}], cluster_id="aaa", taken_at=MORNING)
    manifest = write_snapshot(written, place)
    assert str(manifest).startswith(f"{place}/manifests/20260301T080000.000Z-aaa-")
    for read in (
        read_dump_directory(place),
        read_dump_directory(manifest),
        read_dump(str(place)),
        read_dump(str(manifest)),
    ):
        assert list(read.partitions.rows()) == list(written.partitions.rows())
        assert (read.cluster_id, read.taken_at) == ("aaa", MORNING)
    tables = {key.partition("/")[0] for key in started.contents("fleet", f"{place.prefix}/")}
    assert tables == {"manifests", "partitions", "brokers"}


def test_the_newest_of_the_cluster_that_is_named_is_read(place: S3Place) -> None:
    filled(place)
    assert read_dump_directory(place, "prod-1").partition("orders", 0)["leader"] == 2
    assert read_dump_directory(place, "aaa", MORNING + timedelta(hours=1)).partition("orders", 0)["leader"] == 1
    with pytest.raises(InputError, match="2 clusters and none was named"):
        read_dump_directory(place)


def test_the_same_is_chosen_as_in_a_folder(place: S3Place, tmp_path: Path) -> None:
    filled(place)
    filled(tmp_path)
    for wanted in (Wanted(), Wanted(("prod-1",)), Wanted(("a*",), since=MORNING + timedelta(hours=1))):
        there, here = select_snapshots([place], wanted), select_snapshots([tmp_path], wanted)
        assert len(there.snapshots) == len(here.snapshots) > 0
        for one, other in zip(there.snapshots, here.snapshots, strict=True):
            assert (one.cluster, one.name, one.taken_at) == (other.cluster, other.name, other.taken_at)
            assert read_back(one.partitions) == read_back(other.partitions) != b""
            assert read_back(one.brokers) == read_back(other.brokers)
        assert (there.damaged, there.orphans, here.orphans) == ((), (), ())
        assert wanted.since is not None or there.filtered == here.filtered  # names outside the span are not listed
        copies = [Path(one.partitions or "") for one in there.snapshots]
        del there
        assert not [path for path in copies if path.exists()], "copies go with what they were made for"


def test_a_span_that_holds_nothing_is_told_from_a_place_that_holds_nothing(place: S3Place) -> None:
    filled(place)
    for wanted in (Wanted(since=MORNING + timedelta(days=1)), Wanted(until=MORNING - timedelta(days=1))):
        found = select_snapshots([place], wanted)
        assert (found.snapshots, found.filtered, found.orphans) == ((), 6, ())


def test_only_the_span_is_listed(place: S3Place, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(place)
    asked = []
    names = S3Storage.names

    def noted(storage: S3Storage, folder: str, *borders: str) -> list[str]:
        found = names(storage, folder, *borders)
        if borders and any(borders):
            asked.append([name[9:15] for name in found])
        return found

    monkeypatch.setattr(S3Storage, "names", noted)
    found = select_snapshots([place], Wanted(since=MORNING + timedelta(hours=2)))
    assert len(found.snapshots) == 2
    assert asked == [["100000", "100000"]]


def test_places_of_dump_directories_stand_for_all_of_them(place: S3Place) -> None:
    filled(place / "west")
    filled(place / "east")
    assert len(select_snapshots([place], Wanted()).snapshots) == 6
    assert select_snapshots([place], Wanted()).repeated == 6
    with pytest.raises(InputError, match="no snapshot is below it"):
        select_snapshots([place / "none"], Wanted())
    assert [problem.path for problem in list_manifests([place / "none"]).problems] == [place / "none"]


def test_what_is_damaged_absent_or_foreign_is_named(place: S3Place, started: ObjectStore) -> None:
    filled(place)
    client = started.client()
    keys = sorted(started.contents("fleet", f"{place.prefix}/partitions/"))
    at = [f"{place.prefix}/partitions/{key}" for key in keys]
    content = client.get_object(Bucket="fleet", Key=at[0])["Body"].read()
    client.put_object(Bucket="fleet", Key=at[0], Body=content[:-9] + b"x" + content[-8:])
    client.delete_object(Bucket="fleet", Key=at[1])
    client.put_object(Bucket="fleet", Key=at[2], Body=b"short")
    client.put_object(Bucket="fleet", Key=f"{place.prefix}/brokers/export.parquet", Body=b"PAR1")
    client.put_object(
        Bucket="fleet", Key=f"{place.prefix}/manifests/20260301T080000.000Z-x-0123456789ab.json", Body=b"{"
    )
    selection = select_snapshots([place], Wanted())
    reasons = {problem.path.removeprefix(f"{place}/partitions/"): problem.reason for problem in selection.damaged}
    assert "SHA-256" in reasons[keys[0]]
    assert "not there" in reasons[keys[1]]
    assert reasons[keys[2]].startswith("5 bytes, its manifest says ")
    assert "not a manifest" in reasons[f"{place}/manifests/20260301T080000.000Z-x-0123456789ab.json"]
    assert (len(selection.snapshots), selection.left_out) == (3, 3)
    assert [problem.path for problem in selection.orphans] == [f"{place}/brokers/export.parquet"]
    listing = list_manifests([place])
    assert sum(bool(verify(manifest)) for manifest in listing.manifests) == 3


class StoppedError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("after", [False, True])
def test_a_stop_at_any_file_leaves_nothing_or_a_whole_snapshot(
    place: S3Place, started: ObjectStore, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    snapshot = snapshot_of([partition()], [{"broker": 1}], cluster_id="aaa", taken_at=MORNING)
    make: Callable[..., None] = writing._make_object
    for fatal in range(3):
        here, made = place / str(fatal), 0

        def stopping(*arguments: object, fatal: int = fatal) -> None:
            nonlocal made
            made += 1
            if made - 1 == fatal and not after:
                raise StoppedError
            make(*arguments)
            if made - 1 == fatal:
                raise StoppedError

        monkeypatch.setattr(writing, "_make_object", stopping)
        with pytest.raises(StoppedError):
            write_snapshot(snapshot, here)
        there = started.contents("fleet", f"{here.prefix}/")
        if after and fatal == 2:
            assert len(there) == 3
            assert len(read_dump_directory(here).partitions) == 1
        else:
            assert there == {}


def test_a_killed_writer_leaves_files_that_nobody_reads(
    place: S3Place, started: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(place)

    def killed(storage: S3Storage, path: str, content: bytes) -> None:
        if path.startswith("manifests/"):
            raise StoppedError
        assert storage.create(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(writing, "_make_object", killed)
        patched.setattr(S3Storage, "remove", lambda *_: None)
        patched.setattr(S3Storage, "names", lambda *_: [])
        with pytest.raises(StoppedError):
            write_snapshot(snapshot_of([partition()], cluster_id="ccc", taken_at=MORNING), place)
    selection = select_snapshots([place], Wanted())
    assert len(selection.snapshots) == 6
    assert ["/cluster=ccc/" in problem.path for problem in selection.orphans] == [True]


def test_after_a_lost_answer_the_own_file_is_known(place: S3Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with losing_first_answers(s3._client(), "aaa", "manifests"):
        manifest = write_snapshot(snapshot_of([partition()], cluster_id="aaa"), place)
    assert len(read_snapshot_files(read_manifest(manifest)).partitions) == 1
    monkeypatch.setattr(S3Storage, "create", lambda *_: False)
    with pytest.raises(UsageError, match="another program made it"):
        write_snapshot(snapshot_of([partition()], cluster_id="aaa"), place)


@pytest.mark.parametrize("method", ["read", "on_disk", "sizes"])
def test_a_store_that_goes_away_is_no_damage(place: S3Place, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    filled(place)

    def gone(*_: object) -> None:
        raise UnreachableError("the store cannot be reached")

    monkeypatch.setattr(S3Storage, method, gone)
    with pytest.raises(UnreachableError):
        select_snapshots([place], Wanted())


def test_a_place_is_tried_before_clusters_are_read(place: S3Place, monkeypatch: pytest.MonkeyPatch) -> None:
    check_directory(place)
    assert S3Storage(place).names("") == []
    with pytest.raises(UsageError, match="no such bucket"):
        check_directory("s3://none/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(UnreachableError):
        check_directory(place)
    with pytest.raises(UnreachableError):
        select_snapshots([place], Wanted())
    with pytest.raises(UnreachableError):
        list_manifests([place / "manifests" / "x.json"])
