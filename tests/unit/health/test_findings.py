"""The rules find what a plain reading of the definitions finds, in its order, and say it with the right facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from plain import findings as plain_findings
from plain import reference as plain_reference

from kreplica.health.findings import Finding, find, spell, worst
from kreplica.health.rules import (
    ALL_RULES,
    GROUP_RULES,
    PARTITION_RULES,
    Aggregate,
    GroupRule,
    Largest,
    Rows,
    RowsWhere,
    Severity,
    Smallest,
)
from kreplica.model.predicates.expressions import Column
from kreplica.model.snapshot import ClusterSnapshot


def places(findings: list[Finding]) -> list[plain_findings.Found]:
    return [(item.rule, item.severity.word, item.topic, item.partition, item.broker) for item in findings]


@given(clusters())
def test_every_rule_finds_what_the_definitions_say(cluster: Cluster) -> None:
    assert places(find(cluster.snapshot())) == plain_findings.findings(cluster.partitions, cluster.brokers)


@given(clusters())
def test_evidence_of_partitions_is_the_facts_themselves(cluster: Cluster) -> None:
    rows = {(row["topic"], row["partition"]): row for row in cluster.partitions}
    for finding in find(cluster.snapshot()):
        if finding.partition is None:
            continue
        row = rows[finding.topic, finding.partition]  # type: ignore[index]
        facts = plain_findings.evidence_of_partition(row)
        facts |= {
            "racks": plain_reference.racks_of(row, cluster.brokers),
            "possible": plain_reference.possible_racks(row, cluster.brokers),
        }
        assert finding.evidence == {name: facts[name] for name in finding.evidence}
        assert len(finding.evidence) >= 3
        assert "{" not in finding.message


@given(clusters())
def test_evidence_of_topics_and_brokers_counts_their_partitions(cluster: Cluster) -> None:
    for finding in find(cluster.snapshot()):
        if finding.topic is not None and finding.partition is None:
            mine = [row for row in cluster.partitions if row["topic"] == finding.topic]
            factors = [plain_reference.replication_factor(row) for row in mine]
            minima = [row["min_isr"] for row in mine if row["min_isr"] is not None]
            assert finding.evidence["partitions"] == len(mine)
            assert finding.evidence.get("least", min(factors)) == min(factors)
            assert finding.evidence.get("most", max(factors)) == max(factors)
            assert finding.evidence.get("min_isr") in (None, max(minima, default=None))
        if finding.broker is not None:
            preferred = [row for row in cluster.partitions if row["replicas"][:1] == [finding.broker]]
            away = [row for row in preferred if row["leader"] not in (None, finding.broker)]
            assert finding.evidence == {"preferred_partitions": len(preferred), "non_preferred": len(away)}


def of_rule(rule: str, snapshot: ClusterSnapshot) -> list[Finding]:
    return [finding for finding in find(snapshot) if finding.rule == rule]


@pytest.mark.parametrize(
    ("rule", "fields", "severity", "message"),
    [
        ("offline", {"leader": -1, "isr": []}, Severity.CRITICAL, "no leader: replicas 1,2,3, in sync none"),
        ("under-replicated", {"isr": [1, 2]}, Severity.WARNING, "2 of 3 replicas in sync, missing 3"),
        ("under-min-isr", {"isr": [1]}, Severity.CRITICAL, "1 in-sync replica, min.insync.replicas 2"),
        (
            "under-min-isr",
            {"replicas": [1], "isr": [1]},
            Severity.WARNING,
            "1 in-sync replica, min.insync.replicas 2",
        ),
        ("at-min-isr", {"isr": [1, 2]}, Severity.WARNING, "2 in-sync replicas, exactly min.insync.replicas"),
        ("at-min-isr", {"min_isr": 3}, Severity.INFO, "3 in-sync replicas, exactly min.insync.replicas"),
        (
            "masked-under-replicated",
            {"replicas": [1, 2, 4], "adding": [4], "isr": [1, 4]},
            Severity.WARNING,
            "original replica out of sync, hidden by an adding one that is in sync: missing 2, adding 4",
        ),
        ("rf-one", {"replicas": [1]}, Severity.WARNING, "1 of 1 partition with one replica only"),
        (
            "min-isr-above-rf",
            {"min_isr": 4},
            Severity.WARNING,
            "min.insync.replicas 4 is above the replication factor in 1 of 1 partition",
        ),
        (
            "min-isr-equals-rf",
            {"min_isr": 3},
            Severity.WARNING,
            "min.insync.replicas 3 equals the replication factor in 1 of 1 partition",
        ),
        (
            "unclean-enabled",
            {"unclean_leader_election": True},
            Severity.WARNING,
            "unclean.leader.election.enable is true for 1 partition",
        ),
        (
            "leader-imbalance",
            {"leader": 2},
            Severity.WARNING,
            "does not lead 1 of the 1 partition it is preferred for",
        ),
    ],
)
def test_what_a_finding_says(rule: str, fields: dict[str, object], severity: Severity, message: str) -> None:
    (finding,) = of_rule(rule, snapshot_of([partition(**fields)]))
    assert (finding.severity, finding.message) == (severity, message)


def test_racks_that_stand_empty_are_a_violation() -> None:
    brokers = [{"broker": number, "rack": "ab"[number % 2]} for number in range(1, 5)]
    (finding,) = of_rule("rack-violation", snapshot_of([partition(replicas=[1, 3])], brokers))
    assert finding.message == "replicas 1,3 stand in 1 rack, 2 are possible"
    assert finding.severity is Severity.WARNING
    assert not of_rule("rack-violation", snapshot_of([partition(replicas=[1, 2])], brokers))
    unknown = [*brokers, {"broker": 5}]
    assert not of_rule("rack-violation", snapshot_of([partition(replicas=[1, 3])], unknown))


def test_a_topic_of_several_replication_factors() -> None:
    snapshot = snapshot_of([partition(number=0), partition(number=1, replicas=[1, 2]), partition("other", 0)])
    (finding,) = of_rule("mixed-rf", snapshot)
    assert (finding.topic, finding.severity) == ("orders", Severity.INFO)
    assert finding.message == "partitions have from 2 to 3 replicas"


@pytest.mark.parametrize(("away", "of", "found"), [(1, 10, False), (2, 20, False), (2, 19, True), (0, 10, False)])
def test_ten_percent_of_the_leaders_may_be_elsewhere(away: int, of: int, found: bool) -> None:
    rows = [partition(number=number, leader=2 if number < away else 1) for number in range(of)]
    assert bool(of_rule("leader-imbalance", snapshot_of(rows))) is found


def test_broker_zero_is_a_broker() -> None:
    rows = [partition(number=0, replicas=[0, 1], leader=1), partition(number=1, replicas=[1, 0], leader=0)]
    assert [finding.broker for finding in of_rule("leader-imbalance", snapshot_of(rows))] == [0, 1]


def test_topics_come_in_their_order_whatever_the_order_of_the_input() -> None:
    snapshot = snapshot_of([partition(topic, number, replicas=[1], isr=[]) for topic in "cab" for number in (1, 0)])
    assert [finding.topic for finding in of_rule("rf-one", snapshot)] == ["a", "b", "c"]
    places = [(finding.topic, finding.partition) for finding in of_rule("under-replicated", snapshot)]
    assert places == [(topic, number) for topic in "abc" for number in (0, 1)]


def test_groups_gather_known_values_of_their_own_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule made for this: by leader; partitions without a known leader are in no group."""
    minimum, leader = Column("min_isr"), Column("leader")
    facts = {
        "count": Rows(),
        "strict": RowsWhere(minimum > 1),
        "least": Smallest(minimum),
        "most": Largest(minimum),
    }
    rule = GroupRule("made-up", Severity.INFO, leader, tuple(facts.items()), Column("count") > 0, "{least}", "")
    monkeypatch.setattr("kreplica.health.findings.GROUP_RULES", (rule,))
    minima = {0: [3, None, 2], 4: [None], 7: [1, 5], None: [9, 9]}
    rows = [(leader_id, value) for leader_id, values in minima.items() for value in values]
    snapshot = snapshot_of([partition(number=n, leader=who, min_isr=value) for n, (who, value) in enumerate(rows)])
    found = {finding.broker: (dict(finding.evidence), finding.message) for finding in of_rule("made-up", snapshot)}
    assert found == {
        0: ({"count": 3, "strict": 2, "least": 2, "most": 3}, "2"),
        4: ({"count": 1, "strict": 0, "least": None, "most": None}, "unknown"),
        7: ({"count": 2, "strict": 1, "least": 1, "most": 5}, "1"),
    }


