"""Rules of a user over views of a history, on Spark: from the file to the answer, and what is refused before."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from histories.clusters import PlantedCluster, chosen_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RULES = """
[[rules]]
name = "short-retention"
severity = "critical"
view = "configs"
where = "name = 'retention.ms' AND TRY_CAST(value AS BIGINT) < 1000"
message = "{name} of {entity} is {value}, set as {origin} {{}}"

[[rules]]
name = "full"
severity = "warning"
view = "disks"
where = "usable_bytes < total_bytes / 10"
message = "{usable_bytes} of {total_bytes} left in {path}"

[[rules]]
name = "one-copy"
severity = "info"
view = "topics"
where = "replicas_least = 1 AND topic NOT LIKE 'scratch%'"
message = "{partitions} partitions, the fewest replicas are {replicas_least}"

[[rules]]
name = "behind"
severity = "warning"
view = "offsets"
where = "lag > 50"
message = "{lag} behind"
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Two clusters, of which one breaks each rule from hour 2 on, and the first of them up to hour 4."""
    clean, ill = PlantedCluster("a"), PlantedCluster("b")
    for cluster in (clean, ill):
        cluster.set("topic", "orders", "retention.ms", "5000")
        for broker in range(3):
            cluster.log_dirs[broker, "/data"] = {"total_bytes": 1000, "usable_bytes": 500}
        cluster.groups["billing", "orders", 0] = {"offset": 90}
        cluster.snapshot(2)
    ill.set("topic", "orders", "retention.ms", "500")
    ill.log_dirs[1, "/data"]["usable_bytes"] = 99
    ill.add("audit", 2, replicas=[0], isr=[0], min_isr=1)
    ill.add("scratch", 0, replicas=[0], isr=[0], min_isr=1)
    ill.snapshot(2)
    ill.set("topic", "orders", "retention.ms", "5000")
    ill.groups["billing", "orders", 0] = {"offset": 40}
    clean.snapshot(30)
    ill.snapshot(28)
    chosen_of(tmp_path / "history", [clean, ill])
    return tmp_path / "history"


def test_rules_over_views_are_told_from_when_to_when(spark: SparkSession, history: Path, tmp_path: Path) -> None:
    from analyzers.fleet_audit import run_audit, select_fleet
    from analyzers.rules.criteria import Criteria
    from analyzers.rules.rule_files import read_rules

    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    custom = read_rules(tmp_path / "rules.toml")
    criteria = Criteria(frozenset(rule.name for rule in custom), custom)
    found = run_audit(spark, select_fleet([history]), criteria)
    rows = {row.rule: row for row in found.audit.findings()}
    assert (len(rows), found.total, {row.cluster for row in rows.values()}) == (4, 4, {"b"})
    short = rows["short-retention"]
    assert short.message == "retention.ms of orders is 500, set as topic {}"
    assert [one[11:16] for one in (short.valid_from, short.last_seen, str(short.valid_to))] == [
        "22:00",
        "23:00",
        "00:00",
    ]
    assert (short.in_newest, short.evidence["setting"], short.evidence["value"]) == (False, "retention.ms", "500")
    full = rows["full"]
    assert (full.broker, full.message, full.in_newest) == (1, "99 of 1000 left in /data", True)
    assert (rows["one-copy"].topic, rows["one-copy"].message) == ("audit", "3 partitions, the fewest replicas are 1")
    behind = rows["behind"]
    assert (behind.topic, behind.partition, behind.evidence["group"], behind.message) == (
        "orders",
        0,
        "billing",
        "60 behind",
    )
    some = run_audit(spark, select_fleet([history]), Criteria(frozenset({"full"}), custom))
    assert [row.rule for row in some.audit.findings()] == ["full"]


@pytest.mark.parametrize(
    ("view", "where", "said"),
    [
        ("disks", "usable < 1", "there is no column usable; did you mean usable_bytes?"),
        ("topics", "isr = 1", "there is no column isr; "),
        ("configs", "value", "its condition gives string, not true or false"),
    ],
)
def test_a_wrong_condition_over_a_view_is_told_before_anything_is_read(
    view: str, where: str, said: str, spark: SparkSession
) -> None:
    from analyzers.rules.custom_rules import rules_on_spark
    from analyzers.rules.rule_files import CustomRule
    from kreplica.errors import InputError
    from kreplica.health.rules import Severity

    with pytest.raises(InputError, match=r"cannot read rules\.toml, rule mine; ") as refused:
        rules_on_spark(spark, [CustomRule("mine", Severity.WARNING, where, "m", "", "rules.toml", view)])
    assert said in str(refused.value)


def test_dumps_are_refused_before_spark_starts(
    tmp_path: Path, run_cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    answer = run_cli("audit", "sample", "--rules", tmp_path / "rules.toml", timeout=120)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "behind, full, one-copy, short-retention: rules over configs, disks, offsets, topics judge a history" in (
        answer.stderr
    )
