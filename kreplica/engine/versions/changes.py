"""Changes between the releases of Kafka: each with its release, its ticket, and the mode that it is for.

Read from Kafka's history: a release has a change if its tag contains the commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kreplica.engine.rules.controller.broker_registration import FencedFirst, Resends
from kreplica.engine.rules.controller.reassignment import Awaited, MustLive
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.durability import RecoveryPoint
from kreplica.engine.rules.replication.leader_and_isr import ANY_NUMBER
from kreplica.engine.rules.transactions.producer_state import CACHED_BATCHES, UnknownProducer
from kreplica.engine.settings import Value
from kreplica.engine.versions.version import NEVER, ControllerKind, Truncation, Version
from kreplica.model.settings import MIN_ISR, UNCLEAN

Number = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Differences of a release from the one before it.

    Args:
        since: The release.
        rules: Fields of ``Version`` with their new values.
        defaults: Settings with other defaults.
        only: The mode it is for; None if for both.
    """

    since: Number
    rules: Mapping[str, object]
    defaults: Mapping[str, Value] = field(default_factory=dict)
    only: ControllerKind | None = None


def _since(release: str, defaults: Mapping[str, Value] | None = None, **rules: object) -> Change:
    return Change(tuple(map(int, release.split("."))), rules, defaults or {})


def _kraft_since(release: str, **rules: object) -> Change:
    return Change(tuple(map(int, release.split("."))), rules, only=ControllerKind.KRAFT)


