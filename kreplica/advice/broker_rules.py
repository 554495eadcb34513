"""Rules over brokers: values that topics inherit, defaults of new topics, and racks."""

from __future__ import annotations

from kreplica.advice.commands import set_for_brokers, set_in_file
from kreplica.advice.facts import RACK, BrokerGroup, ClusterFacts, NotKnownError, Setting
from kreplica.advice.model import BrokerRule, Proposal
from kreplica.advice.topic_rules import GOOD_FACTOR, GOOD_MIN_ISR, NEVER, ORIGIN_TOPIC
from kreplica.health.rules import Severity
from kreplica.model.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.wording.words import counted

DEFAULT_FACTOR = "default.replication.factor"
AUTO_CREATE = "auto.create.topics.enable"
_NEW_DISK = "the disk and the replication traffic of each copy"
_ONLY_AT_CREATION = "it is read when the topic is made, on its first use, and never again"


def _enough(facts: ClusterFacts) -> bool:
    return len(facts.brokers) >= GOOD_FACTOR


def _default_factor(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
    factor = group.integer(DEFAULT_FACTOR)
    if factor >= GOOD_FACTOR or not _enough(facts):
        return None
    severity = Severity.WARNING if factor == 1 else Severity.INFO
    command = set_in_file(group, DEFAULT_FACTOR, GOOD_FACTOR, controllers=True)
    return Proposal(group.settings[DEFAULT_FACTOR], str(GOOD_FACTOR), command, severity=severity)


def _default_min_isr(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
    # With eligible leader replicas no broker may have its own, and a change clears those of all topics: by topic then.
    if group.integer(MIN_ISR) != 1 or facts.elr or not _enough(facts) or _small_topics_inherit(facts):
        return None
    command = set_for_brokers(group, MIN_ISR, GOOD_MIN_ISR, facts)
    return Proposal(group.settings[MIN_ISR], str(GOOD_MIN_ISR), command)


def _small_topics_inherit(facts: ClusterFacts) -> bool:
    """True if topics with fewer than three replicas would also get the value: these need replicas first."""
    return any(
        topic.least < GOOD_FACTOR and (MIN_ISR not in topic.settings or topic.settings[MIN_ISR].origin != ORIGIN_TOPIC)
        for topic in facts.all_topics
    )


def _default_unclean(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
    if not group.true(UNCLEAN):
        return None
    return Proposal(group.settings[UNCLEAN], "false", set_for_brokers(group, UNCLEAN, "false", facts))


def _auto_create(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
    if not group.true(AUTO_CREATE):
        return None
    single = group.integer(DEFAULT_FACTOR) == 1 and len(facts.brokers) > 1
    detail = f"they get one replica: {DEFAULT_FACTOR} is 1" if single else ""
    severity = Severity.WARNING if single else None
    command = set_in_file(group, AUTO_CREATE, "false")
    return Proposal(group.settings[AUTO_CREATE], "false", command, detail, severity=severity)


def _racks(_: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
    if not facts.racks_known:
        raise NotKnownError("racks of the brokers")
    without = [broker for broker in facts.live if broker not in facts.racks]
    if not without or len(facts.brokers) < 2:
        return None
    some = bool(facts.racks)
    named = ", ".join(map(str, without))
    detail = f"brokers {named} have none while others have, so new topics are refused or placed without regard"
    command = f"{RACK}=RACK  # server.properties of broker {named}, each its own, then restart one after the other"
    current = Setting(None, "default")
    return Proposal(
        current,
        "the rack or zone of each broker",
        command,
        detail if some else "",
        severity=Severity.WARNING if some else None,
    )


def _flush(setting: str, never: str | None) -> BrokerRule:
    def judge(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
        current = group.settings[setting]
        if current.value in (None, never, NEVER):
            return None
        return Proposal(current, "not set", set_for_brokers(group, setting, NEVER, facts))

    return BrokerRule(
        name=setting.replace(".", "-"),
        setting=setting,
        severity=Severity.INFO,
        why="every broker calls fsync while it takes records: slower, and replication already keeps them where one"
        " broker fails",
        price="records that no broker has flushed are lost if all replicas lose power at the same moment",
        source=f"Apache Kafka documentation, broker setting {setting}",
        judge=judge,
        reads=(setting,),
    )


def _topic_to_come(setting: str, topic: str, name: str, what: str) -> BrokerRule:
    """Judges a replication factor that applies only when the topic is created; afterwards its own replicas count."""

    def judge(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
        if topic in facts.partition_counts or group.integer(setting) >= GOOD_FACTOR or not _enough(facts):
            return None
        severity = Severity.WARNING if group.integer(setting) == 1 else Severity.INFO
        command = set_in_file(group, setting, GOOD_FACTOR)
        return Proposal(group.settings[setting], str(GOOD_FACTOR), command, _ONLY_AT_CREATION, severity=severity)

    return BrokerRule(
        name=name,
        setting=setting,
        severity=Severity.WARNING,
        why=f"{what} will stand on one broker only: lost with its disk, not to be had while it restarts",
        price=_NEW_DISK,
        source=f"Apache Kafka documentation, broker setting {setting}",
        judge=judge,
        reads=(setting,),
    )


def _min_isr_to_come(setting: str, factor: str, topic: str, name: str, what: str) -> BrokerRule:
    def judge(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
        if topic in facts.partition_counts or group.integer(factor) < GOOD_FACTOR:
            return None
        if 1 < group.integer(setting) < group.integer(factor):
            return None
        command = set_in_file(group, setting, GOOD_MIN_ISR)
        return Proposal(group.settings[setting], str(GOOD_MIN_ISR), command, _ONLY_AT_CREATION)

    return BrokerRule(
        name=name,
        setting=setting,
        severity=Severity.WARNING,
        why=f"one copy alone acknowledges {what}, which loses them with it, or all copies must, which stops at any"
        " restart",
        price="with two of three replicas out of sync it stops until one is back",
        source=f"Apache Kafka documentation, broker setting {setting}",
        judge=judge,
        reads=(setting, factor),
    )


def _partition_count(setting: str, topic: str, name: str) -> BrokerRule:
    def judge(group: BrokerGroup, facts: ClusterFacts) -> Proposal | None:
        count = facts.partition_counts.get(topic)
        if count is None or group.integer(setting) == count:
            return None
        command = set_in_file(group, setting, count)
        return Proposal(group.settings[setting], str(count), command, f"{topic} has {counted(count, 'partition')}")

    return BrokerRule(
        name=name,
        setting=setting,
        severity=Severity.INFO,
        why="the setting and the topic differ; never add partitions to the topic to make them equal: ids are hashed"
        " over its partitions, so that existing groups or transactions would no longer be found",
        price="none: the topic stays as it is",
        source="GroupCoordinator.partitionFor, TransactionStateManager.partitionFor",
        judge=judge,
        reads=(setting,),
    )


BROKER_RULES: tuple[BrokerRule, ...] = (
    BrokerRule(
        name="default-rf",
        setting=DEFAULT_FACTOR,
        severity=Severity.WARNING,
        why="topics made without a replication factor, by hand or by themselves, get too few copies",
        price=_NEW_DISK,
        source="Apache Kafka documentation, ReplicationControlManager",
        judge=_default_factor,
        reads=(DEFAULT_FACTOR,),
    ),
    BrokerRule(
        name="default-min-isr",
        setting=MIN_ISR,
        severity=Severity.WARNING,
        why="topics without their own value take acks=all writes that one copy alone holds",
        price="with two of three replicas out of sync acks=all writes are refused instead of being at risk",
        source="Apache Kafka documentation; with eligible leader replicas KIP-966, where it is set by topic instead",
        judge=_default_min_isr,
        reads=(MIN_ISR,),
    ),
    BrokerRule(
        name="unclean-default",
        setting=UNCLEAN,
        severity=Severity.WARNING,
        why="for all topics without their own value a replica out of sync may become leader: acknowledged records can"
        " be lost (the default was true before 0.11)",
        price="with every in-sync replica down a partition stays offline until one of them is back",
        source="KIP-106",
        judge=_default_unclean,
        reads=(UNCLEAN,),
    ),
    BrokerRule(
        name="auto-create",
        setting=AUTO_CREATE,
        severity=Severity.INFO,
        why="a name mistyped by any client becomes a topic with default settings",
        price="topics have to be made before they are used; Kafka Streams and Connect make theirs all the same",
        source="Apache Kafka documentation, broker setting auto.create.topics.enable",
        judge=_auto_create,
        reads=(AUTO_CREATE, DEFAULT_FACTOR),
    ),
    BrokerRule(
        name="racks",
        setting=RACK,
        severity=Severity.INFO,
        why="Kafka spreads replicas over racks only where it knows them: the loss of one may take all copies",
        price="a restart of each broker; replicas already placed stay where they are",
        source="KIP-36",
        judge=_racks,
        reads=(),
    ),
    _flush("log.flush.interval.messages", NEVER),
    _flush("log.flush.interval.ms", None),
    _topic_to_come("offsets.topic.replication.factor", OFFSETS_TOPIC, "offsets-topic-rf", "committed offsets"),
    _topic_to_come(
        "transaction.state.log.replication.factor", TRANSACTIONS_TOPIC, "transactions-topic-rf", "transactions"
    ),
    _topic_to_come(
        "share.coordinator.state.topic.replication.factor",
        SHARE_STATE_TOPIC,
        "share-topic-rf",
        "states of share groups",
    ),
    _min_isr_to_come(
        "transaction.state.log.min.isr",
        "transaction.state.log.replication.factor",
        TRANSACTIONS_TOPIC,
        "transactions-topic-min-isr",
        "transactions",
    ),
    _min_isr_to_come(
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.replication.factor",
        SHARE_STATE_TOPIC,
        "share-topic-min-isr",
        "states of share groups",
    ),
    _partition_count("offsets.topic.num.partitions", OFFSETS_TOPIC, "offsets-topic-partitions"),
    _partition_count("transaction.state.log.num.partitions", TRANSACTIONS_TOPIC, "transactions-topic-partitions"),
)
