"""Any life of a plan: applied, killed, resumed, rolled back, while somebody else changes the cluster.

A kill is an exception that nothing here catches, at any request and any line of the journal; what the process knew is
gone, and the next run has the files alone. Real kills are in ``test_kill_points.py``, real brokers in tests/kafka.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusters.paper import PaperCluster, away
from examples import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kreplica.config.handle import ClusterHandle
from kreplica.execution.elections import apply
from kreplica.execution.executor import Pace, Session
from kreplica.execution.journal import JOURNAL
from kreplica.execution.journal_file import JournalFile
from kreplica.execution.plan import LeaderChange, plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.progress import State, replay
from kreplica.execution.rollback import rollback
from kreplica.planner.preferred_leaders import plan_elections

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")
NEVER = 0
KILLS = st.one_of(st.just(NEVER), st.integers(1, 12))
"""At which point from the begin of a run it is killed; most runs have fewer than a dozen."""


class KilledError(BaseException):
    """The process is gone."""


class LifeOfAPlan(RuleBasedStateMachine):
    """The model: what the cluster was, what somebody else did since, and which way the last run went."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="kreplica-life-")
        self.before: list[tuple[Any, str, Any]] = []
        self.fatal = self.passed = 0
        self.cluster = PaperCluster(Path(self.folder.name, "cluster.json"), self.point)
        self.path = Path(self.folder.name, "plan.json")
        self.others: dict[int, tuple[int, int]] = {}
        self.killed = self.rolling_back = False

    @initialize(numbers=st.sets(st.integers(0, 5), min_size=1), batch=st.integers(1, 3))
    def make_the_plan(self, numbers: set[int], batch: int) -> None:
        self.cluster.write(away(*numbers))
        self.cluster.stand_in(self.replace)
        append = JournalFile.append

        def between(file: JournalFile, line: bytes) -> None:
            self.point("before a line")
            append(file, line)
            self.point("after a line")

        self.replace(JournalFile, "append", between)
        snapshot = self.cluster.read_snapshot()
        plan = plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00", batch)
        self.digest = write_plan(plan, self.path)
        self.first = {row["partition"]: row for row in self.cluster.rows()}
        self.changes = {change.partition: change for change in plan.changes}

    def replace(self, module: Any, name: str, value: Any) -> None:
        self.before.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def point(self, _: str) -> None:
        self.passed += 1
        if self.passed == self.fatal:
            raise KilledError

    def run(self, work: Callable[[Session], str], kill: int) -> str | None:
        """Why the run stopped, None where it was killed."""
        self.passed, self.fatal = 0, kill
        plan, digest = read_plan(self.path)
        try:
            with JOURNAL.open(self.path, plan, digest) as journal:
                progress = replay(plan, journal.entries)
                reason = work(Session(HANDLE, plan, progress, journal, Pace(), lambda _: None))
        except KilledError:
            self.killed = True
            return None
        finally:
            self.fatal = NEVER
        self.killed = False
        return reason

    def leader(self, number: int) -> int:
        leader: int = self.cluster.row(number)["leader"]
        return leader

    def own(self) -> list[LeaderChange]:
        """Changes of the plan whose partitions nobody else touched."""
        return [change for number, change in self.changes.items() if number not in self.others]

    @precondition(lambda self: not self.rolling_back)
    @rule(kill=KILLS)
    def apply_or_resume(self, kill: int) -> None:
        reason = self.run(apply, kill)
        if reason == "":
            assert all(self.leader(change.partition) == change.to_leader for change in self.own())
        elif reason is not None:
            assert "has drifted from the plan" in reason
            assert self.others, "nothing else stops a run here"

    @rule(kill=KILLS)
    def roll_back(self, kill: int) -> None:
        self.rolling_back = True
        reason = self.run(rollback, kill)
        if reason == "":
            assert all(self.leader(change.partition) == change.from_leader for change in self.own())
        elif reason is not None:
            assert "has drifted from the plan" in reason
            assert self.others, "nothing else stops a run here"

    @rule(number=st.integers(0, 5))
    def somebody_else_elects_the_third_replica(self, number: int) -> None:
        third = self.first[number]["replicas"][2]
        row = self.cluster.row(number)
        if row["leader"] != third:
            self.cluster.change(number, leader=third, leader_epoch=row["leader_epoch"] + 1)
        self.others[number] = (third, self.cluster.row(number)["leader_epoch"])

    @invariant()
    def no_data_moves(self) -> None:
        for row in self.cluster.rows():
            assert sorted(row["replicas"]) == sorted(self.first[row["partition"]]["replicas"])

    @invariant()
    def the_order_is_as_it_was_unless_a_run_was_killed(self) -> None:
        for row in self.cluster.rows():
            same = row["replicas"] == self.first[row["partition"]]["replicas"]
            assert same or (self.killed and self.rolling_back and row["partition"] in self.changes)

    @invariant()
    def what_somebody_else_did_is_left_alone(self) -> None:
        for number, did in self.others.items():
            row = self.cluster.row(number)
            assert (row["leader"], row["leader_epoch"]) == did

    @invariant()
    def each_partition_is_led_by_who_the_plan_names_or_as_it_was(self) -> None:
        for number in self.first.keys() - self.others.keys():
            change = self.changes.get(number)
            named = {change.from_leader, change.to_leader} if change else {self.first[number]["leader"]}
            assert self.leader(number) in named
            assert self.cluster.row(number)["leader_epoch"] <= 5 + (2 if self.rolling_back else 1) * (
                change is not None
            )

    @invariant()
    def what_was_changed_is_known_to_be_the_plans_own(self) -> None:
        plan, digest = read_plan(self.path)
        with JOURNAL.open(self.path, plan, digest) as journal:
            progress = replay(plan, journal.entries)
        for change in self.own():
            if not self.rolling_back and self.leader(change.partition) == change.to_leader:
                assert progress.apply[change.key] in (State.DONE, State.UNDER_WAY)

    def teardown(self) -> None:
        for module, name, value in reversed(self.before):
            setattr(module, name, value)
        self.folder.cleanup()


TestLifeOfAPlan = LifeOfAPlan.TestCase
TestLifeOfAPlan.settings = settings(examples(0.4), stateful_step_count=12)
