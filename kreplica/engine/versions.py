"""The versions of Kafka as data: each is the one before and what differs, defaults included.

A version holds rules (functions of ``kreplica.engine.rules``) where they differ in kind, switches where a rule is there
or is not, and the defaults of the settings that the engine obeys. ``VERSIONS`` are in order; a release between two of
them follows the lower one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kreplica.engine.rules.acknowledgement import ACKS_ALL
from kreplica.engine.rules.producer_state import CACHED_BATCHES, UnknownProducer
from kreplica.engine.settings import Value
from kreplica.errors import UsageError
from kreplica.model.settings import MIN_ISR, UNCLEAN

NEVER = 2**63 - 1
"""Kafka's Long.MAX_VALUE: a flush that never comes, retries without end."""


class ControllerKind(StrEnum):
    """Who decides on leaders and ISRs."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class Truncation(StrEnum):
    """Where a follower cuts its log when it begins to follow a leader.

    ``high-watermark`` its own high watermark; ``kip-101`` (0.11) the end of its latest epoch at the leader, one
    question; ``kip-279`` (2.0) as often as it takes to find the common history; ``kip-320`` (2.1) the same, and leader
    and follower refuse each other unless they are in the same epoch.
    """

    HIGH_WATERMARK = "high-watermark"
    KIP_101 = "kip-101"
    KIP_279 = "kip-279"
    KIP_320 = "kip-320"


@dataclass(frozen=True, slots=True)
class Version:
    """What one version of Kafka does.

    Args:
        name: As ``--kafka-version`` takes it.
        controller: ZooKeeper or KRaft.
        defaults: Settings by Kafka's names; those of every earlier version that did not change are among them.
        position_before_read: The leader notes a follower's position before it reads for it (up to 0.8.1).
        lag_by_messages: replica.lag.max.messages counts too (before 0.9, KAFKA-1546).
        waits_for_joining: The high watermark waits for who has caught up and is not in the ISR yet; who fetches from
            where the log ended at its fetch before had caught up then (0.10.2, KAFKA-4485).
        end_suffices: A follower that has everything stays in the ISR, dead or not (2.1, KAFKA-7152).
        waits_only_for_eligible: The high watermark does not wait for brokers that could not join (3.6, KAFKA-15021).
        truncation: How a follower cuts.
        truncate_on_fetch: The answer to a fetch tells where to cut (2.7, KIP-595).
        join_at_epoch_start: A follower joins the ISR only once it has the leader's epoch (2.1, KAFKA-7128).
        fenced_fetch: Requests carry the leader epoch, and another epoch is refused (2.1, KIP-320).
        isr_notification: ISR changes are told to the controller (0.9, KAFKA-1367).
        failed_directories_tolerated: A broker lives on with a failed log directory (1.0, KIP-112; KRaft 3.7, KIP-858).
        keeps_last_in_sync: The last member of an ISR stays in it (1.1; before, only without unclean elections).
        controller_epoch_checked: ZooKeeper refuses writes of a deposed controller (2.1, KAFKA-6082).
        bounces_are_seen: A broker that was away shortly is noticed by its epoch (2.2, KIP-380).
        failover_cleans_isrs: A new controller takes brokers that are gone out of every ISR (2.4).
        balances_while_moving: Leaders are brought back while replicas are moved (3.4, KAFKA-10149).
        ineligible_refused: Brokers that are not live join no ISR, and the controller refuses them (3.3, KIP-841).
        moves_wait_for_target: A move ends when its whole target is in sync, not only who is added (KRaft 3.8,
            KAFKA-15665).
        unclean_setting_obeyed: unclean.leader.election.enable is looked at (KRaft 3.9, KAFKA-12670); before, leaders
            were elected uncleanly only where an operator asked for it.
        alter_partition: The leader asks the controller for an ISR (2.7, KIP-497) instead of writing it to ZooKeeper.
        broker_epoch_in_isr: The controller refuses members restarted since (KRaft from 3.5 on, KIP-903).
        freeze_below_min_isr: The high watermark stands still below min ISR (3.7, KAFKA-15583).
        epoch_rises_on_shrink: A smaller ISR raises the leader epoch (KRaft before metadata version 3.6, KAFKA-15021).
        idempotence: Brokers check sequences (0.11, KIP-98).
        cached_batches: How many batches of a producer a replica remembers: 1 in 0.11, 5 since 1.0 (KAFKA-5494).
        unknown_producer: What a leader says to a sequence that it knows nothing before.
        raises_own_epoch: Producers go on after an error in the next epoch (2.5, KIP-360).
        fenced_is_final: PRODUCER_FENCED is told from INVALID_PRODUCER_EPOCH, which can be aborted (2.7, KIP-588).
        transaction_version: 0 none, 1 from 0.11, 2 from 4.0 (KIP-890).
        verify_transactions: Appends are verified with the coordinator (3.6, KIP-890 part 1).
        single_epoch_rise: Fencing raises the epoch once with transaction version 2 (4.1, KAFKA-19367).
        zero_sequence_first: With transaction version 2 a log takes only sequence 0 first (4.1, KAFKA-18202).
        follower_reads: Consumers may fetch from followers (2.4, KIP-392).
        offsets_expire_with_group: Committed offsets age only while their group does not read (2.1, KIP-211).
        stable_offsets: A read_committed consumer waits for open transactions over its offset (2.5, KIP-447).
        consumer_protocol: Coordinators assign partitions (4.0, KIP-848); by default groups still do it themselves.
        consumer_detects_truncation: Consumers validate their position after a leader change (2.1, KIP-320).
        elr: Eligible leader replicas are on by default (4.1, KIP-966).
    """

    name: str
    controller: ControllerKind
    defaults: Mapping[str, Value]
    position_before_read: bool = False
    lag_by_messages: bool = False
    waits_for_joining: bool = False
    end_suffices: bool = False
    waits_only_for_eligible: bool = False
    truncation: Truncation = Truncation.HIGH_WATERMARK
    truncate_on_fetch: bool = False
    join_at_epoch_start: bool = False
    fenced_fetch: bool = False
    isr_notification: bool = False
    failed_directories_tolerated: bool = False
    keeps_last_in_sync: bool = False
    controller_epoch_checked: bool = False
    bounces_are_seen: bool = False
    failover_cleans_isrs: bool = False
    balances_while_moving: bool = False
    ineligible_refused: bool = False
    moves_wait_for_target: bool = True
    unclean_setting_obeyed: bool = True
    alter_partition: bool = False
    broker_epoch_in_isr: bool = False
    freeze_below_min_isr: bool = False
    epoch_rises_on_shrink: bool = False
    idempotence: bool = False
    cached_batches: int = 1
    unknown_producer: UnknownProducer = UnknownProducer.OUT_OF_ORDER
    raises_own_epoch: bool = False
    fenced_is_final: bool = False
    transaction_version: int = 0
    verify_transactions: bool = False
    single_epoch_rise: bool = False
    zero_sequence_first: bool = False
    follower_reads: bool = False
    offsets_expire_with_group: bool = False
    stable_offsets: bool = False
    consumer_protocol: bool = False
    consumer_detects_truncation: bool = False
    elr: bool = False


def _after(version: Version, name: str, defaults: Mapping[str, Value] | None = None, **changes: object) -> Version:
    return replace(version, name=name, defaults={**version.defaults, **(defaults or {})}, **changes)  # type: ignore[arg-type]


V0_8_1 = Version(
    "0.8.1",
    ControllerKind.ZOOKEEPER,
    position_before_read=True,
    lag_by_messages=True,
    defaults={
        MIN_ISR: 1,  # not there yet: as if it were 1
        UNCLEAN: True,
        "flush.messages": NEVER,
        "flush.ms": NEVER,
        "replica.lag.time.max.ms": 10_000,
        "replica.lag.max.messages": 4_000,
        "replica.fetch.wait.max.ms": 500,
        "replica.fetch.backoff.ms": 1_000,
        "replica.fetch.max.records": 10_000,
        "replica.socket.timeout.ms": 30_000,
        "replica.high.watermark.checkpoint.interval.ms": 5_000,
        "log.flush.offset.checkpoint.interval.ms": 60_000,
        "log.flush.scheduler.interval.ms": NEVER,
        "broker.session.timeout.ms": 9_000,
        "broker.heartbeat.interval.ms": 2_000,
        "controller.quorum.fetch.timeout.ms": 2_000,
        "controller.quorum.election.timeout.ms": 1_000,
        "unclean.leader.election.interval.ms": 300_000,
        "zookeeper.session.timeout.ms": 6_000,
        "leader.election": "controller",
        "auto.leader.rebalance.enable": False,
        "leader.imbalance.check.interval.seconds": 300,
        "leader.imbalance.per.broker.percentage": 10,
        "controlled.shutdown.enable": False,
        "offsets.retention.minutes": 1_440,
        "offsets.retention.check.interval.ms": 600_000,
        "offsets.commit.timeout.ms": 5_000,
        "group.consumer.session.timeout.ms": 45_000,
        "group.consumer.heartbeat.interval.ms": 5_000,
        "group.initial.rebalance.delay.ms": 0,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 60_000,
        "transaction.partition.verification.enable": False,
        "transactional.id.expiration.ms": 604_800_000,
        "producer.id.expiration.ms": 604_800_000,
        "acks": 0,
        "retries": 3,
        "retry.backoff.ms": 100,
        "request.timeout.ms": 10_000,
        "delivery.timeout.ms": NEVER,
        "max.in.flight.requests.per.connection": 1,
        "linger.ms": 0,
        "batch.records": 100,
        "enable.idempotence": False,
        "transactional.id": "",
        "transaction.timeout.ms": 60_000,
        "group.id": "",
        "group.protocol": "classic",
        "group.instance.id": "",
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "latest",
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 60_000,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 3_000,
        "max.poll.interval.ms": NEVER,
        "max.poll.records": 500,
        "fetch.max.wait.ms": 100,
        "client.rack": "",
        "replica.selector.class": "",
        "metadata.max.age.ms": 300_000,
        "partition.assignment.strategy": "range",
        "latency.us": 500,
        "jitter.us": 0,
    },
)
V0_8_2 = _after(
    V0_8_1,
    "0.8.2",
    # the new producer (org.apache.kafka.clients) comes with it, and controlled shutdown and rebalancing are on
    {
        "auto.leader.rebalance.enable": True,
        "controlled.shutdown.enable": True,
        "acks": 1,
        "retries": 0,
        "request.timeout.ms": 30_000,
        "max.in.flight.requests.per.connection": 5,
    },
    position_before_read=False,
)
V0_9 = _after(
    V0_8_2,
    "0.9",
    # the new consumer comes with it
    {"auto.commit.interval.ms": 5_000, "session.timeout.ms": 30_000, "fetch.max.wait.ms": 500},
    lag_by_messages=False,
    isr_notification=True,
)
V0_10 = _after(
    V0_9,
    "0.10",
    {"session.timeout.ms": 10_000, "max.poll.interval.ms": 300_000},  # 0.10.1, KIP-62
    waits_for_joining=True,
)
V0_11 = _after(
    V0_10,
    "0.11",
    {UNCLEAN: False, "group.initial.rebalance.delay.ms": 3_000},
    truncation=Truncation.KIP_101,
    idempotence=True,
    transaction_version=1,
)
V1_1 = _after(
    V0_11,
    "1.1",
    failed_directories_tolerated=True,
    keeps_last_in_sync=True,
    cached_batches=CACHED_BATCHES,
    unknown_producer=UnknownProducer.UNKNOWN,
)
V2_0 = _after(V1_1, "2.0", {"offsets.retention.minutes": 10_080}, truncation=Truncation.KIP_279)
V2_1 = _after(
    V2_0,
    "2.1",
    {"retries": 2**31 - 1, "delivery.timeout.ms": 120_000},
    end_suffices=True,
    truncation=Truncation.KIP_320,
    join_at_epoch_start=True,
    fenced_fetch=True,
    offsets_expire_with_group=True,
    consumer_detects_truncation=True,
    controller_epoch_checked=True,
    unknown_producer=UnknownProducer.UNKNOWN_OR_ONLY_MARKER,
)
V2_5 = _after(
    V2_1,
    "2.5",
    {
        "replica.lag.time.max.ms": 30_000,
        "zookeeper.session.timeout.ms": 18_000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
    },
    follower_reads=True,
    bounces_are_seen=True,
    failover_cleans_isrs=True,
    stable_offsets=True,
    unknown_producer=UnknownProducer.ACCEPT,
    raises_own_epoch=True,
)
V2_7 = _after(V2_5, "2.7", truncate_on_fetch=True, alter_partition=True, fenced_is_final=True)
V3_0 = _after(
    V2_7,
    "3.0",
    {"acks": ACKS_ALL, "enable.idempotence": True, "session.timeout.ms": 45_000},
)
V3_7 = _after(
    V3_0,
    "3.7",
    {"transaction.partition.verification.enable": True, "producer.id.expiration.ms": 86_400_000},
    ineligible_refused=True,
    waits_only_for_eligible=True,
    balances_while_moving=True,
    freeze_below_min_isr=True,
    verify_transactions=True,
)
V3_9 = _after(V3_7, "3.9")
V3_9_KRAFT = _after(V3_9, "3.9-kraft", controller=ControllerKind.KRAFT, broker_epoch_in_isr=True)
V4_0 = _after(V3_9_KRAFT, "4.0", {"linger.ms": 5}, transaction_version=2, consumer_protocol=True)
V4_1 = _after(V4_0, "4.1", elr=True, single_epoch_rise=True, zero_sequence_first=True)

VERSIONS: tuple[Version, ...] = (
    V0_8_1,
    V0_8_2,
    V0_9,
    V0_10,
    V0_11,
    V1_1,
    V2_0,
    V2_1,
    V2_5,
    V2_7,
    V3_0,
    V3_7,
    V3_9,
    V3_9_KRAFT,
    V4_0,
    V4_1,
)
"""Oldest first."""

LATEST = V4_1


def version_named(name: str) -> Version:
    """The rules of a release: those of the newest version that is not above it.

    Args:
        name: As ``0.11`` or ``2.8.1``; 3.3 to 3.9 are in ZooKeeper mode unless they end in ``-kraft``.

    Raises:
        UsageError: It is no version, or older than 0.8.1, or has no KRaft.
    """
    number, mode = _number(name.removesuffix("-kraft")), name.endswith("-kraft")
    found = [version for version in VERSIONS if number is not None and _fits(version, number)]
    if not found or (mode and number is not None and number < (3, 3)):
        known = ", ".join(version.name for version in VERSIONS)
        raise UsageError(f"{name!r} is no version of Kafka that the engine knows", "", f"one of {known}")
    newest = found[-1]
    if mode and newest.controller is ControllerKind.ZOOKEEPER:
        return V3_9_KRAFT if newest is V3_9 else _as_kraft(newest, name, number or ())
    return newest


def _as_kraft(version: Version, name: str, number: tuple[int, ...]) -> Version:
    return replace(
        version,
        name=name,
        controller=ControllerKind.KRAFT,
        epoch_rises_on_shrink=number < (3, 6),
        broker_epoch_in_isr=number >= (3, 5),
        failed_directories_tolerated=number >= (3, 7),
        ineligible_refused=True,
        waits_only_for_eligible=number >= (3, 6),
        moves_wait_for_target=number >= (3, 8),
        unclean_setting_obeyed=False,
    )


def order_of(name: str) -> int:
    """Where a version stands in their order; one that is not listed (3.4-kraft) where the listed one below it does."""
    listed = [place for place, version in enumerate(VERSIONS) if version.name == name]
    if listed:
        return listed[0]
    number = _number(name.removesuffix("-kraft")) or ()
    return max(place for place, version in enumerate(VERSIONS) if _fits(version, number))


def _fits(version: Version, number: tuple[int, ...]) -> bool:
    own = _number(version.name.removesuffix("-kraft"))
    return own is not None and own <= number and (version is not V3_9_KRAFT)


def _number(text: str) -> tuple[int, ...] | None:
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None
