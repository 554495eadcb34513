"""A history folded on executors: the same files as on one machine, or the reason why they cannot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from histories.folders import contents

from analyzers import backfill
from analyzers.backfill import FEW, SparkWorkers, unfit, workers_for
from kreplica.history.backfill import ClientWorkers, MonthTask
from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.history.months.month import Added
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def stored(root: Path) -> list[Candidate]:
    candidates, problems = stored_snapshots([root / "kreplica" / "data" / "fleet"])
    assert (len(candidates), problems) == (12, [])
    return candidates


class Executors:
    """Those of a session that runs already."""

    elsewhere, by, notes = True, "executors", ()

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.tasks: Sequence[MonthTask] = ()

    def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        self.tasks = tasks
        return backfill._on_spark(self.spark, tasks)


def tasks_of(candidates: Sequence[Candidate], storage: LocalStorage) -> Sequence[MonthTask]:
    kept: list[Sequence[MonthTask]] = []

    class Keeping(ClientWorkers):
        def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
            kept.append(tasks)
            return super().add(tasks)

    ingest(candidates, storage, workers=Keeping(1))
    return kept[0]


class NearRead:
    """Reads a snapshot that on another machine is not where it is here.

    Args:
        here: Reads it here.
        there: Reads it there.
    """

    def __init__(self, here: Callable[[], ClusterSnapshot], there: Callable[[], ClusterSnapshot]) -> None:
        self.here, self.there = here, there

    def __call__(self) -> ClusterSnapshot:
        return self.here()

    def __reduce__(self) -> tuple[type[partial[ClusterSnapshot]], tuple[Callable[[], ClusterSnapshot]]]:
        return partial, (self.there,)


class Unshared(LocalStorage):
    """A folder of this machine; on another one its path leads to another folder."""

    def __reduce__(self) -> tuple[type[LocalStorage], tuple[Path]]:
        return LocalStorage, (self._root / "of another machine",)


def test_executors_make_the_files_that_one_process_makes(spark: SparkSession, tmp_path: Path, root: Path) -> None:
    dumps = shutil.copytree(root / "kreplica" / "data" / "fleet", tmp_path / "dumps")
    victim = next((dumps / "partitions").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    some, _ = stored_snapshots([dumps])
    alone = ingest(some, LocalStorage(tmp_path / "one"))
    steps: list[tuple[int, int]] = []
    found = ingest(
        some, LocalStorage(tmp_path / "spark"), workers=Executors(spark), seen=lambda *step: steps.append(step)
    )
    assert contents(tmp_path / "spark") == contents(tmp_path / "one")
    assert found.rows == alone.rows
    assert (found.total("added"), found.total("damaged"), found.problems) == (11, 1, alone.problems)
    assert steps == [(6, 12), (12, 12)]
    again = ingest(some, LocalStorage(tmp_path / "spark"), workers=Executors(spark))
    assert (again.total("added"), again.total("known")) == (0, 11)


def test_an_executor_that_is_like_this_process_is_fit_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, stored: list[Candidate]
) -> None:
    history = tmp_path / "history"
    history.mkdir()
    (history / "probe-old").write_text("of a client that was killed")
    os.utime(history / "probe-old", (0, 0))
    tasks = tasks_of(stored, LocalStorage(history))
    before = sorted(path for path in history.rglob("*") if path.name != "probe-old")
    assert unfit(spark, tasks) == ""
    assert sorted(history.rglob("*")) == before


def test_what_makes_executors_unfit_is_named(
    spark: SparkSession, root: Path, tmp_path: Path, stored: list[Candidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = LocalStorage(tmp_path / "history")
    tasks = tasks_of(stored, history)
    elsewhere = [replace(task, storage=Unshared(tmp_path / "history")) for task in tasks]
    assert unfit(spark, elsewhere).startswith("an executor does not find the history ")
    dumps = shutil.copytree(root / "kreplica" / "data" / "fleet", tmp_path / "dumps")
    (one, *_), _ = stored_snapshots([dumps])
    shutil.rmtree(dumps)
    reads = NearRead(stored[0].snapshot.read, one.snapshot.read)
    hidden = [replace(tasks[0], incoming=[replace(stored[0].snapshot, read=reads)])]
    assert unfit(spark, hidden).startswith(f"an executor cannot read a snapshot: cannot read {dumps}/")
    for other, reason in (
        ({"pyarrow": "1.2.3"}, "an executor has pyarrow "),
        ({"kreplica_of_tomorrow": "9"}, "an executor has no kreplica_of_tomorrow"),
    ):
        monkeypatch.setattr(backfill, "_versions", lambda other=other: other)
        assert unfit(spark, tasks).startswith(reason)


def test_spark_is_started_for_many_snapshots_and_where_it_is_named_alone(
    tmp_path: Path, stored: list[Candidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve snapshots are few: a master that is not there is never asked for."""
    assert len(stored) < FEW
    workers = workers_for("spark://127.0.0.1:1", None, {})
    found = ingest(stored, LocalStorage(tmp_path), workers=workers)
    assert (found.total("added"), found.by, type(workers)) == (12, "this process", SparkWorkers)
    assert type(workers_for(None, None, {})) is ClientWorkers
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert type(workers_for(None, None, {})) is SparkWorkers
