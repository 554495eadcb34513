"""Kafka's tools in one JVM, as the other tests ask them: they say what they say in a JVM each."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_clusters.kafka_tools import Tools

from kreplica.sandbox import Sandbox, cluster
from kreplica.sandbox.distribution.tools import ToolResult, run_tool

pytestmark = pytest.mark.kafka


def test_a_tool_in_the_jvm_of_all_says_what_it_says_in_its_own(
    kraft_cluster: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[str] = []

    def run_alone(java: Path, class_path: Path, logging: str, program: list[str], timeout: float) -> ToolResult:
        alone.append(program[-1])
        return run_tool(java, class_path, logging, program, timeout)

    kraft_cluster.create_topic("orders", assignment=[[1, 2], [2, 3]])
    described = ("configs", "--describe", "--entity-type", "topics", "--entity-name", "orders", "--all")
    asked = [("topics", "--describe"), described, ("topics", "--describe", "--topic", "nobodys")]
    tools = Tools(tmp_path, run_alone)
    monkeypatch.setattr(cluster, "run_tool", tools.run_tool)
    found = [kraft_cluster.run_tool(*words) for words in asked]
    tools.end()
    assert alone == ["nobodys"], "one that fails"
    monkeypatch.setattr(cluster, "run_tool", run_tool)
    assert found[:2] == [kraft_cluster.run_tool(*words) for words in asked[:2]]
    assert (found[2].exit_status, "Topic 'nobodys' does not exist" in found[2].stdout) == (1, True)
