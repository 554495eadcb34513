"""Many snapshots taken in by several processes: the same files, and nothing lost or left running by a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from histories.folders import contents

from kreplica.errors import ExitCode, UsageError
from kreplica.history import backfill
from kreplica.history.backfill import THIS_PROCESS, ClientWorkers
from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage


@pytest.fixture
def stored(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """The packaged fleet, twelve snapshots of two clusters, which are many here."""
    monkeypatch.setattr(backfill, "MANY", 12)
    candidates, problems = stored_snapshots([root / "kreplica" / "data" / "fleet"])
    assert (len(candidates), problems) == (12, [])
    return candidates


def other_process(act: int, snapshot: partial[ClusterSnapshot], here: int) -> ClusterSnapshot:
    """Reads a snapshot; in another process than this number's it ends by that signal instead, or fails if that is 0."""
    if os.getpid() != here:
        os.kill(os.getpid(), act)
        time.sleep(10)
    return snapshot()


def reading(candidates: Sequence[Candidate], act: int) -> list[Candidate]:
    """The same, of which the third is read by ``other_process``."""
    third = candidates[2].snapshot
    changed = replace(third, read=partial(other_process, act, third.read, os.getpid()))
    return [*candidates[:2], replace(candidates[2], snapshot=changed), *candidates[3:]]


def test_processes_make_the_files_that_one_makes_and_tell_each_month(tmp_path: Path, stored: list[Candidate]) -> None:
    one, several = LocalStorage(tmp_path / "one"), LocalStorage(tmp_path / "several")
    alone = ingest(stored, one)
    steps: list[tuple[int, int]] = []
    together = ingest(stored, several, workers=ClientWorkers(2), seen=lambda *step: steps.append(step))
    assert contents(tmp_path / "several") == contents(tmp_path / "one")
    assert together.rows == alone.rows
    assert (alone.by, together.by) == (THIS_PROCESS, "2 processes")
    assert steps == [(6, 12), (12, 12)]
    again = ingest(stored, several, workers=ClientWorkers(2))
    assert (again.total("added"), again.total("known")) == (0, 12)


def test_few_snapshots_and_one_month_stay_in_this_process(tmp_path: Path, stored: list[Candidate]) -> None:
    few = ingest(stored[1:], LocalStorage(tmp_path / "few"), workers=ClientWorkers(2))
    cluster = stored[0].cluster
    month = [one for one in stored if one.cluster == cluster]
    single = ingest(month * 2, LocalStorage(tmp_path / "single"), workers=ClientWorkers(2))
    assert (few.by, single.by) == (THIS_PROCESS, THIS_PROCESS)
    assert single.total("added") == 6


def test_what_this_process_holds_it_takes_in_itself(tmp_path: Path, stored: list[Candidate]) -> None:
    """A snapshot that was read from a text of a tool is not read again by another process, and could not be sent."""
    snapshot = stored[0].snapshot.read()
    other = replace(snapshot, cluster_id="another")
    held = replace(stored[0].snapshot, read=lambda: other, held=True)
    more = [replace(stored[0], cluster="another", snapshot=held), *stored]
    found = ingest(more, LocalStorage(tmp_path / "several"), workers=ClientWorkers(2))
    ingest(more, LocalStorage(tmp_path / "one"))
    assert (found.by, found.total("added")) == ("2 processes", 13)
    assert contents(tmp_path / "several") == contents(tmp_path / "one")


def test_a_process_that_is_killed_is_told_and_the_rest_is_taken_in_afterwards(
    tmp_path: Path, stored: list[Candidate]
) -> None:
    storage = LocalStorage(tmp_path / "history")
    with pytest.raises(UsageError, match="ended from outside") as raised:
        ingest(reading(stored, signal.SIGKILL), storage, workers=ClientWorkers(2))
    assert raised.value.exit_code is ExitCode.USAGE
    after = ingest(stored, storage, workers=ClientWorkers(2))
    assert after.total("added") + after.total("known") == 12
    ingest(stored, LocalStorage(tmp_path / "whole"))
    assert contents(tmp_path / "history") == contents(tmp_path / "whole")


SCRIPT = """
from pathlib import Path
import kreplica
from kreplica.history import backfill

print("begun", flush=True)
backfill.MANY, backfill._processors = 2, lambda: 2
found = kreplica.ingest_dumps([Path(kreplica.__file__).parent / "data/fleet"], Path("history"))
print(found.by, found.total("added"), flush=True)
"""


def test_a_script_of_the_library_uses_processes_as_the_command_does_and_is_run_once(
    tmp_path: Path, stored: list[Candidate]
) -> None:
    program = tmp_path / "script.py"
    program.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["begun", "2 processes 12"]
    ingest(stored, LocalStorage(tmp_path / "one"))
    assert contents(tmp_path / "history") == contents(tmp_path / "one")


WAITING = """
import os, sys, time
from kreplica.system.processes import in_new_processes

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    list(in_new_processes(work, [1, 2], 2))
"""


def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "waiting.py"
    program.write_text(WAITING)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(is_running, children))
        parent.kill()
        deadline = time.monotonic() + 20
        while any(map(is_running, children)) and time.monotonic() < deadline:
            time.sleep(0.1)
        left = [child for child in children if is_running(child)]
        for child in left:
            os.kill(child, signal.SIGKILL)
    assert left == []


def is_running(process: int) -> bool:
    """True unless it is gone, or waits for its end to be noticed."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
