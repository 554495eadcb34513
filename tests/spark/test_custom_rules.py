"""Rules of a user's file on Spark: their findings against plain Python, and what is told of wrong conditions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kreplica.sources.dumps.dump import read_sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def refusal(spark: SparkSession, where: str) -> str:
    from analyzers.rules.custom_rules import rules_on_spark
    from analyzers.rules.rule_files import CustomRule
    from kreplica.errors import InputError
    from kreplica.health.rules import Severity

    rule = CustomRule("mine", Severity.WARNING, where, "m", "", "rules.toml")
    with pytest.raises(InputError) as refused:
        rules_on_spark(spark, [rule])
    said = str(refused.value)
    assert said.startswith("cannot read rules.toml, rule mine; ")
    assert "\n" not in said
    return said.partition("rule mine; ")[2]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("leadr = 1", "there is no column leadr; did you mean leader?"),
        ("size(in_sync) < 2", "there is no column in_sync; "),
        ("size(isr)", "its condition gives int, not true or false"),
        ("size(isr) <", "its condition is not taken: "),
        ("count(*) > 3", "its condition is not taken: "),
        ("first = 1", "there is no column first"),
        ("high_watermark > 1", "there is no column high_watermark"),
        ("nosuch(isr)", "its condition is not taken: "),
        ("topic > isr", "its condition is not taken: "),
    ],
)
def test_a_wrong_condition_is_told_before_anything_is_read(where: str, said: str, spark: SparkSession) -> None:
    assert said in refusal(spark, where)


RULES = """
[[rules]]
name = "thin-orders"
severity = "critical"
where = "topic LIKE 'orders%' AND size(isr) < 3"
message = "in sync {isr} of {replicas}, leader {leader}"

[[rules]]
name = "gone"
severity = "info"
where = "under_replicated AND NOT array_contains(live_brokers, replicas[0])"
message = "preferred leader is gone"
"""


@pytest.mark.slow
def test_findings_of_a_users_rules_are_those_of_plain_python(tmp_path: Path, run_cli: RunCli) -> None:
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    line = ("audit", "sample", "--rules", tmp_path / "rules.toml", "--rule", "thin-orders", "--rule", "gone")
    answer = run_cli(*line, "--per-snapshot", "-o", "json", timeout=240)
    assert answer.returncode == 1, answer.stderr
    told = json.loads(answer.stdout)["findings"]
    sample = read_sample("sample")
    brokers = {row["broker"] for row in sample.brokers.rows() if row["alive"]}
    thin, gone = set(), set()
    for row in sample.partitions.rows():
        replicas, isr = list(row["replicas"]), list(row["isr"])
        if str(row["topic"]).startswith("orders") and len(isr) < 3:
            words = [",".join(map(str, isr)) or "none", ",".join(map(str, replicas))]
            thin.add((row["topic"], row["partition"], f"in sync {words[0]} of {words[1]}, leader {row['leader']}"))
        adding = set(row["adding"] or ())
        if len(replicas) - len(adding) > len(isr) and replicas[0] not in brokers:
            gone.add((row["topic"], row["partition"]))
    at = [row for row in told if row["taken_at"] == sample.taken_at.isoformat() and row["cluster"] == sample.cluster_id]
    assert {(r["topic"], r["partition"], r["message"]) for r in at if r["rule"] == "thin-orders"} == thin != set()
    assert {(r["topic"], r["partition"]) for r in at if r["rule"] == "gone"} == gone != set()
    assert {(r["rule"], r["severity"]) for r in told} == {("thin-orders", "critical"), ("gone", "info")}


@pytest.mark.slow
def test_a_condition_that_fails_on_a_partition_is_told_in_one_line(tmp_path: Path, run_cli: RunCli) -> None:
    rule = '[[rules]]\nname = "far"\nseverity = "info"\nwhere = "isr[7] = 1"\nmessage = "m"\n'
    (tmp_path / "rules.toml").write_text(rule, encoding="utf-8")
    answer = run_cli("audit", "sample", "--rules", tmp_path / "rules.toml", timeout=240)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "error: a condition of --rules fails on a row" in answer.stderr
    assert "get(isr, 1)" in answer.stderr
