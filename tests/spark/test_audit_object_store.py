"""kreplica audit of s3://: what it says of a folder, and no secret in what it prints, runs or leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback.object_store import SECRET, ObjectStore, object_store

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def store(root: Path) -> Iterator[ObjectStore]:
    """A store with the packaged fleet."""
    fleet = root / "kreplica" / "data" / "fleet"
    with object_store() as running:
        running.client().create_bucket(Bucket="fleet")
        running.upload(fleet, "fleet", "dumps/")
        yield running


def command_lines() -> str:
    """The command lines of all processes that may be looked at."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


@pytest.mark.timeout(600)
def test_an_audit_of_a_bucket_says_what_one_of_a_folder_says(
    store: ObjectStore, audited: subprocess.CompletedProcess[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    line = [str(Path(sys.executable).with_name("kreplica")), "audit", "s3://fleet/dumps", "-o", "json"]
    (tmp_path / "temporary").mkdir()
    around = {**os.environ, **store.environment, "TMPDIR": str(tmp_path / "temporary")}
    started = subprocess.Popen(
        line, env=around, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    request.addfinalizer(started.kill)
    seen = ""
    while started.poll() is None:
        seen += command_lines()
        try:
            out, err = started.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            continue
    assert "java" in seen
    assert SECRET not in seen
    assert (started.returncode, err) == (audited.returncode, audited.stderr) == (1, "")
    assert out == audited.stdout
    assert SECRET not in out
    left = [path for path in (tmp_path / "temporary").rglob("*") if path.is_file()]
    assert not [path for path in left if path.suffix == ".parquet" or SECRET.encode() in path.read_bytes()]
    assert not list((tmp_path / "temporary").glob("kreplica-copies-*"))
