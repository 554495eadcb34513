"""Answers over several clusters: every row says of which it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from commands.shared.options.common import SourceOptions
from kreplica.config.handle import ClusterHandle
from kreplica.store.writing import write_snapshot

BROKERS = [{"broker": broker, "rack": str(broker), "alive": True} for broker in (1, 2, 3)]


@pytest.fixture
def two_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """East has a topic that needs all copies, west one that needs one only; contexts name live clusters, here dumps."""
    handles = []
    for name, min_isr in (("east", 3), ("west", 1)):
        folder = tmp_path / name
        directories = [{"broker": broker["broker"], "path": f"/{name}"} for broker in BROKERS]
        rows = [partition(min_isr=min_isr)]
        write_snapshot(snapshot_of(rows, BROKERS, directories, name=name, cluster_id=f"{name}-id"), folder)
        handles.append(ClusterHandle(name, dump=str(folder)))
    monkeypatch.setattr(SourceOptions, "handles", lambda _: tuple(handles))


def test_recommend(kreplica: Any, two_clusters: None) -> None:
    ended = kreplica("recommend", "--context", "*", "-o", "json")
    found = [(row["cluster"], row["rule"], row["name"]) for row in ended.document["recommendations"]]
    assert found == [("east-id", "min-isr-equals-rf", "orders"), ("west-id", "min-isr-one", "orders")]
    unjudged = ended.document["summary"]["unjudged"]
    assert {one["cluster"] for one in unjudged} == {"east-id", "west-id"}
    assert "warning: east: brokers' settings unavailable: 13 rules skipped\n" in ended.err
    screen = kreplica("recommend", "--context", "*").out
    assert screen.count("WARNING 1 recommendation (1 warning) for 1 topic and 3 brokers of ") == 2


def test_disks(kreplica: Any, two_clusters: None) -> None:
    ended = kreplica("disks", "--context", "*", "-o", "json")
    found = [(row["cluster"], row["broker"], row["path"]) for row in ended.document["log_dirs"]]
    assert found == [(f"{name}-id", broker, f"/{name}") for name in ("east", "west") for broker in (1, 2, 3)]
    assert ended.code == 0
    assert kreplica("disks", "--context", "*").out.count("OK all 3 log directories online") == 2
