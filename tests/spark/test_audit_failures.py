"""A file that changes between its check and its reading is named, in one line and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.selection import Wanted, select_snapshots
from kreplica.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


@pytest.mark.parametrize("harm", [truncate, Path.unlink])
def test_a_file_that_changes_meanwhile_is_named(
    spark: SparkSession, root: Path, tmp_path: Path, harm: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    from analyzers.audit import Audit
    from analyzers.failures import explained
    from analyzers.fleet import read_fleet

    dumps = shutil.copytree(root / "kreplica" / "data" / "fleet", tmp_path / "odd name, 100% [a-b]+{c}")
    selection = select_snapshots([dumps], Wanted())
    assert len(selection.snapshots) == 12
    victim = selection.snapshots[3].partitions
    assert victim is not None
    fleet = read_fleet(spark, selection.snapshots)
    assert fleet.partitions.count() == sum(item.partition_rows for item in selection.snapshots)
    harm(Path(victim))
    with pytest.raises(InputError) as raised, explained():
        Audit(fleet, {"offline"}).counts()
    assert raised.value.source == victim
    assert capfd.readouterr().err == ""
