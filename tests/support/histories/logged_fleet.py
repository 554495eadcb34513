"""The packaged fleet and the metadata log of one of its clusters: a history here, and all of it in an object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from loopback.object_store import ObjectStore

from kreplica.monitoring.snapshots.ingestion import ingest_dumps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "fleet"
DUMPS, HISTORY = f"s3://{BUCKET}/dumps", f"s3://{BUCKET}/history"
TOLD = ("cluster", "rule", "severity", "topic", "partition", "broker", "message", "exact")
TIMES = ("valid_from", "last_seen", "valid_to")


@dataclass(frozen=True)
class LoggedFleet:
    """The fleet.

    Args:
        dumps: Its snapshots.
        history: A history of these and of the log.
        store: A store that has both, as DUMPS and HISTORY.
    """

    dumps: Path
    history: Path
    store: ObjectStore

    @property
    def environment(self) -> dict[str, str]:
        """Environment of programs that are let into the store."""
        return {**os.environ, **self.store.environment}


def make_logged_fleet(root: Path, history: Path, store: ObjectStore) -> LoggedFleet:
    """Takes the fleet and the log into a history, and puts dumps and history into a new bucket of the store."""
    dumps = root / "kreplica" / "data" / "fleet"
    log = root / "tests" / "golden" / "kafka-4.3.1" / "killed-all" / "broker-1" / "data"
    found = ingest_dumps([dumps, log], history)
    assert (found.total("added"), found.total("log_months"), found.problems) == (13, 1, [])
    store.client().create_bucket(Bucket=BUCKET)
    store.upload(dumps, BUCKET, "dumps/")
    store.upload(history, BUCKET, "history/")
    return LoggedFleet(dumps, history, store)


def audited_here(spark: SparkSession, history: Path) -> list[tuple[object, ...]]:
    """Findings of an audit of a history in this process."""
    from analyzers.fleet_audit import run_audit, select_fleet
    from analyzers.rules.criteria import criteria_of

    found = run_audit(spark, select_fleet([history]), criteria_of(None))
    return _told(msgspec.json.decode(msgspec.json.encode(row)) for row in found.audit.findings())


def audited_there(answer: subprocess.CompletedProcess[str]) -> list[tuple[object, ...]]:
    """The same of an audit that was run with -o jsonl."""
    assert (answer.returncode, answer.stderr) == (1, ""), answer.stderr
    return _told(map(json.loads, answer.stdout.splitlines()))


def _told(rows: Iterable[dict[str, Any]]) -> list[tuple[object, ...]]:
    return sorted((tuple(row[name] for name in (*TOLD, *TIMES)) for row in rows), key=repr)


def ingested(line: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """The answer of an ingest that takes twelve snapshots for many."""
    program = folder / "many.py"
    program.write_text(_INGESTING_MANY)
    done = subprocess.run(
        [sys.executable, str(program), *map(str, line), "-o", "json"],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env=dict(environment),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


_INGESTING_MANY = """
import sys
import analyzers.backfill
from commands.main import run

analyzers.backfill.FEW = 12
if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
"""
