"""kreplica assign on real clusters: the topic that its command creates has the replicas that it showed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from real_clusters.views import partitions

from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

ASKED = ["--partitions", "7", "--replication-factor", "2"]


def assign(topic: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "kreplica", "assign", topic, *ASKED, *options, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_topic_gets_the_replicas_that_were_shown(kraft_cluster: Sandbox, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("request.timeout.ms=5000\n", encoding="utf-8")
    servers = ["--bootstrap-server", kraft_cluster.bootstrap_servers]
    found = assign("assigned", *servers, "--command-config", str(properties), "--seed", "5")
    assert (found["summary"]["algorithm"], found["summary"]["seed"]) == ("striped", 5)
    assert all(len(set(row["racks"])) == 2 for row in found["partitions"]), "of three racks"
    words = ["--create", "--topic", "assigned", "--replica-assignment", found["summary"]["replica_assignment"]]
    kraft_cluster.tool("topics", *words)
    created = [list(one.replicas) for one in partitions(kraft_cluster, "assigned")]
    assert created == [row["replicas"] for row in found["partitions"]]


def test_zookeeper_mode_has_its_own_algorithm(zookeeper_cluster: Sandbox, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.toml"
    contexts.write_text(f'[contexts.here]\nzookeeper = "{zookeeper_cluster.zookeeper_connect}"\n', encoding="utf-8")
    by_context = assign("assigned", "--config", str(contexts), "--context", "here")
    by_ensemble = assign("assigned", "--zookeeper", zookeeper_cluster.zookeeper_connect)
    by_brokers = assign("assigned", "--bootstrap-server", zookeeper_cluster.bootstrap_servers)
    assert by_brokers["summary"]["algorithm"] == "rack-aware"
    assert by_context["partitions"] == by_ensemble["partitions"] == by_brokers["partitions"]
    assert all(len(set(row["racks"])) == 2 for row in by_brokers["partitions"])
