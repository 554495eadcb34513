"""The journal: what stays after a kill, who may write it, and that it belongs to one plan."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters.paper import PaperCluster, away
from hypothesis import given
from hypothesis import strategies as st

from kreplica.config.handle import ClusterHandle
from kreplica.errors import ChangeRefusedError, InputError, UsageError
from kreplica.execution.elections import apply
from kreplica.execution.executor import Pace, Session
from kreplica.execution.journal import JOURNAL, Event, entry
from kreplica.execution.journal_file import journal_path, set_aside
from kreplica.execution.plan import plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.plan_journal import Operation, Phase
from kreplica.execution.progress import State, replay
from kreplica.planner.preferred_leaders import plan_elections

Make = Callable[..., Any]
HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")

HOLDER = """
import sys, time
from pathlib import Path
from kreplica.execution.journal import JOURNAL
from kreplica.execution.plan_file import read_plan
path = Path(sys.argv[1])
with JOURNAL.open(path, *read_plan(path)):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def applied() -> Iterator[tuple[PaperCluster, Path, bytes]]:
    """A plan of three steps, applied, and its journal."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = PaperCluster(folder / "cluster.json")
        cluster.write(away(0, 1, 3, 4, 5))
        cluster.stand_in(patch.setattr)
        snapshot = cluster.read_snapshot()
        path = folder / "plan.json"
        write_plan(plan_leaders(snapshot, plan_elections(snapshot), "now", 2), path)
        run(path)
        yield cluster, path, journal_path(path).read_bytes()


def run(path: Path) -> None:
    plan, digest = read_plan(path)
    with JOURNAL.open(path, plan, digest) as journal:
        apply(Session(HANDLE, plan, replay(plan, journal.entries), journal, Pace(), lambda _: None))


@given(st.data())
def test_any_prefix_of_a_journal_resumes(applied: tuple[PaperCluster, Path, bytes], data: st.DataObject) -> None:
    cluster, path, whole = applied
    cut = data.draw(st.integers(0, len(whole)))
    rows = cluster.rows()
    plan, digest = read_plan(path)
    journal_path(path).write_bytes(whole[:cut])
    before = replay(plan, JOURNAL.read(path, digest)[0])
    run(path)
    after = replay(plan, JOURNAL.read(path, digest)[0])
    assert after.phase is Phase.APPLIED
    assert cluster.rows() == rows, "what leads already is not elected again"
    for key, state in before.apply.items():
        # What was intended is this plan's doing; of what was never intended it cannot be said.
        assert after.apply[key] is (State.ALREADY if state is State.PENDING else State.DONE)
    assert journal_path(path).read_bytes().startswith(whole[: whole.rfind(b"\n", 0, cut) + 1])


def test_a_torn_tail_is_cut_off_and_not_written_on(paper: Make) -> None:
    made = paper(0)
    made.run(apply)
    path = journal_path(made.path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at": "2026-03-01", "eve\x00\xff')
    assert made.progress.phase is Phase.APPLIED
    with JOURNAL.open(made.path, made.plan, made.digest) as journal:
        journal.append(entry(Event.STOPPED, Operation.APPLY, message="as a test"))
    assert path.read_bytes().startswith(whole + b'{"at"')
    assert made.progress.message == "as a test"


def test_half_a_line_of_a_full_disk_is_taken_back(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0)
    made.run(apply)
    whole = journal_path(made.path).read_bytes()
    write, left = os.write, [10]

    def full(number: int, content: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        written = write(number, content[: left[0]])
        left[0] -= written
        return written

    with JOURNAL.open(made.path, made.plan, made.digest) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(ChangeRefusedError, match="no space left on device"):
            journal.append(entry(Event.STARTED, Operation.ROLLBACK))
        assert journal_path(made.path).read_bytes() == whole
        monkeypatch.setattr(os, "write", write)
        journal.append(entry(Event.STOPPED, Operation.APPLY, message="there is space again"))
    assert made.progress.message == "there is space again"


def test_one_who_reads_for_a_moment_keeps_no_executor_out(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kreplica.execution.journal_file.READ_SECONDS", 30)  # the machine may be busy
    made = paper(0)
    made.run(apply)
    with journal_path(made.path).open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        reader = threading.Timer(0.2, fcntl.flock, (file, fcntl.LOCK_UN))
        reader.start()
        with JOURNAL.open(made.path, made.plan, made.digest) as opened:
            assert opened is not None
        reader.join()


def test_a_journal_that_cannot_be_set_aside_is_named(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0)
    made.run(apply)

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(UsageError, match=r"cannot set .*plan.json.journal aside; permission denied"):
        set_aside(made.path)


def test_a_line_that_is_not_the_last_must_be_whole(paper: Make) -> None:
    made = paper(0)
    made.run(apply)
    lines = journal_path(made.path).read_bytes().split(b"\n")
    journal_path(made.path).write_bytes(b"\n".join([*lines[:2], lines[2][:20], *lines[3:]]))
    with pytest.raises(InputError, match=r"plan.json.journal, line 3; not a line of a journal"):
        made.run(apply)


def test_a_journal_belongs_to_one_plan(paper: Make, tmp_path: Path) -> None:
    made = paper(0, 1)
    made.run(apply)
    made.path.unlink()
    made.cluster.write(away(0))
    snapshot = made.cluster.read_snapshot()
    digest = write_plan(plan_leaders(snapshot, plan_elections(snapshot), "now", 1), made.path)
    for ask in (lambda: JOURNAL.read(made.path, digest), lambda: run(made.path)):
        with pytest.raises(InputError, match=r"it belongs to plan .* of another content"):
            ask()
    aside = set_aside(made.path)
    assert aside is not None
    assert aside.exists()
    assert set_aside(made.path) is None
    run(made.path)


@pytest.mark.parametrize(
    "first", ['{"schema": "kreplica/journal/v2", "plan": "", "plan_id": "", "cluster_id": ""}', "{}", "x"]
)
def test_what_is_no_journal_is_refused_and_left_alone(paper: Make, first: str) -> None:
    made = paper(0)
    journal_path(made.path).write_text(first + "\n")
    with pytest.raises(InputError, match="line 1"):
        made.run(apply)
    assert journal_path(made.path).read_text() == first + "\n"


def test_one_executor_at_a_time_and_a_dead_one_holds_nothing(paper: Make) -> None:
    made = paper(0)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(made.path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ChangeRefusedError, match="the plan is being carried out; another process holds"):
            made.run(apply)
        with pytest.raises(ChangeRefusedError, match="being carried out"):
            set_aside(made.path)
        assert JOURNAL.read(made.path, made.digest) == ([], True)
    finally:
        holder.kill()
        holder.communicate()
    assert JOURNAL.read(made.path, made.digest) == ([], False)
    assert made.run(apply) == ""


def test_readers_do_not_keep_each_other_out(paper: Make) -> None:
    made = paper(0)
    made.run(apply)
    with journal_path(made.path).open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert JOURNAL.read(made.path, made.digest)[1] is False
