"""Plans of replicas on the command line: what is asked, refused and told. The cluster is on paper; see tests/kafka."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of
from clusters.moving import MovingCluster

from commands.main import run
from commands.rebalance import moves
from commands.shared.patience import patient_interrupts
from commands.shared.values import parse_size
from kreplica.errors import UsageError
from kreplica.execution.moves import carrying_out
from kreplica.execution.moves.clock import MachineClock
from kreplica.execution.moves.plans.reassignment_json import write_reassignment_json
from kreplica.execution.moves.running import runner
from kreplica.execution.rebalance import replicas as planning
from kreplica.monitoring.clusters import Reading

LIVE = ["--bootstrap-server", "127.0.0.1:1"]
Rebalance = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MovingCluster:
    """Four partitions on brokers 1 to 3, and a file that names broker 4 for two of them."""
    monkeypatch.chdir(tmp_path)
    paper = MovingCluster(tmp_path / "cluster.json")
    paper.start(*[(1, 2, 3)] * 4)
    monkeypatch.setattr(carrying_out, "LiveCluster", lambda *_, **__: paper)
    monkeypatch.setattr(planning, "read_clusters", lambda handles, _: Reading((paper.snapshot(),), (), tuple(handles)))
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 0.0)
    seconds = [0.0]
    monkeypatch.setattr(MachineClock, "now", lambda _: seconds[0])
    monkeypatch.setattr(MachineClock, "sleep", lambda _, some: seconds.append(seconds.pop() + some))
    write_reassignment_json({("orders", 0): (1, 2, 4), ("orders", 1): (4, 2, 3)}, tmp_path / "moves.json")
    return paper


@pytest.fixture
def rebalance(cluster: MovingCluster, capsys: pytest.CaptureFixture[str]) -> Rebalance:
    """Runs a subcommand on a plan that was written before."""
    code = run(["rebalance", "replicas", "--from-reassignment-json", "moves.json", *LIVE, "--out", "plan.json"])
    assert (code, cluster.replicas) == (0, [(1, 2, 3)] * 4)
    capsys.readouterr()

    def call(command: str, *words: str) -> tuple[int, str, str]:
        ended = run(["rebalance", command, "plan.json", *LIVE, *words])
        printed = capsys.readouterr()
        return int(ended), printed.out, printed.err

    return call


def test_a_plan_is_shown_applied_and_rolled_back(cluster: MovingCluster, rebalance: Rebalance) -> None:
    code, out, _ = rebalance("apply")
    assert code == 0
    assert [out.splitlines()[0], out.splitlines()[-1]] == [
        "DRY RUN not begun: 2 pending; nothing was changed",
        "next     kreplica rebalance apply plan.json --bootstrap-server 127.0.0.1:1 --throttle RATE --execute",
    ]
    code, out, _ = rebalance("apply", "--throttle", "50MB", "--execute", "-o", "json")
    document = json.loads(out)
    assert (code, document["schema"], document["summary"]["states"]) == (0, "kreplica/rebalance-apply/v1", {"done": 2})
    assert [row["to"] for row in document["moves"]] == [[1, 2, 4], [4, 2, 3]]
    assert cluster.replicas[:2] == [(1, 2, 4), (4, 2, 3)]
    assert rebalance("status")[0] == 0
    code, out, err = rebalance("apply", "--execute", "--throttle", "none")
    assert (code, "the plan was begun before" in err) == (4, True)
    code, out, _ = rebalance("rollback", "--execute", "--throttle", "none")
    assert (code, out.splitlines()[0]) == (0, "DONE rolled back: 2 done")
    assert cluster.replicas == [(1, 2, 3)] * 4
    assert cluster.throttles_now == ({}, {}, {})


def test_preferred_leaders_are_elected_at_the_end_or_left(
    cluster: MovingCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    write_reassignment_json({("orders", 2): (2, 3, 1)}, Path("order.json"))
    now = ["--throttle", "none", "--execute"]

    def leader() -> int:
        found: int = cluster.read()["rows"]["2"]["leader"]
        return found

    for flag, led in (("--no-elect", 1), ("--elect", 2)):
        plan = ["--from-reassignment-json", "order.json", *LIVE, "--out", "order.plan", "--force"]
        assert run(["rebalance", "replicas", *plan]) == 0
        assert run(["rebalance", "apply", "order.plan", *LIVE, *now, flag]) == 0
        assert (cluster.replicas[2], leader()) == ((2, 3, 1), led)
        assert run(["rebalance", "rollback", "order.plan", *LIVE, *now, "--no-elect"]) == 0
        assert (cluster.replicas[2], leader()) == ((1, 2, 3), led)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["apply", "--execute"], "a plan of replicas is carried out under a throttle; --throttle is not given"),
        (["rollback", "--execute"], "a plan of replicas is carried out under a throttle; --throttle is not given"),
        (["apply", "--throttle", "fast"], "--throttle fast is no size"),
        (["apply", "--batch", "3"], "--batch is not for a plan of replicas"),
        (["resume", "--pause", "3s"], "--pause is not for a plan of replicas"),
        (["rollback", "--allow-reorder"], "--allow-reorder is not for a plan of replicas"),
        (["apply", "--max-wait", "0"], "--max-wait 0 is too short"),
    ],
)
def test_options_that_do_not_fit(cluster: MovingCluster, rebalance: Rebalance, words: list[str], error: str) -> None:
    code, out, err = rebalance(*words)
    assert (code, out, err.startswith(f"error: {error}")) == (2, "", True), err
    assert not cluster.read()["asked"]


def test_a_small_rate_is_said_beforehand(rebalance: Rebalance, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "a throttle of 500 KB/s is little: Kafka advises 1 MB/s at least"
    _, out, err = rebalance("apply", "--throttle", "500KB", "-o", "json")
    assert (json.loads(out)["warnings"], err) == ([said], f"warning: {said}\n")
    _, _, err = rebalance("apply", "--throttle", "auto", "--min", "1KB", "--max", "500KB")
    assert err == f"warning: {said}\n"
    assert rebalance("apply", "--throttle", "auto", "--min", "1KB")[2] == "", "it may rise above"
    order: list[str] = []
    monkeypatch.setattr(moves, "confirm", lambda *_, **__: order.append("confirmed"))
    monkeypatch.setattr(moves, "print_err", order.append)
    rebalance("apply", "--throttle", "500KB", "--execute")
    assert order == [f"warning: {said}", "confirmed"], "before anybody is asked"


def test_a_rate_below_what_is_written_is_said_beforehand(cluster: MovingCluster, rebalance: Rebalance) -> None:
    cluster.set(written={"0": 3_000_000, "1": 900_000})
    _, out, _ = rebalance("apply", "--throttle", "2MB", "-o", "json")
    assert json.loads(out)["warnings"] == [
        "more is written than the throttle of 2 MB/s lets through to orders-0 (3 MB/s): no end of it"
    ]
    assert rebalance("apply", "--throttle", "4MB")[2] == ""
    assert rebalance("apply", "--throttle", "none")[2] == rebalance("apply")[2] == ""


def test_what_is_left_out_of_a_plan_is_told(cluster: MovingCluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.change(0, more={"min_isr": 2})
    Path("other.json").write_text(
        '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]},'
        ' {"topic": "orders", "partition": 9, "replicas": [1, 2]}]}'
    )
    code = run(["rebalance", "replicas", "--from-reassignment-json", "other.json", *LIVE, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (code, [row["planned"] for row in document["moves"]]) == (1, [False, False])
    reasons = {row["partition"]: row["reason"] for row in document["moves"]}
    assert reasons[9] == "there is no such partition"
    assert reasons[0].startswith("afterwards, if broker 1 failed, it would have only 1 in sync")


def test_limits_are_those_that_were_given(cluster: MovingCluster, rebalance: Rebalance) -> None:
    limits = ["--moves", "7", "--moves-per-broker", "3", "--bytes-per-broker", "2MiB"]
    words = ["--from-reassignment-json", "moves.json", *LIVE, "--out", "plan.json", "--force", *limits]
    assert run(["rebalance", "replicas", *words]) == 0
    found = json.loads(Path("plan.json").read_text())["limits"]
    assert found == {"bytes_per_broker": 2 << 20, "moves_per_broker": 3, "moves": 7}


def test_a_run_that_stopped_says_what_is_owed_and_how_to_go_on(
    cluster: MovingCluster, rebalance: Rebalance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.change(0, hangs=True)
    code, out, err = rebalance("apply", "--throttle", "50MB", "--max-wait", "1s", "--execute")
    assert code == 4
    assert "throttles stay until what is in flight has ended" in err
    assert json.loads(rebalance("status", "-o", "json")[1])["summary"]["throttle"] == 50_000_000
    assert out.splitlines()[-1] == (
        "next     kreplica rebalance resume plan.json --bootstrap-server 127.0.0.1:1"
        " --throttle 50MB --max-wait 1s --execute"
    )
    assert "a throttle of 500 KB/s is little" in rebalance("cancel", "--throttle", "500KB")[2]
    code, out, _ = rebalance("cancel", "--in-flight")
    assert (code, cluster.replicas[0]) == (0, (1, 2, 4, 3)), "a dry run"
    code, out, _ = rebalance("cancel", "--in-flight", "--execute", "-o", "json")
    assert (code, json.loads(out)["summary"]["states"]) == (0, {"cancelled": 1, "done": 1})
    assert cluster.replicas[0] == (1, 2, 3)
    assert json.loads(rebalance("status", "-o", "json")[1])["summary"]["throttle"] is None
    assert cluster.throttles_now == ({}, {}, {})


def test_options_of_replicas_are_refused_for_leaders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kreplica.execution.plan import plan_leaders
    from kreplica.execution.plan_file import write_plan

    monkeypatch.chdir(tmp_path)
    write_plan(plan_leaders(snapshot_of([partition()]), (), "2026-03-01"), tmp_path / "plan.json")
    for words in (
        ["apply", "--throttle", "5MB", *LIVE],
        ["rollback", "--max-wait", "5s", *LIVE],
        ["cancel", "--in-flight"],
    ):
        assert run(["rebalance", words[0], "plan.json", *words[1:]]) == 2
        assert f"{words[1]} is not for a plan of leaders" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"),
    [("1500000", 1_500_000), ("50MB", 50_000_000), ("1.5GiB", 1_610_612_736), ("64 KiB", 65536), ("7b", 7)],
)
def test_sizes_as_they_are_typed(text: str, size: int) -> None:
    assert parse_size(text, "--throttle") == size


@pytest.mark.parametrize("text", ["", "0", "MB", "5 XB", "-5MB", "5MB5", "1e6", "0.5"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        parse_size(text, "--throttle")


def test_the_first_interrupt_is_noted_and_the_second_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    said: list[str] = []

    def interrupted_twice() -> None:
        with patient_interrupts(lambda: said.append("once")) as asked:
            assert not asked()
            os.kill(os.getpid(), signal.SIGTERM)
            assert (asked(), said) == (True, ["once"])
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted_twice()
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
