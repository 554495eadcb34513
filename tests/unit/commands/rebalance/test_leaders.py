"""rebalance leaders: who is asked, what is refused, how it ends. Brokers are stood in for; see tests/kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from commands.main import run
from commands.rebalance import leaders
from kreplica.config.handle import ClusterHandle
from kreplica.execution.elections import Outcome

LIVE = ["rebalance", "leaders", "--bootstrap-server", "127.0.0.1:1"]
AWAY = snapshot_of(
    [partition("a", 0, leader=2), partition("b", 0, leader=2), partition("c", 0)], [{"broker": 1, "alive": True}]
)


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A cluster with two partitions away; elections succeed for topic a only. Returns what was elected."""
    elected: list[Any] = []

    def elect(_: ClusterHandle, changes: Any, **__: object) -> list[Outcome]:
        elected.extend(changes)
        results = {"a": (1, ""), "b": (2, "NOT_CONTROLLER: moved")}
        return [Outcome(change, *results[change.topic]) for change in changes]

    monkeypatch.setattr("kreplica.monitoring.clusters.read_snapshot", lambda *_: AWAY)
    monkeypatch.setattr("kreplica.execution.executor.read_snapshot", lambda *_: AWAY)
    monkeypatch.setattr("kreplica.execution.executor.read_snapshot", lambda *_: AWAY)
    monkeypatch.setattr("kreplica.execution.elections.elect", elect)
    return elected


def test_without_execute_nothing_is_changed(live: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(LIVE) == 0
    assert live == []
    out = capsys.readouterr().out
    assert out.startswith("DRY RUN 2 of 2 can be elected now; nothing was changed\n")
    assert out.endswith("next     kreplica rebalance leaders --bootstrap-server 127.0.0.1:1 --execute\n")


def test_execute_reports_each_and_exits_4_when_one_failed(live: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*LIVE, "--execute"]) == 4
    assert [election.topic for election in live] == ["a", "b"]
    assert capsys.readouterr().out.splitlines() == [
        "FAILED 1 of 2 electable preferred leaders lead now, 0 cannot be elected yet",
        "TOPIC  PARTITION  FROM  TO  ELECTABLE  REASON                 LEADER_AFTER  DONE",
        "a      0          2     1   yes        in sync and alive      1             yes",
        "b      0          2     1   yes        NOT_CONTROLLER: moved  2             no",
    ]


def test_execute_exits_0_when_all_lead(live: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*LIVE, "--execute", "--topic", "a", "-o", "json"]) == 0
    assert [election.topic for election in live] == ["a"]
    out = capsys.readouterr().out
    assert '"executed":true' in out
    assert '"done":1,"failed":0' in out


def test_a_read_only_context_is_refused_before_anybody_is_asked(
    live: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = tmp_path / "contexts.toml"
    contexts.write_text('[contexts.prod]\nbootstrap_servers = "127.0.0.1:1"\nread_only = true\n')
    monkeypatch.setattr(leaders, "confirm", lambda *_, **__: pytest.fail("nobody is to be asked"))
    assert run(["rebalance", "leaders", "--config", str(contexts), "--context", "prod", "--execute"]) == 4
    assert live == []
    assert "read_only" in capsys.readouterr().err
