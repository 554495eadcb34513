"""Kills a run of a plan by SIGKILL at every point of its protocol, one after the other, and has another process go on.

    python kill_points.py apply FOLDER | rollback FOLDER | interrupt FOLDER

``interrupt`` ends a rollback by SIGTERM instead, which has to leave no replica order changed.

Points are: before, in the middle of and after each line of the journal, and before and after each request. Each run is
a process of its own, forked here, so that what it leaves behind is what a killed process leaves behind. Prints the
number of points as its last line; a run that does not end well ends this with an error.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from clusters.paper import PaperCluster, away

from commands.shared.interrupts import end_as_by_ctrl_c
from kreplica.config.handle import ClusterHandle
from kreplica.errors import ExitCode
from kreplica.execution import journal
from kreplica.execution.elections import apply
from kreplica.execution.executor import Pace, Session
from kreplica.execution.journal_file import JournalFile
from kreplica.execution.plan import plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.plan_journal import Phase
from kreplica.execution.progress import Progress, State, replay
from kreplica.execution.rollback import rollback
from kreplica.planner.preferred_leaders import plan_elections

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")
AWAY = (0, 1, 3, 4, 5)
Work = Callable[[Session], str]


class Points:
    """Counts points and sends itself a signal at the one given."""

    def __init__(self, fatal: int | None, number: signal.Signals) -> None:
        self.fatal = fatal
        self.number = number
        self.passed = 0

    def __call__(self, _: str) -> None:
        self.passed += 1
        if self.passed == self.fatal:
            os.kill(os.getpid(), self.number)


def run(plan_path: Path, work: Work, fatal: int | None, number: signal.Signals) -> None:
    """Carries out a plan in this process, to the fatal point if there is one."""
    end_as_by_ctrl_c()
    points = Points(fatal, number)
    PaperCluster(plan_path.with_name("cluster.json"), points).stand_in(setattr)
    append = JournalFile.append

    def torn_append(file: JournalFile, line: bytes) -> None:
        points("before a line")
        if points.fatal == points.passed + 1 and number == signal.SIGKILL:  # no handler runs within a write
            os.write(file._number, line[: len(line) // 2])
        points("in the middle of a line")
        append(file, line)
        points("after a line")

    setattr(JournalFile, "append", torn_append)  # noqa: B010
    plan, digest = read_plan(plan_path)
    with journal.JOURNAL.open(plan_path, plan, digest) as opened:
        work(Session(HANDLE, plan, replay(plan, opened.entries), opened, Pace(), lambda _: None))


def in_a_process(plan_path: Path, work: Work, fatal: int | None = None, number: signal.Signals = signal.SIGKILL) -> int:
    """Carries out the plan in a forked process; its exit code, or the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            run(plan_path, work, fatal, number)
        except KeyboardInterrupt:
            os._exit(ExitCode.INTERRUPTED)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(99)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def fresh_plan(folder: Path) -> tuple[Path, PaperCluster]:
    """A plan of three steps for a cluster with five leaders away."""
    folder.mkdir()
    cluster = PaperCluster(folder / "cluster.json")
    cluster.write(away(*AWAY))
    snapshot = cluster.read_snapshot()
    write_plan(plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00", 2), folder / "plan.json")
    return folder / "plan.json", cluster


def progress_of(plan_path: Path) -> Progress:
    plan, digest = read_plan(plan_path)
    return replay(plan, journal.JOURNAL.read(plan_path, digest)[0])


def every_point(folder: Path, work: Work, prepare: Callable[[Path], None], check: Callable[[Path], None]) -> int:
    """Kills at the first point, the second, ... until a run passes them all; how many there are."""
    begun, _ = fresh_plan(folder / "begun")
    prepare(begun)
    for fatal in range(1, 500):
        plan_path = shutil.copytree(begun.parent, folder / str(fatal)) / begun.name
        ended = in_a_process(plan_path, work, fatal)
        assert ended in (0, signal.SIGKILL), f"point {fatal}: ended with {ended}"
        if ended == signal.SIGKILL:
            assert in_a_process(plan_path, work) == 0, f"point {fatal}: the run after it fails"
        check(plan_path)
        if ended == 0:
            return fatal - 1
    raise AssertionError("the points do not end")


def every_interrupt(folder: Path) -> int:
    """Ends a rollback by SIGTERM at the first point, the second, ... until one passes them all; how many there are."""
    orders = [row["replicas"] for row in away(*AWAY)]
    begun, _ = fresh_plan(folder / "begun")
    apply_first(begun)
    for fatal in range(1, 500):
        plan_path = shutil.copytree(begun.parent, folder / str(fatal)) / begun.name
        cluster = PaperCluster(plan_path.with_name("cluster.json"))
        ended = in_a_process(plan_path, rollback, fatal, signal.SIGTERM)
        assert [row["replicas"] for row in cluster.rows()] == orders, f"point {fatal}: an order is not restored"
        if ended == 0:
            return fatal - 1
        assert ended == ExitCode.INTERRUPTED, f"point {fatal}: ended with {ended}"
        assert in_a_process(plan_path, rollback) == 0, f"point {fatal}: the run after it fails"
        check_rolled_back(plan_path)
    raise AssertionError("the points do not end")


def check_applied(plan_path: Path) -> None:
    rows = PaperCluster(plan_path.with_name("cluster.json")).rows()
    assert all(row["leader"] == row["replicas"][0] for row in rows), rows
    assert all(row["leader_epoch"] == 5 + (row["partition"] in AWAY) for row in rows), "elected once, and only these"
    progress = progress_of(plan_path)
    assert progress.phase is Phase.APPLIED
    # Every change that was made is known to be this plan's own: a rollback will find it.
    assert set(progress.apply.values()) == {State.DONE}, progress.apply


def check_rolled_back(plan_path: Path) -> None:
    rows = PaperCluster(plan_path.with_name("cluster.json")).rows()
    keep = ("leader", "replicas", "isr")
    assert [[row[name] for name in keep] for row in rows] == [[row[name] for name in keep] for row in away(*AWAY)], rows
    progress = progress_of(plan_path)
    assert progress.phase is Phase.ROLLED_BACK
    assert set(progress.rollback.values()) == {State.DONE}, progress.rollback


def apply_first(plan_path: Path) -> None:
    assert in_a_process(plan_path, apply) == 0


if __name__ == "__main__":
    began = time.monotonic()
    where = Path(sys.argv[2]) / sys.argv[1]
    where.mkdir()
    if sys.argv[1] == "apply":
        count = every_point(where, apply, lambda _: None, check_applied)
    elif sys.argv[1] == "interrupt":
        count = every_interrupt(where)
    else:
        count = every_point(where, rollback, apply_first, check_rolled_back)
    print(f"{time.monotonic() - began:.1f} s", file=sys.stderr)
    print(count)
