"""Work of executors on an object store: what goes to them and comes back, without the Spark that carries it."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from histories.folders import contents
from loopback.object_store import SECRET, ObjectStore, object_store

from analyzers import backfill
from kreplica.history.backfill import MonthTask
from kreplica.history.ingest import ingest, stored_snapshots
from kreplica.history.months.month import Added
from kreplica.system.stores.s3 import S3Place, S3Storage
from kreplica.system.stores.storage import LocalStorage

BUCKET = "fleet"


@pytest.fixture(scope="module")
def dumps(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged fleet, with one file that was cut."""
    folder = tmp_path_factory.mktemp("dumps") / "fleet"
    shutil.copytree(root / "kreplica" / "data" / "fleet", folder)
    victim = min((folder / "partitions").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    return folder


@pytest.fixture
def store(dumps: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store() as running:
        running.client().create_bucket(Bucket=BUCKET)
        running.upload(dumps, BUCKET, "dumps/")
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


class ByPickle:
    """Does each task as an executor does: from its bytes, with an answer in plain text."""

    elsewhere, by, notes = True, "executors", ()

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        for task in tasks:
            self.sent.append(pickle.dumps(task))
            yield backfill._added(task, backfill.outcome_of(0, pickle.loads(self.sent[-1])))


def test_tasks_on_a_store_make_the_files_of_a_folder_and_carry_no_credentials(
    store: ObjectStore, dumps: Path, tmp_path: Path
) -> None:
    here = ingest(stored_snapshots([dumps])[0], LocalStorage(tmp_path / "here"))
    workers, place = ByPickle(), S3Place(BUCKET, "dumps")
    some, problems = stored_snapshots([place])
    assert (len(some), problems) == (12, [])
    there = ingest(some, S3Storage(S3Place(BUCKET, "history")), workers=workers)
    assert (there.total("added"), there.total("damaged")) == (11, 1)
    assert there.rows == here.rows
    assert [line.replace(str(place), str(dumps)) for line in there.problems] == list(here.problems)
    store.download(BUCKET, "history/", tmp_path / "there")
    assert contents(tmp_path / "there") == contents(tmp_path / "here") != {}
    assert len(workers.sent) == 2
    assert not any(SECRET.encode() in one for one in workers.sent)
    again = ingest(some, S3Storage(S3Place(BUCKET, "history")), workers=ByPickle())
    assert (again.total("added"), again.total("known"), again.total("damaged")) == (0, 11, 1)
