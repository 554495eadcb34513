"""Kills a run of a plan of replicas by SIGKILL at every point of its protocol, and has another process go on.

    python kill_moves.py apply | rate | rollback | cancel | directory-rollback | directory-cancel FOLDER

Points are: before, in the middle of and after each line of the journal, and before and after each request. Each run is
a process of its own, forked here. Prints the number of points as its last line; a run that does not end well ends this
with an error.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from clusters.moving import SIZE, MovingCluster

from kreplica.config.handle import ClusterHandle
from kreplica.errors import ExitCode
from kreplica.execution.journal_file import JournalFile
from kreplica.execution.moves import carrying_out
from kreplica.execution.moves.carrying_out import CarryOutOptions, MoveOutcome
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL
from kreplica.execution.moves.plans.plan import PlanRequest, plan_replicas
from kreplica.execution.moves.plans.plan_file import read_replica_plan, write_replica_plan
from kreplica.execution.moves.plans.progress import MoveProgress, replay_moves
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.session import MoveOptions
from kreplica.execution.moves.throttles import throttling
from kreplica.execution.moves.throttles.rate_changes import RateRequest
from kreplica.execution.plan_journal import Phase
from kreplica.model.throttles import DIRECTORY_RATE
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.order import MoveLimits
from plans.kill_points import Points

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")
BEFORE = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
AFTER = [(2, 1, 4), (2, 4, 1), (3, 1, 2)]
LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
OPERATORS: dict[str, Any] = {
    "own": {f"1/{LEADER}.rate": "7"},
    "default": {f"{FOLLOWER}.rate": "80", DIRECTORY_RATE: "60", "check": "1"},
    "lists": {f"{LEADER}.replicas": "2:1,0:2"},
    "cordons": {"5": "/one"},
}
"""Throttles of an operator; every move has to be throttled whenever the cluster is looked at (``check``)."""
OPTIONS = CarryOutOptions(MoveOptions(throttle=5_000_000, max_wait=1.0, poll=0.0))
Work = Callable[[Path], MoveOutcome]


def apply(path: Path) -> MoveOutcome:
    return carrying_out.moves_apply(HANDLE, path, OPTIONS, execute=True)


def apply_at_another_rate(path: Path) -> MoveOutcome:
    """Asks for another rate while the first move is in flight."""
    asked = iter((None, RateRequest("id-1", 7_000_000)))
    setattr(carrying_out, "requests_of", lambda *_: lambda: next(asked, None))  # noqa: B010
    return apply(path)


def resume(path: Path) -> MoveOutcome:
    return carrying_out.moves_resume(HANDLE, path, OPTIONS, execute=True)


def roll_back(path: Path) -> MoveOutcome:
    return carrying_out.moves_rollback(HANDLE, path, OPTIONS, execute=True)


def cancel(path: Path) -> MoveOutcome:
    return carrying_out.moves_cancel(HANDLE, path, OPTIONS, in_flight=True, execute=True)


def in_a_process(path: Path, work: Work, fatal: int | None = None) -> int:
    """Runs it in a forked process; its exit code, or the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            points = Points(fatal, signal.SIGKILL)
            cluster = MovingCluster(path.with_name("cluster.json"), points)
            setattr(carrying_out, "LiveCluster", lambda *_, **__: cluster)  # noqa: B010
            throttling.SETTLE_SECONDS = 0.2
            runner.SETTLE_SECONDS = 0.0
            setattr(JournalFile, "append", torn(JournalFile.append, points))  # noqa: B010
            code = work(path).exit_code
        except BaseException:
            import traceback

            traceback.print_exc()
            code = ExitCode.INTERNAL
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def torn(append: Callable[[JournalFile, bytes], None], points: Points) -> Callable[[JournalFile, bytes], None]:
    """Has every line pass three points, in the middle of which half of it is written."""

    def torn_append(file: JournalFile, line: bytes) -> None:
        points("before a line")
        if points.fatal == points.passed + 1:
            os.write(file._number, line[: len(line) // 2])
        points("in the middle of a line")
        append(file, line)
        points("after a line")

    return torn_append


def leaders(path: Path) -> list[int]:
    return [row["leader"] for row in MovingCluster(path.with_name("cluster.json")).read()["rows"].values()]


def fresh_plan(folder: Path) -> Path:
    """A plan of a change of a log directory and two moves, one in flight at a time, under an operator's throttles."""
    folder.mkdir()
    cluster = MovingCluster(folder / "cluster.json")
    cluster.start(*BEFORE, **OPERATORS)
    targets = {("orders", number): replicas for number, replicas in enumerate(AFTER)}
    within = [ChangedDirectory("orders", 2, 3, "/d", "/e", SIZE)]
    request = PlanRequest(targets, limits=MoveLimits(moves=1), changed_directories=within)
    plan, left_out = plan_replicas(cluster.snapshot(), request, "2026-03-01")
    assert not left_out
    write_replica_plan(replace(plan, drained=(5,)), folder / "plan.json")
    return folder / "plan.json"


def progress_of(path: Path) -> MoveProgress:
    plan, digest = read_replica_plan(path)
    return replay_moves(plan, MOVE_JOURNAL.read(path, digest)[0])


def every_point(folder: Path, work: Work, prepare: Callable[[Path], None], check: Callable[[Path], None]) -> int:
    """Kills at the first point, the second, ... until a run passes them all; how many there are."""
    begun = fresh_plan(folder / "begun")
    prepare(begun)
    for fatal in range(1, 500):
        path = shutil.copytree(begun.parent, folder / str(fatal)) / begun.name
        ended = in_a_process(path, work, fatal)
        assert ended in (0, signal.SIGKILL), f"point {fatal}: ended with {ended}"
        if ended == signal.SIGKILL:
            on = again(work, path)
            assert in_a_process(path, on) == 0, f"point {fatal}: the run after it fails"
        try:
            check(path)
        except AssertionError as error:
            raise AssertionError(f"point {fatal}: {error}") from error
        if ended == 0:
            return fatal - 1
    raise AssertionError("the points do not end")


def again(work: Work, path: Path) -> Work:
    """The command that goes on: resume, or the same again where it had noted nothing yet."""
    rolling = progress_of(path).phase in (Phase.ROLLING_BACK, Phase.ROLLED_BACK)
    progress = progress_of(path)
    cancelled = "under-way" not in (*progress.apply.values(), *progress.within.apply.values())
    return {roll_back: resume if rolling else roll_back, cancel: resume if cancelled else cancel}.get(work, resume)


def require_throttles_of_before(path: Path) -> None:
    state = MovingCluster(path.with_name("cluster.json")).read()
    assert {name: state[name] for name in OPERATORS} == OPERATORS, state
    assert not progress_of(path).owes


def check_applied(path: Path) -> None:
    require_throttles_of_before(path)
    cluster, progress = MovingCluster(path.with_name("cluster.json")), progress_of(path)
    assert cluster.replicas == AFTER, cluster.replicas
    assert progress.phase is Phase.APPLIED
    # Every move that was made is known to be this plan's own: a rollback will find it.
    assert {str(state) for state in progress.apply.values()} == {"done"}, progress.apply
    assert (cluster.where, [*progress.within.apply.values()]) == ({"2/3": "/e"}, ["done"]), cluster.where
    assert leaders(path) == [2, 2, 3], "the preferred leader that the plan changes is elected"


def check_back(path: Path) -> None:
    require_throttles_of_before(path)
    cluster, progress = MovingCluster(path.with_name("cluster.json")), progress_of(path)
    assert (cluster.replicas, cluster.where) == (BEFORE, {}), (cluster.replicas, cluster.where)
    assert not cluster.read()["future"], "a copy in another directory is left"
    assert progress.phase is Phase.ROLLED_BACK
    assert leaders(path) == [1, 2, 3]


def check_cancelled(path: Path) -> None:
    require_throttles_of_before(path)
    cluster, progress = MovingCluster(path.with_name("cluster.json")), progress_of(path)
    assert cluster.replicas == [AFTER[0], *BEFORE[1:]], cluster.replicas
    assert sorted(map(str, progress.apply.values())) == ["cancelled", "done"], progress.apply


def check_directory_cancelled(path: Path) -> None:
    require_throttles_of_before(path)
    cluster, progress = MovingCluster(path.with_name("cluster.json")), progress_of(path)
    assert (cluster.replicas, cluster.where, cluster.read()["future"]) == (BEFORE, {}, {})
    assert [*map(str, progress.apply.values())] == ["dropped", "dropped"], progress.apply
    assert [*map(str, progress.within.apply.values())] == ["cancelled"], progress.within


def one_in_flight(path: Path) -> None:
    """One move made, the other in flight."""
    cluster = MovingCluster(path.with_name("cluster.json"))
    cluster.change(1, hangs=True)
    assert in_a_process(path, apply) == ExitCode.CHANGE_REFUSED
    assert cluster.replicas[1] == (2, 4, 1, 3)


def directory_in_flight(path: Path) -> None:
    """The change of a log directory in flight, nothing else begun."""
    cluster = MovingCluster(path.with_name("cluster.json"))
    cluster.change(2, hangs=True)
    assert in_a_process(path, apply) == ExitCode.CHANGE_REFUSED
    assert (cluster.replicas, list(cluster.read()["future"])) == (BEFORE, ["2/3"])


if __name__ == "__main__":
    where = Path(sys.argv[2]) / sys.argv[1]
    where.mkdir()
    if sys.argv[1] == "apply":
        print(every_point(where, apply, lambda _: None, check_applied))
    elif sys.argv[1] == "rate":
        print(every_point(where, apply_at_another_rate, lambda _: None, check_applied))
    elif sys.argv[1] == "rollback":
        print(every_point(where, roll_back, one_in_flight, check_back))
    elif sys.argv[1] == "cancel":
        print(every_point(where, cancel, one_in_flight, check_cancelled))
    elif sys.argv[1] == "directory-rollback":
        print(every_point(where, roll_back, directory_in_flight, check_back))
    else:
        print(every_point(where, cancel, directory_in_flight, check_directory_cancelled))