def test_topics_that_were_left_out_are_not_judged() -> None:
    snapshot = snapshot_of([partition("a", replicas=[1]), partition("b")])
    assert find(snapshot.select([1])) == []  # type: ignore[arg-type]
    assert find(snapshot_of([])) == []


def test_spelling() -> None:
    assert spell("{a} {b} {c} {d}", {"a": None, "b": [], "c": [1, 2], "d": 0}) == "unknown none 1,2 0"


def test_the_worst_of_findings() -> None:
    snapshot = snapshot_of([partition(min_isr=3)])
    assert worst(find(snapshot)) is Severity.WARNING
    assert worst([]) is None


def test_rules_are_complete() -> None:
    """The names that scripts filter by (DESIGN: names fixed for scripts)."""
    names = (
        "under-replicated masked-under-replicated under-min-isr at-min-isr offline leader-imbalance rack-violation"
        " rf-one min-isr-equals-rf min-isr-above-rf unclean-enabled mixed-rf"
    )
    differing = {rule.name for rule in ALL_RULES} ^ set(names.split())
    assert not differing, f"name among those that are fixed, here: {differing}"
    assert (*PARTITION_RULES, *GROUP_RULES) == ALL_RULES
    assert all(rule.why and rule.message for rule in ALL_RULES)
    cases = Path(__file__).read_text(encoding="utf-8")
    silent = [rule.name for rule in ALL_RULES if f'"{rule.name}"' not in cases]
    assert not silent, f"give these a case that breaks them: {silent}"
    assert [severity.word for severity in Severity] == ["info", "warning", "critical"]


def test_severities_are_compared_by_rank_not_by_letters() -> None:
    info, warning, critical = Severity
    assert info < warning < critical
    assert info <= warning <= critical
    assert not any((critical < warning, critical <= warning, info > warning, info >= warning, critical < info))
    assert critical > warning > info
    assert critical >= warning >= info
    assert max(warning, critical, info) is critical
    assert warning >= Severity("warning")
    assert warning <= Severity("warning")
    assert [severity.rank for severity in Severity] == [1, 2, 3]


def test_an_aggregate_that_nobody_can_gather_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = GroupRule("made-up", Severity.INFO, None, (("x", Aggregate()),), Column("x") > 0, "", "")
    monkeypatch.setattr("kreplica.health.findings.GROUP_RULES", (rule,))
    with pytest.raises(AssertionError, match="no way to gather"):
        find(snapshot_of([partition()]))
