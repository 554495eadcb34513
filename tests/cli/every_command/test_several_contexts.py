"""Commands that are asked of several contexts at once: rows, verdicts and failures by cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = GOLDEN / "kafka-4.3.1" / "2-broker-killed" / "topics-describe.txt"


@pytest.fixture
def contexts(kreplica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two contexts whose clusters are dumps read in place of brokers, a third that nobody answers for."""
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.sources.dumps.dump import read_dump

    path = tmp_path / "contexts.toml"
    servers = {"eu": "127.0.0.1:11", "us": "127.0.0.1:12", "down": "127.0.0.1:1"}
    path.write_text(
        "".join(f'[contexts.{name}]\nbootstrap_servers = "{to}"\ntimeout = 1\n' for name, to in servers.items())
    )
    states = {"127.0.0.1:11": TEXT, "127.0.0.1:12": GOLDEN / "kafka-3.9.2" / "1-healthy" / "topics-describe.txt"}
    from kreplica.sources import read_snapshot

    def read(handle: Any, wanted: Any) -> ClusterSnapshot:
        if handle.bootstrap_servers not in states:
            return read_snapshot(handle, wanted)
        from dataclasses import replace

        return replace(read_dump(str(states[handle.bootstrap_servers])), name=handle.name)

    monkeypatch.setattr("kreplica.monitoring.clusters.read_snapshot", read)
    return path


def test_rows_name_their_cluster_where_there_are_several(kreplica: Any, contexts: Path) -> None:
    words = ["--config", contexts, "--context", "eu", "--context", "us"]
    document = kreplica("describe", *words, "--unavailable", "-o", "json").document
    assert [row["cluster"] for row in document["partitions"]] == ["eu", "eu"]
    assert next(iter(document["partitions"][0])) == "cluster"
    assert document["summary"]["clusters"] == len(document["clusters"]) == 2
    found = kreplica("check", *words, "--rule", "rf-one", "-o", "json").document["findings"]
    assert [row["cluster"] for row in found] == ["eu", "us"]
    shown = kreplica("describe", *words, "--unavailable").out
    assert shown.startswith("CLUSTER  TOPIC ")


def test_each_cluster_has_its_own_verdict_and_next_commands(kreplica: Any, contexts: Path) -> None:
    shown = kreplica("describe", "--config", contexts, "--context", "[eu]*").out
    assert "next     kreplica describe --context eu --config" in shown
    both = kreplica("describe", "--config", contexts, "--context", "eu", "--context", "us").out
    assert both.startswith("UNHEALTHY")
    assert "\n\nHEALTHY all" in both
    assert f"kreplica check --context us --config {contexts}" in both


@pytest.mark.parametrize("command", [["describe", "--all"], ["check"]])
def test_a_topic_of_one_cluster_only_is_no_error(kreplica: Any, contexts: Path, command: list[str]) -> None:
    words = [*command, "--config", contexts, "--context", "eu", "--context", "us"]
    ended = kreplica(*words, "--topic", "__share_group_state", "-o", "json")
    assert ended.code in (0, 1)
    assert "warning: us: no topic matches '__share_group_state'; 19 topics are visible\n" in ended.err
    assert [cluster["partitions"] for cluster in ended.document["clusters"]] == [10, 0]
    nowhere = kreplica(*words, "--topic", "nowhere")
    assert nowhere.code == 2
    assert kreplica(*words, "--topic", "(").code == 2


def test_one_failed_cluster_stops_no_other(kreplica: Any, contexts: Path) -> None:
    words = ["--config", contexts, "--context", "us", "--context", "down"]
    ended = kreplica("describe", *words, "--under-replicated", "-o", "json")
    assert ended.code == 5
    assert ended.document["summary"]["complete"] is False
    assert ended.err.startswith("warning: down: ")
    assert kreplica("describe", "--config", contexts, "--context", "down", "--offline").code == 3
