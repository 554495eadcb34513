"""Plans on the command line, without a cluster: what is written, refused, dropped, and how it is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.execution.journal import JOURNAL, Event, Result, entry
from kreplica.execution.plan_file import read_plan
from kreplica.execution.plan_journal import Operation
from kreplica.store.writing import write_snapshot

BROKERS = [{"broker": broker, "alive": True} for broker in (1, 2, 3)]
AWAY = [partition("orders", number, leader=2, leader_epoch=5) for number in range(3)]
ALIVE = [partition("orders", 3, leader_epoch=5)]


@pytest.fixture
def dump(tmp_path: Path) -> Callable[..., Path]:
    """Writes a dump of a cluster; the facts of its first partition can be changed."""
    count = iter(range(100))

    def write(rows: Any = (*AWAY, *ALIVE), **facts: Any) -> Path:
        folder = tmp_path / f"dump-{next(count)}"
        write_snapshot(snapshot_of(rows, BROKERS, **facts), folder)
        return folder

    return write


@pytest.fixture
def plan(kreplica: Any, dump: Any, tmp_path: Path) -> Path:
    """A plan of three elections in two steps."""
    ended = kreplica("rebalance", "leaders", "--dump", dump(), "--out", tmp_path / "plan.json", "--batch", "2")
    assert ended.code == 0, ended.err
    return tmp_path / "plan.json"


def note(path: Path, *entries: Any) -> None:
    with JOURNAL.open(path, *read_plan(path)) as journal:
        for one in entries:
            journal.append(one)


def begun(*done: int) -> list[Any]:
    """The journal of a run that did some elections and was killed in the next step."""
    results = tuple(Result("orders", number, 1, done=True) for number in done)
    intended = tuple(("orders", number) for number in done)
    return [
        entry(Event.STARTED, Operation.APPLY, pid=1),
        entry(Event.INTENDED, Operation.APPLY, step=1, partitions=intended),
        entry(Event.FINISHED, Operation.APPLY, step=1, results=results),
    ]


def test_a_plan_is_written_and_told(kreplica: Any, dump: Any, tmp_path: Path) -> None:
    path = tmp_path / "a plan.json"
    ended = kreplica("rebalance", "leaders", "--dump", dump(), "--out", path, "--batch", "2", "--topic", "orders")
    assert ended.code == 0
    assert ended.out.startswith(f"PLANNED plan of 3 elections in 2 batches written to {path}; nothing was changed\n")
    assert ended.out.endswith(f"next     kreplica rebalance apply '{path}' --bootstrap-server HOST:PORT\n")
    plan, _ = read_plan(path)
    assert plan.cluster_id == "cluster-id"
    assert [len(step.changes) for step in plan.steps] == [2, 1]


def test_the_answer_names_the_plan(kreplica: Any, dump: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    ended = kreplica("rebalance", "leaders", "--dump", dump(), "--out", path, "-o", "json")
    summary = ended.document["summary"]
    assert (summary["plan"], summary["steps"], summary["executed"]) == (str(path), 1, False)
    assert summary["plan_id"] == read_plan(path)[0].plan_id


def test_a_plan_is_not_overwritten_unasked(kreplica: Any, dump: Any, plan: Path) -> None:
    before = plan.read_bytes()
    again = ["rebalance", "leaders", "--dump", dump(), "--out", plan]
    ended = kreplica(*again)
    assert (ended.code, plan.read_bytes()) == (2, before)
    assert ended.err == f"error: {plan} is there already; it is not overwritten unasked; give --force\n"
    note(plan, *begun(0, 1))
    assert kreplica(*again, "--force").code == 0
    assert plan.read_bytes() != before
    (aside,) = plan.parent.glob("plan.json.journal.*")
    assert b'"finished"' in aside.read_bytes(), "what was done stays on record"
    assert kreplica("rebalance", "apply", plan, "--dump", dump()).code == 0


def test_a_plan_beside_an_old_journal_needs_force(kreplica: Any, dump: Any, plan: Path) -> None:
    note(plan)
    plan.unlink()
    ended = kreplica("rebalance", "leaders", "--dump", dump(), "--out", plan)
    assert ended.code == 2
    assert "a plan of that name was begun; give --force" in ended.err


def test_out_and_execute_exclude_each_other(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("rebalance", "leaders", "--dump", "sample", "--out", tmp_path / "p.json", "--execute")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "--execute and --out exclude each other" in ended.err


def test_a_cluster_without_an_id_gets_no_plan(kreplica: Any, tmp_path: Path) -> None:
    text = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "3-broker-back" / "topics-describe.txt"
    ended = kreplica("rebalance", "leaders", "--dump", text, "--out", tmp_path / "p.json")
    assert ended.code == 2
    assert "does not tell the id of its cluster; use the live cluster or a dump of kreplica snapshot" in ended.err
    assert not (tmp_path / "p.json").exists()


def test_hidden_topics_are_no_part_of_the_plan_but_are_told(kreplica: Any, dump: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    partly = dump(gaps=(hidden(2),))
    ended = kreplica("rebalance", "leaders", "--dump", partly, "--out", path)
    assert (ended.code, ended.err) == (5, "warning: 2 topics are hidden [from you]\n")
    assert len(read_plan(path)[0].changes) == 3
    # All that the plan is about can be seen: it can be carried out. Only what becomes of the rest is not seen.
    ended = kreplica("rebalance", "apply", path, "--dump", partly)
    assert (ended.code, ended.err) == (5, "warning: 2 topics are hidden [from you]\n")
    assert "INCOMPLETE 3 of 3 planned elections are left to run; nothing was changed\n" in ended.out


def test_a_dry_run_shows_what_would_be_done(kreplica: Any, dump: Any, plan: Path) -> None:
    connection_options = ["--dump", dump()]
    ended = kreplica("rebalance", "apply", plan, *connection_options)
    assert ended.code == 0
    assert ended.out == (
        "DRY RUN 3 of 3 planned elections are left to run; nothing was changed\n"
        "TOPIC   PARTITION  FROM  TO  STEP  STATE    LEADER  REASON\n"
        "orders  0          2     1   1     pending  2       -\n"
        "orders  1          2     1   1     pending  2       -\n"
        "orders  2          2     1   2     pending  2       -\n"
        f"next     kreplica rebalance apply {plan} --bootstrap-server HOST:PORT --execute\n"
    )
    assert not plan.with_name("plan.json.journal").exists()


def test_what_has_drifted_is_named_and_the_plan_refused(kreplica: Any, dump: Any, plan: Path) -> None:
    now = dump([{**AWAY[0], "leader_epoch": 7}, {**AWAY[1], "leader": 1, "leader_epoch": 6}, *ALIVE])
    ended = kreplica("rebalance", "apply", plan, "--dump", now)
    assert ended.code == 4
    assert ended.out == (
        "REFUSED 2 of 3 planned elections no longer fit the cluster; nothing was changed\n"
        "TOPIC   PARTITION  FROM  TO  STEP  STATE    LEADER  REASON\n"
        "orders  0          2     1   1     drifted  2       leader epoch changed from 5 to 7\n"
        "orders  1          2     1   1     pending  1       it leads already\n"
        "orders  2          2     1   2     drifted  -       deleted\n"
        f"next     kreplica rebalance leaders --dump {now} --out FILE\n"
    )
    document = kreplica("rebalance", "apply", plan, "--dump", now, "-o", "json").document
    assert document["schema"] == "kreplica/rebalance-apply/v1"
    assert (document["summary"]["drifted"], document["summary"]["pending"]) == (2, 1)


@pytest.mark.parametrize("command", ["apply", "status", "resume", "rollback"])
def test_a_plan_of_another_cluster_is_refused(kreplica: Any, dump: Any, plan: Path, command: str) -> None:
    ended = kreplica("rebalance", command, plan, "--dump", dump(cluster_id="elsewhere"))
    assert ended.code == 4
    assert ended.err == (
        "error: the plan belongs to another cluster; made for cluster-id (test), this is elsewhere;"
        " name the cluster it was made for\n"
    )


@pytest.mark.parametrize("command", ["apply", "status", "resume", "rollback", "cancel"])
def test_a_file_that_is_no_plan_is_one_clear_line(kreplica: Any, dump: Any, tmp_path: Path, command: str) -> None:
    path = tmp_path / "not-a-plan.json"
    path.write_text('{"version": 1, "partitions": []}')
    connection_options = [] if command == "cancel" else ["--dump", dump()]
    ended = kreplica("rebalance", command, path, *connection_options, "-o", "json")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "not a plan of kreplica; make it anew: kreplica rebalance leaders --out FILE" in ended.err
    assert json.loads(ended.out)["error"]["kind"] == "input"


def test_a_plan_that_was_begun_is_resumed_not_applied(kreplica: Any, dump: Any, plan: Path) -> None:
    note(plan, *begun(0, 1))
    now = dump([*({**row, "leader": 1, "leader_epoch": 6} for row in AWAY[:2]), AWAY[2], *ALIVE])
    ended = kreplica("rebalance", "apply", plan, "--dump", now)
    assert ended.code == 4
    assert ended.err == (
        f"error: {plan}: the plan was begun before; interrupted, 2 of 3 done;"
        " see kreplica rebalance status, go on by resume\n"
    )
    ended = kreplica("rebalance", "resume", plan, "--dump", now)
    assert ended.code == 0
    assert "DRY RUN 1 of 3 planned elections is left to run; nothing was changed\n" in ended.out
    assert ended.out.endswith(f"next     kreplica rebalance resume {plan} --bootstrap-server HOST:PORT --execute\n")


def test_status_tells_how_far_it_is_and_what_to_type(kreplica: Any, dump: Any, plan: Path) -> None:
    ended = kreplica("rebalance", "status", plan, "--dump", dump())
    assert ended.code == 1
    assert ended.out.startswith("NOT YET not begun: 3 pending\n")
    assert ended.out.splitlines()[-1].startswith("next     kreplica rebalance apply ")
    note(plan, *begun(0, 1))
    now = dump([{**AWAY[0], "leader": 1}, {**AWAY[1], "leader": 3}, AWAY[2], *ALIVE])
    ended = kreplica("rebalance", "status", plan, "--dump", now)
    assert ended.code == 1
    assert ended.out == (
        "NOT YET interrupted: 2 done, 1 pending\n"
        "TOPIC   PARTITION  FROM  TO  STEP  STATE    LEADER  REASON\n"
        "orders  0          2     1   1     done     1       -\n"
        "orders  1          2     1   1     done     3       broker 3 has come to lead since\n"
        "orders  2          2     1   2     pending  2       -\n"
        f"next     kreplica rebalance resume {plan} --bootstrap-server HOST:PORT --execute\n"
    )
    with JOURNAL.open(plan, *read_plan(plan)):
        assert "applying, a process is at it" in kreplica("rebalance", "status", plan, "--dump", now).out


def test_a_finished_plan_has_the_status_0_and_5_when_not_all_is_seen(kreplica: Any, dump: Any, plan: Path) -> None:
    note(plan, *begun(0, 1, 2), entry(Event.COMPLETED, Operation.APPLY))
    led = [{**row, "leader": 1} for row in AWAY]
    ended = kreplica("rebalance", "status", plan, "--dump", dump(led))
    assert (ended.code, ended.out.splitlines()[0]) == (0, "FINISHED applied: 3 done")
    assert kreplica("rebalance", "status", plan, "--dump", dump(led, gaps=(hidden(1),))).code == 5
    assert kreplica("rebalance", "resume", plan, "--dump", dump(led)).out.startswith(
        "FINISHED nothing is left to do: 3 of 3 done, 0 failed\n"
    )


def test_cancel_drops_what_is_left(kreplica: Any, dump: Any, plan: Path) -> None:
    note(plan, *begun(0, 1))
    ended = kreplica("rebalance", "cancel", plan)
    assert ended.code == 0
    assert ended.out.startswith("DRY RUN 1 of 3 planned changes would be dropped; nothing was noted\n")
    assert ended.out.endswith(f"next     kreplica rebalance cancel {plan} --execute\n")
    ended = kreplica("rebalance", "cancel", plan, "--execute", "-o", "json")
    assert ended.code == 0
    assert [row["state"] for row in ended.document["changes"]] == ["done", "done", "dropped"]
    assert ended.document["summary"]["phase"] == "cancelled"
    ended = kreplica("rebalance", "resume", plan, "--dump", dump(), "--execute", "--yes")
    assert (ended.code, ended.out) == (2, ""), "a dump cannot be changed"
    ended = kreplica("rebalance", "resume", plan, "--dump", dump())
    assert ended.code == 4
    assert "the plan was cancelled; cancelled, 2 of 3 done; make a new plan" in ended.err
    assert kreplica("rebalance", "cancel", plan, "--execute").code == 4


def test_a_running_plan_cannot_be_cancelled(kreplica: Any, plan: Path) -> None:
    with JOURNAL.open(plan, *read_plan(plan)):
        ended = kreplica("rebalance", "cancel", plan, "--execute")
    assert ended.code == 4
    assert "error: the plan is being carried out; another process holds" in ended.err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("apply", "--no-elect"),
        ("apply", "--keep-cordon"),
        ("resume", "--no-elect"),
        ("resume", "--keep-cordon"),
        ("resume", "--through-controllers"),
        ("rollback", "--no-elect"),
    ],
)
def test_options_for_moves_are_refused(kreplica: Any, dump: Any, plan: Path, command: str, option: str) -> None:
    ended = kreplica("rebalance", command, plan, "--dump", dump(), option)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {option} is not for a plan of leaders")


def test_rollback_shows_what_can_be_brought_back(kreplica: Any, dump: Any, plan: Path) -> None:
    ended = kreplica("rebalance", "rollback", plan, "--dump", dump())
    assert ended.code == 4
    assert "there is nothing to roll back; not begun, 0 of 3 done" in ended.err
    note(plan, *begun(0, 1))
    led = [{**row, "leader": 1, "leader_epoch": 6} for row in AWAY]
    ended = kreplica("rebalance", "rollback", plan, "--dump", dump([{**led[0], "isr": [1, 2]}, *led[1:]]))
    assert ended.code == 4
    lines = ended.out.splitlines()
    assert lines[0] == "REFUSED 1 of 2 former leaders can be brought back; nothing was changed"
    assert lines[2].endswith("impossible  broker 3 is not in sync, so that the replica order must not be touched")
    assert lines[3].endswith("pending     -")
    assert lines[5].endswith("--execute --allow-reorder")
    assert kreplica("rebalance", "rollback", plan, "--dump", dump([*led[:2], AWAY[2]])).code == 0


def test_a_rollback_changes_orders_only_when_that_is_allowed(kreplica: Any, plan: Path, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.toml"
    contexts.write_text('[contexts.here]\nbootstrap_servers = "127.0.0.1:1"\n')
    ended = kreplica(
        "rebalance", "rollback", plan, "--config", contexts, "--context", "here", "--execute", "--timeout", "1"
    )
    assert (ended.code, ended.out) == (4, "")
    assert ended.err == (
        "error: nothing was changed; the way back changes the order of replicas for a moment; give --allow-reorder\n"
    )


@pytest.mark.parametrize("option", [["--pause", "soon"], ["--batch", "0"], ["--batch", "x"], ["--pause", "-1s"]])
def test_a_pace_that_is_none(kreplica: Any, dump: Any, plan: Path, option: list[str]) -> None:
    ended = kreplica("rebalance", "apply", plan, "--dump", dump(), *option)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert option[0] in ended.err


def test_a_pause_is_not_lost_on_a_plan(kreplica: Any, dump: Any, tmp_path: Path) -> None:
    ended = kreplica("rebalance", "leaders", "--dump", dump(), "--out", tmp_path / "new.json", "--pause", "10s")
    assert (ended.code, ended.out, list(tmp_path.glob("new*"))) == (2, "", [])
    assert "--pause and --out exclude each other; a plan holds no pauses" in ended.err


def test_a_damaged_journal_is_named_by_its_line(kreplica: Any, dump: Any, plan: Path) -> None:
    note(plan, *begun(0))
    journal = plan.with_name("plan.json.journal")
    journal.write_bytes(journal.read_bytes().replace(b'"intended"', b'"pretended"'))
    ended = kreplica("rebalance", "status", plan, "--dump", dump())
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"{journal}, line 3; not a line of a journal" in ended.err
