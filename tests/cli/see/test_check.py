"""kreplica check: every finding, gathered on the screen, and the exit code of a gate."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of
from plain import findings as plain_findings

from kreplica.sources.dumps.dump import read_sample
from kreplica.store.writing import write_snapshot

HEALTHY = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "1-healthy" / "topics-describe.txt"


@pytest.fixture
def expected() -> list[plain_findings.Found]:
    """What a plain reading of the definitions finds in the packaged sample."""
    sample = read_sample()
    return plain_findings.findings(list(sample.partitions.rows()), list(sample.brokers.rows()))


def test_findings_of_the_sample(kreplica: Any, expected: list[plain_findings.Found]) -> None:
    ended = kreplica("check", "--dump", "sample", "-o", "json")
    names = ("rule", "severity", "topic", "partition", "broker")
    rows = ended.document["findings"]
    assert [tuple(row[name] for name in names) for row in rows] == expected
    assert all(row["message"] and row["evidence"] for row in rows)
    assert ended.document["summary"] == {
        "findings": len(expected),
        "by_severity": dict(Counter(severity for _, severity, *_ in expected)),
        "by_rule": dict(Counter(rule for rule, *_ in expected)),
        "complete": True,
    }
    assert ended.code == 1


def test_the_screen_gathers_findings_by_rule(kreplica: Any, expected: list[plain_findings.Found]) -> None:
    ended = kreplica("check", "--dump", "sample")
    assert ended.ageless.startswith(
        "CRITICAL 294 findings (7 critical, 284 warning, 3 info) among 145 partitions of 19 topics in sample\n"
    )
    shown = re.findall(r"^(critical|warning|info) +(\S+) +(\d+) ", ended.out, re.M)
    assert shown == [
        (severity, rule, str(count))
        for (severity, rule), count in Counter((severity, rule) for rule, severity, *_ in expected).items()
    ]
    assert "critical  offline            2         single-copy 0,2\n" in ended.out
    assert "critical  under-min-isr      5         audit.log 0,1; single-copy 0,2; and 1 more\n" in ended.out
    assert "means    offline            can be neither read nor written\n" in ended.out
    assert ended.out.endswith(
        "next     kreplica check --dump sample --rule offline\n         kreplica check --dump sample --all\n"
    )


@pytest.mark.parametrize("words", [["--all"], ["--rule", "offline", "--rule", "rf-one"]])
def test_each_finding_where_asked_for(kreplica: Any, expected: list[plain_findings.Found], words: list[str]) -> None:
    lines = kreplica("check", "--dump", "sample", *words).out.splitlines()
    wanted = [found for found in expected if words == ["--all"] or found[0] in words]
    assert lines[0].split() == ["RULE", "SEVERITY", "TOPIC", "PARTITION", "BROKER", "MESSAGE"]
    assert len(lines) == len(wanted) + 2
    cells = [[found[0], found[1], *("-" if item is None else str(item) for item in found[2:])] for found in wanted]
    assert [line.split()[:5] for line in lines[1:-1]] == cells
    assert lines[-1].startswith(f"CRITICAL {len(wanted)} findings (")


@pytest.mark.parametrize(
    ("rule", "fail_on", "code"),
    [
        ("offline", "critical", 1),
        ("rf-one", "critical", 0),
        ("rf-one", "warning", 1),
        ("rf-one", None, 1),
        ("mixed-rf", "info", 0),
        ("masked-under-replicated", "info", 0),
    ],
)
def test_fail_on(kreplica: Any, rule: str, fail_on: str | None, code: int) -> None:
    words = [] if fail_on is None else ["--fail-on", fail_on]
    assert kreplica("check", "--dump", "sample", "--rule", rule, *words).code == code
    assert kreplica("check", "--dump", "sample", "--rule", rule, *words, "--exit-zero").code == 0


BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]


def test_infos_pass_unless_asked_for(kreplica: Any, tmp_path: Path) -> None:
    rows = [partition(number=0), partition(number=1, replicas=[1, 2], min_isr=1)]
    write_snapshot(snapshot_of(rows, BROKERS), tmp_path)
    assert kreplica("check", "--dump", tmp_path).code == 0
    assert kreplica("check", "--dump", tmp_path, "--fail-on", "info").code == 1


def test_a_clean_cluster(kreplica: Any, tmp_path: Path) -> None:
    write_snapshot(snapshot_of([partition()], BROKERS), tmp_path)
    ended = kreplica("check", "--dump", tmp_path)
    assert (ended.code, ended.ageless) == (0, "CLEAN no findings among 1 partition of 1 topic in test\n")


def test_a_gate_never_passes_on_incomplete_data(kreplica: Any, tmp_path: Path) -> None:
    write_snapshot(snapshot_of([partition()], BROKERS, gaps=(hidden(3),)), tmp_path)
    ended = kreplica("check", "--dump", tmp_path, "--exit-zero")
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE no findings among 1 partition of 1 topic")
    assert ended.out.endswith("missing  3 topics are hidden [from you]\n")


def test_topics_narrow_what_is_judged(kreplica: Any) -> None:
    words = ["--topic", "orders", "--exclude-internal"]
    rows = kreplica("check", "--dump", "sample", *words, "-o", "json").document["findings"]
    assert {row["topic"] for row in rows} == {"orders", None}
    assert "next     kreplica check --dump sample --topic orders --exclude-internal --rule at-min-isr\n" in (
        kreplica("check", "--dump", "sample", *words).out
    )


def test_a_healthy_cluster_has_risks_all_the_same(kreplica: Any) -> None:
    rows = kreplica("check", "--dump", HEALTHY, "-o", "json").document["findings"]
    assert {"under-replicated", "offline"}.isdisjoint(row["rule"] for row in rows)
    assert "rf-one" in {row["rule"] for row in rows}
