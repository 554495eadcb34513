"""Rules over topics: copies, how many of them acknowledge, who may lead, flushing."""

from __future__ import annotations

from kreplica.advice.commands import factor_command, set_for_topic, spread_command, unset_for_topic
from kreplica.advice.facts import ClusterFacts, NotKnownError, Setting, TopicFacts
from kreplica.advice.model import Proposal, TopicRule
from kreplica.health import rules as check
from kreplica.health.rules import Severity
from kreplica.model.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.wording.words import counted

GOOD_FACTOR = 3
"""One replica may be down for a restart and one may fail, and still one is left."""
GOOD_MIN_ISR = 2
REPLICATION_FACTOR = "replication factor"
NEVER = str(2**63 - 1)
"""Kafka's value for an interval that never ends."""
ORIGIN_TOPIC = "topic"
_MORE_DISK = "the disk and the replication traffic of each added copy; the move itself reads everything once"
_NOT_NOW = "not possible now: too few brokers are live, or its partitions are being moved already"
_FEWER_ACKNOWLEDGE = "a write is acknowledged with one copy fewer"
_OF_KAFKA = {
    OFFSETS_TOPIC: "committed offsets of all groups go with it",
    TRANSACTIONS_TOPIC: "open transactions go with it",
    SHARE_STATE_TOPIC: "the state of share groups goes with it",
}
_DURABILITY = "Apache Kafka documentation, min.insync.replicas and acks"


def _factor(topic: TopicFacts) -> Setting:
    spelled = str(topic.least) if topic.least == topic.most else f"{topic.least} to {topic.most}"
    return Setting(spelled, "assignment")


def _more_replicas(topic: TopicFacts, factor: int, facts: ClusterFacts, severity: Severity | None = None) -> Proposal:
    command = factor_command(topic, factor, facts)
    details = [_OF_KAFKA.get(topic.name, ""), "" if command else _NOT_NOW]
    return Proposal(
        _factor(topic),
        str(factor),
        command,
        "; ".join(filter(None, details)),
        price=_MORE_DISK,
        severity=severity,
        setting=REPLICATION_FACTOR,
    )


