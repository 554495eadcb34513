"""rebalance apply, resume and rollback with --execute: who is asked, what is refused, how a run ends.

The cluster is on paper; tests/kafka has the same on real ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters.paper import PaperCluster, away

from commands.main import run
from kreplica.execution.journal import JOURNAL, Event, entry
from kreplica.execution.plan_file import read_plan
from kreplica.execution.plan_journal import Operation

LIVE = ["--bootstrap-server", "127.0.0.1:1"]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaperCluster:
    """Two leaders of six are away."""
    paper = PaperCluster(tmp_path / "cluster.json")
    paper.write(away(0, 1))
    paper.stand_in(monkeypatch.setattr)
    monkeypatch.setattr("kreplica.monitoring.clusters.read_snapshot", paper.read_snapshot)
    monkeypatch.chdir(tmp_path)
    return paper


@pytest.fixture
def rebalance(cluster: PaperCluster, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a subcommand on a plan of two steps."""
    assert run(["rebalance", "leaders", *LIVE, "--out", "plan.json", "--batch", "1"]) == 0
    capsys.readouterr()

    def call(command: str, *words: str) -> tuple[int, str, str]:
        connection_options = [] if "--context" in words else LIVE
        code = run(["rebalance", command, "plan.json", *connection_options, *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def led_by_preferred(cluster: PaperCluster) -> list[bool]:
    return [row["leader"] == row["replicas"][0] for row in cluster.rows()]


def test_a_plan_is_applied_and_rolled_back(cluster: PaperCluster, rebalance: Any) -> None:
    before = cluster.rows()
    code, out, _ = rebalance("apply", "--execute")
    assert code == 0
    assert out.startswith("DONE 2 of 2 planned elections done, 0 failed, 0 not begun\n")
    assert all(led_by_preferred(cluster))
    code, out, err = rebalance("rollback", "--execute", "--allow-reorder", "-o", "json")
    assert code == 0
    assert "auto.leader.rebalance.enable" in err
    assert [row["rollback"] for row in json.loads(out)["changes"]] == ["done", "done"]
    assert [(row["leader"], row["replicas"]) for row in cluster.rows()] == [
        (row["leader"], row["replicas"]) for row in before
    ]
    cluster.change(0, leader=1)  # as auto.leader.rebalance.enable has it
    code, out, _ = rebalance("status", "-o", "json")
    assert code == 0
    reasons = {row["partition"]: row["rollback_reason"] for row in json.loads(out)["changes"]}
    assert reasons == {0: "broker 1 has come to lead since", 1: ""}


def test_nothing_of_a_plan_is_done_when_any_of_it_has_drifted(cluster: PaperCluster, rebalance: Any) -> None:
    _, out, _ = rebalance("apply", "-o", "json")
    last = json.loads(out)["changes"][-1]["partition"]
    cluster.change(last, leader_epoch=9)
    before = cluster.rows()
    code, out, _ = rebalance("apply", "--execute")
    assert code == 4
    assert "REFUSED 1 of 2 planned elections no longer fits the cluster; nothing was changed" in out
    assert cluster.rows() == before
    assert not Path("plan.json.journal").exists()


def test_a_run_that_stops_says_why_and_what_to_type(
    cluster: PaperCluster, rebalance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    elect = cluster.elect_preferred

    def harmful(*arguments: Any) -> Any:
        found = elect(*arguments)
        cluster.change(5, isr=[3])
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", harmful)
    code, out, _ = rebalance("apply", "--execute")
    assert code == 4
    assert out.startswith("FAILED 1 of 2 planned elections done, 0 failed, 1 not begun\n")
    assert out.splitlines()[-2:] == [
        "stopped  after batch 1 of 2: the cluster got worse, 1 partition is under min ISR now (orders-5)",
        "next     kreplica rebalance resume plan.json --bootstrap-server 127.0.0.1:1 --execute",
    ]
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", elect)
    code, out, _ = rebalance("resume", "--execute")
    assert (code, out.splitlines()[0]) == (0, "DONE 2 of 2 planned elections done, 0 failed, 0 not begun")


def test_a_run_after_whose_last_batch_the_cluster_got_worse_exits_4(
    cluster: PaperCluster, rebalance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every election is done, none is left; what is wrong stands in the message alone."""
    elect = cluster.elect_preferred

    def harmful(handle: Any, partitions: Any) -> Any:
        found = elect(handle, partitions)
        if all(led_by_preferred(cluster)):
            cluster.change(5, isr=[3])
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", harmful)
    monkeypatch.setattr("kreplica.execution.executor.SETTLE_SECONDS", 0.1)
    code, out, _ = rebalance("apply", "--execute")
    assert code == 4
    assert "2 of 2 planned elections done, 0 failed, 0 not begun\n" in out
    assert "stopped  after batch 2 of 2: the cluster got worse, 1 partition is under min ISR now (orders-5)\n" in out


def test_an_election_after_which_another_leads_is_told_and_exits_4(
    cluster: PaperCluster, rebalance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    elect = cluster.elect_preferred

    def fall_back(handle: Any, partitions: Any) -> Any:
        found = elect(handle, partitions)
        if partitions == [("orders", 0)]:
            cluster.change(0, leader=3)
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", fall_back)
    code, out, _ = rebalance("apply", "--execute", "-o", "json")
    rows = {row["partition"]: row for row in json.loads(out)["changes"]}
    assert code == 4
    assert (rows[0]["state"], rows[0]["reason"]) == ("failed", "broker 3 led after the election")
    assert rows[1]["state"] == "done"


def test_ctrl_c_says_how_to_go_on(cluster: PaperCluster, rebalance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", interrupt)
    code, out, err = rebalance("apply", "--execute")
    assert (code, out) == (130, "")
    assert err == (
        "what was done is in the journal; next kreplica rebalance resume plan.json --bootstrap-server 127.0.0.1:1"
        " --execute\ninterrupted\n"
    )


def contexts(line: str) -> list[str]:
    Path("contexts.toml").write_text(f'[contexts.prod]\nbootstrap_servers = "127.0.0.1:1"\n{line}\n')
    return ["--config", "contexts.toml", "--context", "prod"]


def test_a_script_needs_yes_for_a_production_context(cluster: PaperCluster, rebalance: Any) -> None:
    connection_options = contexts("production = true")
    code, out, err = rebalance("apply", "--execute", *connection_options)
    assert (code, out) == (4, "")
    assert err.endswith("prod is marked production and nobody is there to confirm; give --yes\n")
    assert not all(led_by_preferred(cluster))
    assert rebalance("apply", "--execute", "--yes", *connection_options)[0] == 0
    assert all(led_by_preferred(cluster))


@pytest.mark.parametrize("command", ["apply", "resume", "rollback"])
def test_a_read_only_context_is_refused(cluster: PaperCluster, rebalance: Any, command: str) -> None:
    if command == "rollback":
        assert rebalance("apply", "--execute")[0] == 0
    before = cluster.rows()
    words = ["--allow-reorder"] if command == "rollback" else []
    code, out, err = rebalance(command, "--execute", "--yes", *words, *contexts("read_only = true"))
    assert (code, out) == (4, "")
    assert "read_only" in err
    assert cluster.rows() == before


def test_a_plan_that_somebody_else_began_meanwhile_is_not_begun_again(
    cluster: PaperCluster, rebalance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cluster.rows()

    def meanwhile(*_: Any, **__: Any) -> None:
        path = Path("plan.json")
        with JOURNAL.open(path, *read_plan(path)) as journal:
            journal.append(entry(Event.STARTED, Operation.APPLY))

    monkeypatch.setattr("commands.rebalance.plan.confirm", meanwhile)
    code, _, err = rebalance("apply", "--execute")
    assert (code, "the plan was begun before" in err) == (4, True)
    assert cluster.rows() == before
