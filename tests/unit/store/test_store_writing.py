"""A snapshot is written whole or not at all, in files that other programs read."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import list_manifests, read_dump_directory, verify
from kreplica.store.writing import write_snapshot

MakeSnapshot = Callable[..., ClusterSnapshot]


def _files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def _parquet(directory: Path, table: str) -> Path:
    (found,) = (directory / table).rglob("*.parquet")
    return found


def test_files_lie_where_the_manifest_says_and_nowhere_else(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    path = write_snapshot(make_snapshot(), tmp_path / "new" / "dump")
    root = tmp_path / "new" / "dump"
    manifest = read_manifest(path)
    assert manifest.directory == root
    assert _files(root) == {file.path for file in manifest.files} | {path.relative_to(root).as_posix()}
    assert {file.table for file in manifest.files} == {"partitions", "brokers", "configs", "groups"}
    assert not verify(manifest)


def test_checksums_are_those_of_sha256sum(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    manifest = read_manifest(write_snapshot(make_snapshot(), tmp_path))
    for file in manifest.files:
        told = subprocess.run(["sha256sum", manifest.location(file)], capture_output=True, text=True, check=True)
        assert told.stdout.split()[0] == file.sha256
        assert manifest.location(file).stat().st_size == file.bytes


def test_pyarrow_and_pandas_read_the_rows_in_order(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    write_snapshot(make_snapshot(), tmp_path)
    rows = ds.dataset(_parquet(tmp_path, "partitions")).to_table().to_pylist()
    assert [(row["topic"], row["partition"]) for row in rows] == [("Zahlung", 0), ("orders", 9), ("orders", 10)]
    assert rows[1]["elr"] == [3]
    assert rows[1]["isr"] == []
    assert rows[0]["leader"] is None
    assert rows[0]["elr"] is None
    groups = pd.read_parquet(_parquet(tmp_path, "groups"))
    assert groups.loc[0, ["group", "offset", "metadata"]].tolist() == ["münchen", 2**40, ""]


def test_types_are_plain_and_files_compressed(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    """Spark reads what the Parquet schema says; an Arrow schema beside it would say it twice."""
    write_snapshot(make_snapshot(), tmp_path)
    file = pq.ParquetFile(_parquet(tmp_path, "partitions"))
    types = {name: str(file.schema_arrow.field(name).type) for name in ("topic", "partition", "isr", "end_offset")}
    assert types == {
        "topic": "string",
        "partition": "int32",
        "isr": "list<element: int32 not null>",
        "end_offset": "int64",
    }
    assert b"ARROW:schema" not in file.metadata.metadata
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert [column.column_index for column in file.metadata.row_group(0).sorting_columns] == [0, 1]
    assert json.loads(file.metadata.metadata[b"kreplica.snapshot"])["cluster_id"] == "Zk5-Cluster_Id"


def test_tables_in_any_order_are_written_sorted(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    import dataclasses

    import numpy as np

    snapshot = make_snapshot()
    turned = dataclasses.replace(snapshot, partitions=snapshot.partitions.take(np.array([2, 0, 1])))
    write_snapshot(turned, tmp_path)
    assert pq.ParquetFile(_parquet(tmp_path, "partitions")).read()["partition"].to_pylist() == [0, 9, 10]


@pytest.mark.parametrize("label", ["a/b", "..", ".", "", "k öln", "x" * 500, "\udcfe", "a\nb", "C:\\dump", "cluster=1"])
def test_any_name_gives_a_readable_snapshot_inside_the_directory(
    tmp_path: Path, label: str, make_snapshot: MakeSnapshot
) -> None:
    root = tmp_path / "dump"
    write_snapshot(make_snapshot(cluster_id=None, name=label), root)
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]
    assert len(read_dump_directory(root).partitions) == 3
    assert all(len(part.encode()) < 200 for path in _files(root) for part in path.split("/"))


def test_a_snapshot_without_a_row_is_a_snapshot(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    snapshot = make_snapshot()
    write_snapshot(ClusterSnapshot("id", "n", snapshot.taken_at, "kafka", Table.empty(PARTITIONS)), tmp_path)
    assert _files(tmp_path) == {path for path in _files(tmp_path) if path.startswith("manifests/")}
    assert len(read_dump_directory(tmp_path).partitions) == 0


CRASHING_WRITER = textwrap.dedent(
    """
    # Writes a snapshot in a child that dies without a word at its k-th step, for each k until one finishes.
    import os, pathlib, sys
    import pyarrow.compute, pyarrow.parquet  # once, not in each child
    from tests_store_snapshot import build_snapshot
    from kreplica.store.reading import list_manifests, verify
    from kreplica.store.writing import write_snapshot

    STEPS = {"os.rename", "os.mkdir", "open", "os.rmdir", "os.remove"}

    def child(directory, last_step):
        steps = 0
        def step(name):
            nonlocal steps
            steps += 1
            if steps > last_step:
                os._exit(9)
        def hook(event, arguments):
            if event in STEPS and str(directory) in str(arguments[0]):
                step(event)
        os.fsync = lambda descriptor: step("sync")  # the machine does not crash, only the program
        sys.addaudithook(hook)
        write_snapshot(build_snapshot(), directory)
        os._exit(0)

    root = pathlib.Path(sys.argv[1])
    for last_step in range(500):
        directory = root / str(last_step)
        process = os.fork()
        if process == 0:
            child(directory, last_step)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        listing = list_manifests([directory]) if (directory / "manifests").exists() else None
        whole = [m for m in listing.manifests if not verify(m)] if listing else []
        broken = listing and (listing.problems or len(whole) != len(listing.manifests))
        print(last_step, code, len(whole), "broken" if broken else "sound")
        if code == 0:
            break
    """
)


@pytest.mark.one_python
def test_a_crash_at_any_step_leaves_a_whole_snapshot_or_none(tmp_path: Path) -> None:
    """Each system call that changes the directory is a step, found by Python's audit hooks."""
    support = tmp_path / "support"
    support.mkdir()
    source = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (support / "tests_store_snapshot.py").write_text(source, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{support}{os.pathsep}{Path(__file__).parents[3]}"}
    done = subprocess.run(
        [sys.executable, "-c", CRASHING_WRITER, str(tmp_path / "dumps")],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=120,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 20, "a write has many steps"
    assert all(line[3] == "sound" for line in lines)
    assert lines[-1][1:3] == ["0", "1"], "the last child finished"
    snapshots = [int(line[2]) for line in lines]
    assert snapshots == sorted(snapshots), "the snapshot appears at one step and stays"
    assert 0 < snapshots.index(1) < len(lines) - 1, "steps before and after the manifest stood were tried"


def _interrupt_at(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    calls = 0
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == last:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5])
def test_ctrl_c_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int, make_snapshot: MakeSnapshot
) -> None:
    _interrupt_at(monkeypatch, last)
    with pytest.raises(KeyboardInterrupt):
        write_snapshot(make_snapshot(), tmp_path)
    assert _files(tmp_path) == set()
    assert not list(tmp_path.glob(".writing-*"))