def _rf_one(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    if not topic.breaks(check.RF_ONE.name) or len(facts.brokers) < 2:
        return None
    factor = max(topic.most, min(GOOD_FACTOR, len(facts.brokers)))
    severity = Severity.CRITICAL if topic.internal else Severity.WARNING
    return _more_replicas(topic, factor, facts, severity)


def _rf_two(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    strict = topic.breaks(check.MIN_ISR_EQUALS_RF.name) or topic.breaks(check.MIN_ISR_ABOVE_RF.name)
    if (topic.least, topic.most) != (2, 2) or strict or len(facts.brokers) < GOOD_FACTOR:
        return None
    return _more_replicas(topic, GOOD_FACTOR, facts)


def _mixed_rf(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    if not topic.breaks(check.MIXED_RF.name) or topic.least < 2:  # rf-one judges those
        return None
    return _more_replicas(topic, max(topic.most, min(GOOD_FACTOR, len(facts.brokers))), facts)


def _rack_violation(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    if not facts.racks_known:
        raise NotKnownError("racks of the brokers")
    findings = topic.findings.get(check.RACK_VIOLATION.name, ())
    if not findings or any(_grows(topic, facts)):  # more replicas are placed in other racks anyway
        return None
    least = min(int(str(finding.evidence["racks"])) for finding in findings)
    possible = max(int(str(finding.evidence["possible"])) for finding in findings)
    command = spread_command(topic, [finding.partition or 0 for finding in findings], facts)
    current = Setting(
        f"{counted(least, 'rack')} in {len(findings)} of {counted(len(topic.assignment), 'partition')}", "assignment"
    )
    return Proposal(current, counted(possible, "rack"), command, "" if command else _NOT_NOW)


def _grows(topic: TopicFacts, facts: ClusterFacts) -> list[bool]:
    judges = (_rf_one, _rf_two, _mixed_rf, _min_isr_equals_rf, _min_isr_above_rf)
    proposals = [judge(topic, facts) for judge in judges]
    return [proposal is not None and proposal.setting != MIN_ISR for proposal in proposals]


def _min_isr(topic: TopicFacts) -> Setting:
    if topic.min_isr is None:
        raise NotKnownError(MIN_ISR)
    found = topic.settings.get(MIN_ISR)
    return Setting(str(topic.min_isr), "unknown" if found is None else found.origin)


def _elr_price(facts: ClusterFacts) -> str:
    return "changing it clears the topic's eligible leader replicas once (KIP-966)" if facts.elr else ""


def _lower(topic: TopicFacts, value: int, facts: ClusterFacts, severity: Severity | None = None) -> Proposal:
    command = set_for_topic(topic.name, MIN_ISR, value, facts)
    return Proposal(
        _min_isr(topic),
        str(value),
        command,
        price=_FEWER_ACKNOWLEDGE,
        cost=_elr_price(facts),
        severity=severity,
        setting=MIN_ISR,
    )


def _min_isr_one(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    current = _min_isr(topic)
    if topic.min_isr != 1 or topic.least < GOOD_FACTOR:
        return None
    command = set_for_topic(topic.name, MIN_ISR, GOOD_MIN_ISR, facts)
    return Proposal(current, str(GOOD_MIN_ISR), command, cost=_elr_price(facts))


def _min_isr_equals_rf(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    _min_isr(topic)
    if not topic.breaks(check.MIN_ISR_EQUALS_RF.name) or topic.least == 1:
        return None
    if topic.least >= GOOD_FACTOR:
        return _lower(topic, topic.least - 1, facts)
    if len(facts.brokers) < GOOD_FACTOR:  # two brokers: either both acknowledge, or one may be lost unseen
        return None
    return _more_replicas(topic, max(GOOD_FACTOR, topic.most), facts)


def _min_isr_above_rf(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    _min_isr(topic)
    if not topic.breaks(check.MIN_ISR_ABOVE_RF.name):
        return None
    severity = Severity.INFO if facts.min_isr_above_rf_means_all else None
    if topic.least >= GOOD_FACTOR:
        return _lower(topic, topic.least - 1, facts, severity)
    if len(facts.brokers) <= topic.least:
        return _lower(topic, topic.least, facts, severity)
    if topic.least == 1:  # rf-one judges those first
        return None
    return _lowered_and_extended(topic, facts, severity)


def _lowered_and_extended(topic: TopicFacts, facts: ClusterFacts, severity: Severity | None) -> Proposal:
    """Advises more replicas first: with them the lower value still requires two."""
    command = factor_command(topic, max(GOOD_FACTOR, topic.most), facts)
    lower = set_for_topic(topic.name, MIN_ISR, GOOD_MIN_ISR, facts)
    recommended = f"{GOOD_FACTOR}, with {MIN_ISR} {GOOD_MIN_ISR}"
    said = f"{MIN_ISR} is {topic.min_isr}"
    if command is None:
        said = f"{said}; {_NOT_NOW}"
    else:
        command = f"{lower} && {command}"
    return Proposal(_factor(topic), recommended, command, said, severity=severity, setting=REPLICATION_FACTOR)


def _unclean(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    current = topic.settings.get(UNCLEAN)
    if topic.unclean is None:
        raise NotKnownError(UNCLEAN)
    if not topic.breaks(check.UNCLEAN_ENABLED.name) or (current is not None and current.origin != ORIGIN_TOPIC):
        return None  # unclean-default judges the value that topics inherit from brokers
    severity = Severity.CRITICAL if topic.internal else None
    command = set_for_topic(topic.name, UNCLEAN, "false", facts)
    return Proposal(current or Setting("true", "unknown"), "false", command, severity=severity)


def _flush(setting: str) -> TopicRule:
    def judge(topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
        current = topic.settings[setting]
        if current.origin != ORIGIN_TOPIC or current.value in (None, NEVER):
            return None
        return Proposal(current, "not set", unset_for_topic(topic.name, setting, facts))

    return TopicRule(
        name=setting.replace(".", "-"),
        setting=setting,
        severity=Severity.INFO,
        why="the broker calls fsync while it takes records: slower, and replication already keeps them where one broker"
        " fails",
        price="records that no broker has flushed are lost if all replicas lose power at the same moment",
        source=f"Apache Kafka documentation, topic setting {setting}",
        judge=judge,
        reads=(setting,),
    )


TOPIC_RULES: tuple[TopicRule, ...] = (
    TopicRule(
        name=check.RF_ONE.name,
        setting=REPLICATION_FACTOR,
        severity=Severity.WARNING,
        why=check.RF_ONE.why,
        price=_MORE_DISK,
        source="KIP-455; kafka-reassign-partitions",
        judge=_rf_one,
    ),
    TopicRule(
        name="rf-two",
        setting=REPLICATION_FACTOR,
        severity=Severity.INFO,
        why="with two copies a restart leaves one: either writes stop then (min.insync.replicas 2) or a failure loses"
        " what only it acknowledged (1)",
        price=_MORE_DISK,
        source=_DURABILITY,
        judge=_rf_two,
    ),
    TopicRule(
        name=check.MIXED_RF.name,
        setting=REPLICATION_FACTOR,
        severity=check.MIXED_RF.severity,
        why=f"its partitions have different numbers of copies: {check.MIXED_RF.why}",
        price=_MORE_DISK,
        source="KIP-455",
        judge=_mixed_rf,
    ),
    TopicRule(
        name=check.RACK_VIOLATION.name,
        setting="replica placement",
        severity=check.RACK_VIOLATION.severity,
        why=check.RACK_VIOLATION.why,
        price="the moved replicas are copied once",
        source="KIP-36",
        judge=_rack_violation,
    ),
    TopicRule(
        name="min-isr-one",
        setting=MIN_ISR,
        severity=Severity.WARNING,
        why="the leader alone then satisfies acks=all: what only it has is lost with it, in spite of three copies",
        price="with two of three replicas out of sync acks=all writes are refused instead of being at risk; producers"
        " with acks=0 or 1 are not affected",
        source=_DURABILITY,
        judge=_min_isr_one,
    ),
    TopicRule(
        name=check.MIN_ISR_EQUALS_RF.name,
        setting="replication factor or min.insync.replicas",
        severity=check.MIN_ISR_EQUALS_RF.severity,
        why=check.MIN_ISR_EQUALS_RF.why,
        price=f"{_FEWER_ACKNOWLEDGE}; where replicas are added instead: {_MORE_DISK}",
        source=_DURABILITY,
        judge=_min_isr_equals_rf,
    ),
    TopicRule(
        name=check.MIN_ISR_ABOVE_RF.name,
        setting="replication factor or min.insync.replicas",
        severity=check.MIN_ISR_ABOVE_RF.severity,
        why=check.MIN_ISR_ABOVE_RF.why,
        price=f"{_FEWER_ACKNOWLEDGE}; where replicas are added instead: {_MORE_DISK}",
        source="KAFKA-15583, Partition.scala",
        judge=_min_isr_above_rf,
    ),
    TopicRule(
        name=check.UNCLEAN_ENABLED.name,
        setting=UNCLEAN,
        severity=check.UNCLEAN_ENABLED.severity,
        why=check.UNCLEAN_ENABLED.why,
        price="with every in-sync replica down the partition stays offline until one of them is back",
        source="KIP-106, PartitionChangeBuilder",
        judge=_unclean,
    ),
    _flush("flush.messages"),
    _flush("flush.ms"),
)
