"""Commands on s3://: the answers and bytes of a folder, failures in one line, no secret anywhere."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from histories.folders import contents
from loopback.object_store import SECRET, ObjectStore, object_store


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.client().create_bucket(Bucket="fleet")
        yield running


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return started


def fetched(store: ObjectStore, prefix: str, folder: Path) -> dict[str, bytes]:
    """What counts of a history, by the reader of folders."""
    for path, content in store.contents("fleet", prefix).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return contents(folder)


def test_a_history_in_a_bucket_has_the_bytes_of_one_in_a_folder(
    kreplica: Any, store: ObjectStore, tmp_path: Path
) -> None:
    there = kreplica("audit", "ingest", "sample", "--into", "s3://fleet/history")
    assert (there.code, there.err) == (0, "")
    assert there.out.startswith("OK 12 snapshots of 2 clusters added to s3://fleet/history\n")
    here = kreplica("audit", "ingest", "sample", "--into", f"file://{tmp_path}/local%20one")
    assert here.code == 0
    found = fetched(store, "history/", tmp_path / "s3")
    assert found == contents(tmp_path / "local one")
    assert len(found) > 20
    again = kreplica("audit", "ingest", "sample", "--into", "s3://fleet/history", "-o", "json")
    assert (again.document["summary"]["added"], again.document["summary"]["known"]) == (0, 12)


def test_a_history_in_a_bucket_is_read_as_one_in_a_folder(kreplica: Any, store: ObjectStore, tmp_path: Path) -> None:
    for history in ("s3://fleet/read", str(tmp_path)):
        assert kreplica("audit", "ingest", "sample", "--into", history).code == 0
    lines = (
        ["history", "orders-2", "--in", "{history}"],
        ["history", "--broker", "3", "--in", "{history}"],
        ["describe", "--all", "--dump", "{history}", "--cluster", "kafka-4.3.1", "--as-of", "2026-11-21T07:06"],
        ["check", "--dump", "{history}/cluster=i0iQ6TlnRRmrapXchcJ1Uw@2026-11-21T07:06"],
    )
    for line in lines:
        here, there = (
            kreplica(*(word.replace("{history}", history) for word in line), "-o", "csv")
            for history in (str(tmp_path), "s3://fleet/read")
        )
        assert (there.code, there.out) == (here.code, here.out)
        assert here.out.count("\n") > 3
    nothing = kreplica("history", "orders-2", "--in", "s3://fleet/nothing")
    assert (nothing.code, "no history is there" in nothing.err) == (2, True)
    assert SECRET not in nothing.err


def test_two_ingests_at_once_and_one_that_is_killed(
    process: Callable[..., Popen[bytes]], kreplica: Any, store: ObjectStore, tmp_path: Path
) -> None:
    line = ("audit", "ingest", "sample", "--into", "s3://fleet/raced", "--compact")
    killed = process(*line, env=store.environment)
    both = [process(*line, env=store.environment) for _ in range(2)]
    deadline = time.monotonic() + 60
    while not store.contents("fleet", "raced/") and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    for one in both:
        out, err = one.communicate(timeout=120)
        assert one.returncode == 0, err
        assert SECRET.encode() not in out + err
    kreplica("audit", "ingest", "sample", "--into", str(tmp_path / "local"), "--compact")
    assert fetched(store, "raced/", tmp_path / "s3") == contents(tmp_path / "local")


@pytest.mark.parametrize(
    ("into", "change", "code", "said"),
    [
        ("s3://none/history", {}, 2, "there is no such bucket"),
        ("s3://fleet/history", {"AWS_ENDPOINT_URL": "http://user:pass-word@127.0.0.1:1"}, 3, "cannot be reached"),
        ("s3://fleet/history", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 2, "no credentials"),
        ("s3://fleet/history", {"AWS_PROFILE": "night-shift"}, 2, "night-shift"),
        ("s3://", {}, 2, "s3://BUCKET/PREFIX"),
        ("gs://fleet/history", {}, 2, "no place that kreplica reads or writes"),
        ("file://elsewhere/history", {}, 2, "no file of this machine"),
    ],
)
def test_a_place_that_cannot_be_used_is_one_line(
    kreplica: Any,
    store: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
    into: str,
    change: dict[str, str],
    code: int,
    said: str,
) -> None:
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    ended = kreplica("audit", "ingest", "sample", "--into", into)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err
    assert "pass-word" not in ended.err
    assert SECRET not in ended.err


def test_snapshots_in_a_bucket_are_described_and_taken_into_a_history(
    kreplica: Any, store: ObjectStore, tmp_path: Path
) -> None:
    there, here = "s3://fleet/dumps", str(tmp_path / "dumps")
    for place in (there, here):
        written = kreplica("snapshot", "--dump", "sample", "--out", place)
        assert (written.code, written.err) == (0, "")
        assert written.out.startswith(f"OK 1 of 1 snapshot written to {place}\n")
        assert f"kreplica audit {place}" in written.out
    row = kreplica("snapshot", "--dump", "sample", "--out", "s3://fleet/again", "-o", "json").document["snapshots"][0]
    assert row["manifest"].startswith("s3://fleet/again/manifests/")
    answers = [
        kreplica("describe", "--dump", place, "--under-replicated", "-o", "csv")
        for place in (there, here, f"file://{here}", row["manifest"])
    ]
    assert {(ended.code, ended.out, ended.err) for ended in answers} == {(1, answers[1].out, "")}
    assert answers[1].out.count("\n") > 2
    for place, into in ((there, "s3://fleet/of-dumps"), (here, str(tmp_path / "history"))):
        assert kreplica("audit", "ingest", place, "--into", into).code == 0
    assert fetched(store, "of-dumps/", tmp_path / "s3") == contents(tmp_path / "history")
    was = [
        kreplica("describe", "--dump", history, "--cluster", "sample", "--under-replicated", "-o", "csv")
        for history in ("s3://fleet/of-dumps", str(tmp_path / "history"))
    ]
    assert {(ended.code, ended.out, ended.err) for ended in was} == {(1, was[1].out, was[1].err)}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("snapshot", "--dump", "sample", "--out", "s3://none/dumps"), 2, "there is no such bucket"),
        (("describe", "--dump", "s3://fleet/nothing"), 2, "there is no such directory"),
        (("describe", "--dump", "s3://none/dumps"), 2, "there is no such bucket"),
        (("describe", "--dump", "gs://fleet/dumps"), 2, "no place that kreplica reads or writes"),
        (("audit", "ingest", "s3://fleet/nothing", "--into", "h"), 2, "no snapshot is below it"),
        (("audit", "s3://fleet/nothing"), 2, "no snapshot is below it"),
        (("audit", "s3://none"), 2, "there is no such bucket"),
        (("audit", "sample", "--out", "s3://fleet/out"), 2, "s3:// is not taken here"),
    ],
)
def test_what_is_not_there_is_one_line(
    kreplica: Any, store: ObjectStore, words: tuple[str, ...], code: int, said: str
) -> None:
    ended = kreplica(*words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err


def test_a_store_that_goes_away_is_no_damage(
    kreplica: Any, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kreplica.errors import UnreachableError
    from kreplica.system.stores.s3 import S3Storage

    kreplica("snapshot", "--dump", "sample", "--out", "s3://fleet/going")
    read = S3Storage.read

    def gone(storage: S3Storage, path: str, most: int) -> bytes:
        if path.endswith(".parquet"):
            raise UnreachableError("the store cannot be reached")
        return read(storage, path, most)

    monkeypatch.setattr(S3Storage, "read", gone)
    ended = kreplica("audit", "ingest", "s3://fleet/going", "--into", "s3://fleet/never")
    assert (ended.code, ended.out) == (3, "")
    assert "cannot be reached" in ended.err


def test_disks_are_compared_with_an_earlier_snapshot_in_a_bucket(kreplica: Any, store: ObjectStore, root: Path) -> None:
    fleet = root / "kreplica" / "data" / "fleet"
    client = store.client()
    for path in fleet.rglob("*i0iQ6TlnRRmrapXchcJ1Uw*"):
        for file in path.rglob("*") if path.is_dir() else [path]:
            client.put_object(Bucket="fleet", Key=f"disks/{file.relative_to(fleet)}", Body=file.read_bytes())
    there = "s3://fleet/disks"
    assert kreplica("disks", "--dump", there, "--since", there, "-o", "json").document["log_dirs"]
    ended = kreplica("disks", "--dump", there, "--since", "2026-11-21T07:04", "-o", "json")
    assert ended.document["log_dirs"]