OLDEST = Version(
    "0.8.1",
    (0, 8, 1),
    ControllerKind.ZOOKEEPER,
    position_before_read=True,
    offline_by_isr_order=True,
    shutdown_by_isr_order=True,
    lag_by_messages=True,
    defaults={
        MIN_ISR: 1,  # does not exist yet: as if it were 1
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
        "replication": "isr",
        "auto.leader.rebalance.enable": False,
        "leader.imbalance.check.interval.seconds": 300,
        "leader.imbalance.per.broker.percentage": 10,
        "controlled.shutdown.enable": False,
        "offsets.retention.minutes": 1_440,
        "offsets.retention.check.interval.ms": 600_000,
        "offsets.commit.timeout.ms": 5_000,
        "group.consumer.session.timeout.ms": 45_000,
        "group.consumer.heartbeat.interval.ms": 5_000,
        "group.consumer.assignment.interval.ms": 0,
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

OLDEST_KRAFT: Number = (3, 3)
"""The first release whose KRaft mode was meant for production."""

NEWEST_ZOOKEEPER: Number = (3, 9)
"""The last release with a ZooKeeper mode."""

CHANGES: tuple[Change, ...] = (
    _since(
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
        offline_by_isr_order=False,  # KAFKA-1503
        dead_leaders_ignored=True,  # KAFKA-1647
        epochs_followed_on=ANY_NUMBER,  # KAFKA-1188
        truncation_needs_unclean=True,  # KAFKA-1028
        errors_forget_position=True,
    ),
    _since(
        "0.9",
        # the new consumer comes with it
        {"auto.commit.interval.ms": 5_000, "session.timeout.ms": 30_000, "fetch.max.wait.ms": 500},
        lag_by_messages=False,
        positions_outlive_leaders=True,
        isr_notification=True,
    ),
    _since("0.10.0", shutdown_by_isr_order=False),  # KAFKA-3670
    _since("0.10.0.1", halts_by_exit=True, exit_hangs=True),  # KAFKA-3924
    _since(
        "0.10.1",
        {"session.timeout.ms": 10_000, "max.poll.interval.ms": 300_000},  # KIP-62
        moves_must_live=MustLive.NOBODY,
    ),
    _since("0.10.2", begins_anew=True, looks_twice=True, waits_for_joining=True),
    _since(
        "0.11",
        {UNCLEAN: False, "group.initial.rebalance.delay.ms": 3_000},
        exit_hangs=False,  # KAFKA-4039
        truncation=Truncation.KIP_101,
        deletes_records=True,
        idempotence=True,
        transaction_version=1,
    ),
    _since(
        "1.0",
        failed_directories_tolerated=True,
        failed_directories_told=True,
        cached_batches=CACHED_BATCHES,
        unknown_producer=UnknownProducer.UNKNOWN,
        recovered_point=RecoveryPoint.RAISED,
    ),
    _since("1.1", keeps_last_in_sync=True),
    _since("2.0", {"offsets.retention.minutes": 10_080}, truncation=Truncation.KIP_279, fails_oldest_first=True),
    _since(
        "2.0.1",
        epochs_followed_on=1,  # KAFKA-7164
        truncation_needs_unclean=False,  # KAFKA-7414
        join_at_epoch_start=True,
        epoch_noted_at_election=True,
        unknown_producer=UnknownProducer.UNKNOWN_OR_ONLY_MARKER,
    ),
    _since(
        "2.1",
        {"retries": 2**31 - 1, "delivery.timeout.ms": 120_000},
        truncation=Truncation.KIP_320,
        epochs_followed_on=0,  # KAFKA-7395
        fenced_fetch=True,
        end_suffices=True,
        offsets_expire_with_group=True,
        controller_epoch_checked=True,
    ),
    _since("2.1.1", stale_epoch_ends_dropped=True),
    _since("2.2", bounces_are_seen=True, member_id_required=True, latest_waits_for_epoch=True),
    _since("2.3", consumer_detects_truncation=True, failover_cleans_isrs=True),  # KAFKA-3143
    _since(
        "2.4",
        follower_reads=True,
        high_watermark_wakes_followers=True,
        moves_can_change=True,
        moves_must_live=MustLive.ADDED,
        errors_forget_position=False,
    ),
    _since("2.4.1", markers_keep_producer=True),
    _since(
        "2.5",
        {
            "replica.lag.time.max.ms": 30_000,
            "zookeeper.session.timeout.ms": 18_000,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
        },
        stable_offsets=True,
        unknown_producer=UnknownProducer.ACCEPT,
        raises_own_epoch=True,
    ),
    _since("2.6", high_watermark_wakes_followers=False),
    _since("2.7", alter_partition=True, fenced_is_final=True, diverging_position_noted=True),
    _since("2.7.2", diverging_position_noted=False),  # KAFKA-13141
    _since(
        "2.8",
        truncate_on_fetch=True,  # KAFKA-10554
        diverging_position_noted=True,
        watermark_before_cut=True,
        recovered_point=RecoveryPoint.LOWERED,  # KAFKA-10101
    ),
    _since("2.8.1", diverging_position_noted=False),  # KAFKA-13141
    # 3.0.0 and 3.1.0 forgot to switch idempotence on (KAFKA-13598): what holds is as in 3.0.1
    _since("3.0", {"acks": ACKS_ALL, "enable.idempotence": True, "session.timeout.ms": 45_000}),
    _since("3.2", redirects_at_once=True),
    _since("3.3", ineligible_refused=True),
    _kraft_since(
        "3.3",
        epoch_rises_on_shrink=True,
        failed_directories_told=False,
        moves_wait_for=Awaited.ADDED,
        unclean_setting_obeyed=False,
        known_state_ends_pending=True,
    ),
    _since("3.3.2", reads_in_sync_only=True, errors_lead_to_leader=True),
    _since("3.4", {"producer.id.expiration.ms": 86_400_000}, balances_while_moving=True),  # KIP-854
    _since("3.4.1", watermark_before_cut=False),  # KAFKA-14704
    _kraft_since("3.5", broker_epoch_in_isr=True),
    _since(
        "3.6",
        {"transaction.partition.verification.enable": True},
        verify_transactions=True,
        waits_only_for_eligible=True,
    ),
    _kraft_since("3.6", epoch_rises_on_shrink=False),
    _since("3.7", freeze_below_min_isr=True),
    _kraft_since("3.7", failed_directories_told=True),
    _since("3.8", tells_abortable=True),
    _kraft_since("3.8", moves_wait_for=Awaited.TARGET),
    _kraft_since("3.9", unclean_setting_obeyed=True),
    _kraft_since("3.9.2", resends=Resends.INTERVAL),
    _since(
        "4.0",
        {"linger.ms": 5},
        transaction_version=2,
        consumer_protocol=True,
        group_version=1,
        resets_by_duration=True,
    ),
    _kraft_since(
        "4.0",
        restarted_leave_isrs=True,
        fenced_keep_sessions=True,
        failover_renews_fenced=True,
        fenced_first=FencedFirst.BY_HASH,
        resends=Resends.DOUBLED_TO_HALF,
    ),
    _since("4.0.1", more_stays=True, single_epoch_rise=True),
    _kraft_since("4.0.1", resends=Resends.INTERVAL),
    _since("4.1", elr=True, zero_sequence_first=True, last_leader_must_be_back=True),
    _kraft_since("4.1", failover_renews_fenced=False),
    _since("4.1.1", last_leader_noted_at_once=True),
    _since("4.2", strict_markers=True, members_rejoin=True),
    _kraft_since("4.2", fenced_first=FencedFirst.BY_RECORD_HASH),
    _since(
        "4.3",
        {"group.consumer.assignment.interval.ms": 1_000},  # KIP-1263
        moves_wait_for=Awaited.TARGET_IF_FEWER,
        assigned_keep_elr=True,
        fence_rotates=True,
        groups_begin_at_epoch=1,
        assignment_epochs=True,
    ),
)
"""Oldest first."""