def test_ctrl_c_takes_nothing_of_other_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_snapshot: MakeSnapshot
) -> None:
    write_snapshot(make_snapshot(), tmp_path)
    before = _files(tmp_path)
    _interrupt_at(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        write_snapshot(make_snapshot(), tmp_path)
    assert _files(tmp_path) == before
    assert len(read_dump_directory(tmp_path).partitions) == 3


def test_a_disk_that_takes_no_more_is_a_clear_error(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    """The kernel itself refuses the write: a limit on the size of files stands for the full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UsageError) as caught:
            write_snapshot(make_snapshot(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert os.strerror(errno.EFBIG).lower() in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert _files(tmp_path) == set()


def test_a_directory_that_is_a_file_is_a_clear_error(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=r"cannot write a snapshot to .*file"):
        write_snapshot(make_snapshot(), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_in_the_place_of_a_table_is_a_clear_error(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    (tmp_path / "configs").write_text("mine")
    with pytest.raises(UsageError, match="configs"):
        write_snapshot(make_snapshot(), tmp_path)
    assert _files(tmp_path) == {"configs"}


def test_many_writers_at_once_each_leave_their_snapshot(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    """The same cluster at the same moment: only the random part of the names keeps them apart."""
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def write(leader: int) -> None:
        start.wait()
        try:
            write_snapshot(make_snapshot(leader=leader), tmp_path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    listing = list_manifests([tmp_path])
    assert len(listing.manifests) == 8
    assert not listing.problems
    assert not any(verify(manifest) for manifest in listing.manifests)
    assert not list(tmp_path.glob(".writing-*"))


def test_forgotten_folders_of_crashed_writers_go_after_a_day(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    now = time.time()
    ages = {".writing-old": 25 * 3600, ".writing-running": 3600, ".other-old": 25 * 3600}
    for name, age in ages.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "partitions.parquet").write_bytes(b"half")
        os.utime(tmp_path / name, (now - age, now - age))
    write_snapshot(make_snapshot(), tmp_path)
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".other-old", ".writing-running"]


def test_data_files_without_a_manifest_are_left_and_ignored(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    manifest = write_snapshot(make_snapshot(leader=7), tmp_path)
    manifest.unlink()
    orphans = _files(tmp_path)
    for path in orphans:
        os.utime(tmp_path / path, (0, 0))
    write_snapshot(make_snapshot(leader=1), tmp_path)
    assert orphans < _files(tmp_path)
    assert read_dump_directory(tmp_path).integers("leader").to_list() == [None, -1, 1]


def test_a_null_where_none_may_be_is_a_defect_of_the_source(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    import dataclasses

    from kreplica.model.tables.columns import null_column
    from kreplica.model.tables.schema import Kind

    snapshot = make_snapshot()
    columns = {**snapshot.configs.columns, "origin": null_column(Kind.STRING, len(snapshot.configs))}
    with pytest.raises(AssertionError, match="origin may not be null"):
        write_snapshot(dataclasses.replace(snapshot, configs=Table(CONFIGS, columns)), tmp_path)
    assert _files(tmp_path) == set()


def test_pandas_is_not_imported_on_the_way() -> None:
    """It would take longer than everything else; pyarrow imports it in many of its functions."""
    program = textwrap.dedent(
        """
        import sys, tempfile
        from datetime import UTC, datetime
        from kreplica.model.tables.schema import PARTITIONS
        from kreplica.model.snapshot import ClusterSnapshot
        from kreplica.model.tables.table import Table
        from kreplica.store.reading import read_dump_directory
        from kreplica.store.writing import write_snapshot

        row = {"topic": "t", "partition": 0, "internal": False, "replicas": [1], "isr": [1], "leader": None, "elr": [2]}
        partitions = Table.from_rows(PARTITIONS, [row])
        with tempfile.TemporaryDirectory() as directory:
            write_snapshot(ClusterSnapshot("id", "n", datetime.now(UTC), "kafka", partitions), directory)
            assert read_dump_directory(directory).partitions.row(0)["elr"] == [2]
        assert "pandas" not in sys.modules
        """
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, check=False, timeout=60, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stderr) == (0, b"")
