"""kreplica audit slo: verdict, exit codes, rows, and lines to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition
from planted.histories import keep, taken


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten hours of two clusters; of one, orders had one in-sync replica from 3 to 5."""
    root = tmp_path_factory.mktemp("kept") / "a history"
    bad = [taken(hour, partition(**({"isr": [1]} if 3 <= hour <= 5 else {}))) for hour in range(11)]
    keep(root, bad)
    return keep(root, [taken(hour, partition(), name="calm") for hour in range(11)], "Zk6")


def test_the_worst_is_said_first_and_its_lines_can_be_typed(kreplica: Any, kept: Path) -> None:
    ended = kreplica("audit", "slo", str(kept), "--objective", "99.9")
    assert ended.code == 1
    assert ended.out.startswith("MISSED orders of prod had 120 to 240 min without writes (")
    assert "99.9 % allow 0.6 min; 1 of 1 missed, 0 unsure" in ended.out
    lines = [line.replace("next", "", 1).strip() for line in ended.out.splitlines() if "kreplica " in line]
    assert len(lines) == 3
    assert [kreplica(*shlex.split(line)[1:]).code for line in lines] == [0, 1, 0]


@pytest.mark.parametrize(
    ("objective", "word", "code"), [("99.95", "MISSED", 1), ("70", "INCOMPLETE", 5), ("50", "MET", 0)]
)
def test_the_bounds_decide_the_verdict(kreplica: Any, kept: Path, objective: str, word: str, code: int) -> None:
    ended = kreplica("audit", "slo", str(kept), "--objective", objective)
    assert (ended.code, ended.out.split()[0]) == (code, word)
    zero = kreplica("audit", "slo", str(kept), "--objective", objective, "--exit-zero")
    assert zero.code == (0 if code == 1 else code)


def test_rows_by_topic_cluster_and_cause(kreplica: Any, kept: Path) -> None:
    for by, topic in (("topic", "orders"), ("cluster", None), ("cause", None)):
        document = kreplica("audit", "slo", str(kept), "--by", by, "-o", "json").document
        (row,) = document["downtimes"]
        assert (row["name"], row["topic"], row["writes_least_minutes"]) == ("prod", topic, 120)
        assert [one["known_seconds"] for one in document["clusters"]] == [36_000, 36_000]
        assert (document["summary"]["missed"], document["summary"]["met"]) == (1, 0)


def test_clusters_and_time_are_narrowed(kreplica: Any, kept: Path) -> None:
    calm = kreplica("audit", "slo", str(kept), "--cluster", "calm")
    assert (calm.code, calm.out.splitlines()[0]) == (0, "MET no outage of 1 cluster in the time known")
    words = ("--since", "2026-04-01T00:00", "--until", "2026-04-01T02:00")
    (row,) = kreplica("audit", "slo", str(kept), *words, "-o", "json").document["downtimes"]
    assert (row["writes_least_minutes"], row["writes_most_minutes"], row["known_minutes"]) == (60, 120, 120)


def test_groups_of_clusters_are_the_tags_of_contexts(
    kreplica: Any, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = "[contexts.calm]\nbootstrap_servers = 'h:1'\ntags = ['eu']\n"
    (tmp_path / "contexts.toml").write_text(contexts, encoding="utf-8")
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "contexts.toml"))
    for command in ("slo", "resilience"):
        document = kreplica("audit", command, str(kept), "--group", "eu", "-o", "json").document
        assert [one["name"] for one in document["clusters"]] == ["calm"]
        words = ("--cluster-group", "eu", "--cluster", "prod")
        both = kreplica("audit", command, str(kept), *words, "-o", "json").document
        assert sorted(one["name"] for one in both["clusters"]) == ["calm", "prod"]
        assert "did you mean eu?" in kreplica("audit", command, str(kept), "--group", "e").err


def test_what_is_no_percentage_and_no_history_is_refused(kreplica: Any, kept: Path, tmp_path: Path) -> None:
    assert kreplica("audit", "slo", str(kept), "--objective", "100").code == 2
    typed = kreplica("audit", "slo", str(kept), "--objective", "99.95%")
    said = "invalid value for '--objective': it has to be a valid number; see kreplica audit slo --help"
    assert (typed.code, typed.err) == (2, f"error: {said}\n")
    assert kreplica("audit", "slo", str(tmp_path)).code == 2
