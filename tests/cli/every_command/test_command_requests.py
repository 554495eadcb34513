"""Requests that commands are said to make of a cluster are those that they make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.completions.tree import command_tree
from commands.main import build_app
from commands.shared.kafka_requests import COMMAND_REQUESTS
from kreplica.monitoring import clusters
from kreplica.monitoring.snapshots import taking as snapshots
from kreplica.sources import Facet

LOCAL = {"audit", "config show", "config check"}
"""Commands that ask no cluster, or ask it for nothing but what the credentials may do."""


def test_every_command_that_names_clusters_says_what_it_sends() -> None:
    reading_commands = {
        " ".join(command.path[1:])
        for command in command_tree(build_app()).walk()
        if any("--bootstrap-server" in option.flags for option in command.options)
    }
    missing = reading_commands - {name.partition(" --")[0] for name in COMMAND_REQUESTS} - LOCAL
    assert not missing, f"say in commands/shared/kafka_requests.py what these send: {missing}"


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Facet]]:
    """The facets that are asked for; reads go on as ever."""
    found: list[Facet] = []
    for module in (clusters, snapshots):
        real = module.read_snapshot

        def spying(handle: Any, facets: Facet, real: Any = real) -> Any:
            found.append(facets)
            return real(handle, facets)

        monkeypatch.setattr(module, "read_snapshot", spying)
    return found


WORDS = {
    "describe": ["describe"],
    "check": ["check"],
    "imbalance": ["imbalance"],
    "disks": ["disks"],
    "recommend": ["recommend"],
    "safe-to-stop": ["safe-to-stop", "2"],
    "roll plan": ["roll", "plan"],
    "whatif fail": ["whatif", "fail", "--broker", "2"],
    "rebalance leaders": ["rebalance", "leaders"],
    "rebalance replicas": ["rebalance", "replicas", "--rack-aware"],
    "rebalance replicas --dead-for": ["rebalance", "replicas", "--dead-for", "1h"],
    "snapshot": ["snapshot", "--out", "dumps"],
    "snapshot --with groups": ["snapshot", "--out", "dumps", "--with", "groups"],
}


@pytest.mark.parametrize("name", WORDS)
def test_a_command_reads_what_it_says(
    name: str, kreplica: Any, wanted: list[Facet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kreplica(*WORDS[name], "--dump", "sample")
    assert wanted == [COMMAND_REQUESTS[name].reads]
