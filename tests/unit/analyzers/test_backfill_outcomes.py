"""Outcomes of executors: what one says of a month is what this process would have said of it."""

from __future__ import annotations

import pickle
from pathlib import Path

from analyzers import backfill
from kreplica.history.backfill import MonthTask
from kreplica.history.ingest import stored_snapshots
from kreplica.history.model import month_of
from kreplica.system.stores.storage import LocalStorage


def test_damage_of_the_history_is_told_from_that_of_snapshots(tmp_path: Path, root: Path) -> None:
    first = stored_snapshots([root / "kreplica" / "data" / "fleet"])[0][0]
    some = [first.snapshot]
    task = MonthTask(LocalStorage(tmp_path), str(first.cluster), month_of(some[0].taken_ms), some)
    sent = pickle.loads(pickle.dumps(task))
    assert backfill._added(task, backfill.outcome_of(0, sent)).added == 1
    (observations,) = tmp_path.rglob("observations/*")
    observations.unlink()
    near, far = task.add(), backfill._added(task, backfill.outcome_of(0, sent))
    assert (far.added, far.known, far.damaged, far.left_out) == (0, 0, (), (some[0],))
    assert near.left_out == far.left_out
    assert str(near.fault) == str(far.fault)
    assert str(observations) in str(far.fault)
