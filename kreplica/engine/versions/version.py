"""A version of Kafka as the engine sees it: rules that hold or do not, and the defaults of settings.

The changes of each release are in ``changes``; ``supported`` has the version of a release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kreplica.engine.rules.controller.broker_registration import FencedFirst, Resends
from kreplica.engine.rules.controller.reassignment import Awaited, MustLive
from kreplica.engine.rules.replication.durability import RecoveryPoint
from kreplica.engine.rules.transactions.producer_state import UnknownProducer
from kreplica.engine.settings import MOST, Value

NEVER = MOST
"""Kafka's Long.MAX_VALUE: a flush that never comes, retries without end."""


class ControllerKind(StrEnum):
    """Controllers that decide on leaders and ISRs."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class Truncation(StrEnum):
    """Offsets to which a follower truncates its log when it begins to follow a leader.

    ``high-watermark`` its own high watermark; ``kip-101`` (0.11) the end of its latest epoch at the leader, with one
    request; ``kip-279`` (2.0) with as many requests as it takes to find the common history; ``kip-320`` (2.1) the same,
    and leader and follower refuse each other unless they are in the same epoch.
    """

    HIGH_WATERMARK = "high-watermark"
    KIP_101 = "kip-101"
    KIP_279 = "kip-279"
    KIP_320 = "kip-320"


@dataclass(frozen=True, slots=True)
class Version:
    """Rules and defaults of one version of Kafka.

    Args:
        name: As ``--kafka-version`` takes it.
        number: Number of the release, as (0, 10, 2).
        controller: ZooKeeper or KRaft.
        defaults: Settings by Kafka's names, with the unchanged ones of earlier versions.
        positions_outlive_leaders: A leader that is elected again and has not heard of the leaders in between keeps the
            positions of its followers (0.9; not mended up to 4.3, Replica.resetReplicaState).
        position_before_read: The leader notes a follower's position before it reads for it (up to 0.8.1).
        lag_by_messages: replica.lag.max.messages counts too (before 0.9, KAFKA-1546).
        offline_by_isr_order: When the leader is gone, the first in the ISR leads, not the first in the assignment
            (up to 0.8.1, KAFKA-1503).
        shutdown_by_isr_order: The same when the leader shuts down, alive or not (up to 0.9, KAFKA-3670).
        begins_anew: A new leader counts the ISR as caught up, whatever it knew before (0.10.2, KAFKA-4485).
        looks_twice: Leaders look for failed followers twice in replica.lag.time.max.ms, not once (0.10.2, KAFKA-4485).
        waits_for_joining: The high watermark waits for replicas that have caught up and are not in the ISR yet; one
            that fetches from the log end of its previous fetch had caught up then (0.10.2, KAFKA-4485).
        end_suffices: A follower that has everything stays in the ISR, dead or not (2.1, KAFKA-7152).
        waits_only_for_eligible: The high watermark does not wait for brokers that could not join (3.6, KAFKA-15021).
        dead_leaders_ignored: A follower does not follow a leader that is not alive (0.8.2, KAFKA-1647).
        epochs_followed_on: Rise of the leader epoch within which a follower of the same leader goes on unchanged
            (0.8.2, KAFKA-1188: any; 2.0.1, KAFKA-7164: one; 2.1, KAFKA-7395: none).
        truncation_needs_unclean: A broker ends rather than truncate a log to the end of a leader that has less, where
            unclean elections are not allowed (0.8.2, KAFKA-1028, up to 2.0.0, KAFKA-7414).
        halts_by_exit: It then ends by System.exit, which stops it cleanly (0.10.0.1, KAFKA-3924), not by
            Runtime.halt.
        exit_hangs: That System.exit waits for the fetcher that called it, after the controlled shutdown and before
            anything is flushed: the process stands there, deaf, until it is killed (0.10.0.1 to 0.10.2, KAFKA-4039).
        truncation: The offset to which a follower truncates.
        epoch_noted_at_election: A leader notes where its epoch begins before it writes, and answers for an epoch older
            than all it knows with the start of the first; records of an older epoch make a log forget later ones
            (2.0.1, KAFKA-7415).
        stale_epoch_ends_dropped: A leader's answer on an epoch's end is ignored if the leader epoch has changed since
            (2.1.1, KAFKA-7786).
        truncate_on_fetch: The answer to a fetch tells the follower where to truncate (2.8, KAFKA-10554).
        diverging_position_noted: The leader notes a follower's position although it tells it to truncate (2.7.0, 2.7.1
            and 2.8.0, KAFKA-13141; followers are told so since 2.8).
        errors_forget_position: A leader forgets the position of a follower whose fetch it answers with an error (0.8.2
            to 2.3, ReplicaManager.updateFollowerLogReadResults).
        watermark_before_cut: A follower takes the high watermark of such an answer before it truncates (2.8.0 to 3.4.0,
            KAFKA-14704).
        join_at_epoch_start: A follower joins the ISR only once it has the leader's epoch (2.0.1, KAFKA-7128).
        fenced_fetch: Followers' requests carry the leader epoch, and another epoch is refused (2.1, KIP-320).
        isr_notification: ISR changes are reported to the controller (0.9, KAFKA-1367).
        failed_directories_tolerated: A broker lives on with a failed log directory (1.0, KIP-112).
        failed_directories_told: It tells the controller, which elects other leaders (1.0, KIP-112; KRaft 3.7, KIP-858).
        keeps_last_in_sync: The last member of an ISR stays in it (1.1; before, only without unclean elections).
        controller_epoch_checked: ZooKeeper refuses writes of a deposed controller (2.1, KAFKA-6082).
        bounces_are_seen: A broker that was away briefly is noticed by its epoch (2.2, KIP-380).
        failover_cleans_isrs: A new controller removes brokers that are gone from every ISR (2.3, KAFKA-3143).
        balances_while_moving: Preferred leaders are elected while replicas are moved (3.4, KAFKA-10149).
        ineligible_refused: Brokers that are not live join no ISR, and the controller refuses them (3.3, KIP-841).
        moves_wait_for: Replicas that must be in sync for a move to end (KRaft 3.8, KAFKA-15665; 4.3, KAFKA-19975).
        moves_must_live: Brokers that must be alive for a move to begin, in ZooKeeper mode (0.10.1, KAFKA-4214; 2.4,
            KIP-455).
        moves_can_change: A move in progress can be cancelled or given another target (2.4, KIP-455).
        assigned_keep_elr: A broker that says which directory has its replica leaves the partition's ELR as it is (4.3).
        restarted_leave_isrs: A restarted broker leaves the ISRs it was in when it registers (KRaft 4.0, KAFKA-18106).
        fenced_keep_sessions: A broker that stopped cleanly must also wait for its session to expire before it registers
            again (KRaft 4.0, BrokerHeartbeatTracker).
        failover_renews_fenced: So must one that was fenced when another controller took over (KRaft 4.0, up to 4.0.1,
            KAFKA-19130).
        fenced_first: Where the sessions of several brokers are over, the one that is fenced first (KRaft 4.0, 4.2).
        resends: The wait of a broker whose registration was refused (KRaft 3.9.2, 4.0, 4.0.1).
        unclean_setting_obeyed: unclean.leader.election.enable is obeyed (KRaft 3.9, KAFKA-12670); before, leaders were
            elected uncleanly only where an operator asked for it.
        alter_partition: The leader asks the controller for an ISR (2.7, KIP-497) instead of writing it to ZooKeeper.
        known_state_ends_pending: A state that a leader knows already ends its wait for the ISR it has asked for since
            (KRaft; not mended up to 4.3, Partition.makeLeader).
        broker_epoch_in_isr: The controller refuses members restarted since the request (KRaft from 3.5 on, KIP-903).
        freeze_below_min_isr: The high watermark stands still below min ISR (3.7, KAFKA-15583).
        epoch_rises_on_shrink: A smaller ISR raises the leader epoch (KRaft before metadata version 3.6, KAFKA-15021).
        recovered_point: Recovery point of a log that was recovered (1.0; 2.8, KAFKA-10101).
        deletes_records: Leaders delete records before an offset on request (0.11, KIP-107).
        idempotence: Brokers check sequences (0.11, KIP-98).
        cached_batches: Number of batches of a producer that a replica remembers: 1 in 0.11, 5 since 1.0 (KAFKA-5494).
        unknown_producer: A leader's answer to a sequence without an earlier one to compare it with.
        markers_keep_producer: The time of a marker counts when brokers forget a producer (2.4.1, KAFKA-9144).
        raises_own_epoch: Producers continue after an error in the next epoch (2.5, KIP-360); before, at sequence 0 of
            the same one, so that a leader may take a batch for an earlier one, which loses it (KAFKA-8805).
        fails_oldest_first: When a connection breaks, its requests fail in the order in which they were sent (2.0);
            before, the last one first.
        fenced_is_final: PRODUCER_FENCED differs from INVALID_PRODUCER_EPOCH, which can be aborted (2.7, KIP-588).
        transaction_version: 0 none, 1 from 0.11, 2 from 4.0 (KIP-890).
        verify_transactions: Appends are verified with the coordinator (3.6, KIP-890 part 1).
        strict_markers: With transaction version 2 a marker's epoch must be higher than that of the transaction it ends
            (4.2, KIP-1228).
        tells_abortable: An append outside a transaction is refused with TRANSACTION_ABORTABLE (3.8, KAFKA-16314).
        single_epoch_rise: Fencing raises the epoch once with transaction version 2 (4.0.1, KAFKA-19367).
        fence_rotates: Fencing at the last epoch takes another producer id (4.3, KAFKA-20090).
        zero_sequence_first: With transaction version 2 a log takes only sequence 0 first (4.1, KAFKA-18202).
        high_watermark_wakes_followers: A rising high watermark answers followers' fetches (2.4, KIP-392, up to
            2.5, KAFKA-9952).
        follower_reads: Consumers may fetch from followers (2.4, KIP-392).
        redirects_at_once: Consumers are redirected to a follower at once (3.2, KAFKA-13767); before, only after
            fetch.max.wait.ms.
        errors_lead_to_leader: Any error that a follower answers sends a consumer back to the leader (3.3.2,
            KAFKA-14379).
        reads_in_sync_only: Consumers are sent to followers in the ISR alone (3.3.2, KAFKA-14372).
        offsets_expire_with_group: Committed offsets age only while their group does not read (2.1, KIP-211).
        stable_offsets: A read_committed consumer waits for open transactions over its offset (2.5, KIP-447).
        group_version: 1 where groups may use the consumer protocol (4.0, feature group.version).
        more_stays: Coordinators let a member keep one partition more than others have (4.0.1, KAFKA-18688); before, the
            first members got it.
        consumer_protocol: Coordinators assign partitions (4.0, KIP-848); by default groups still do it themselves.
        members_rejoin: A member of that protocol that was fenced may join again (4.2, KAFKA-19233); before, it was
            fenced again until its session was over.
        groups_begin_at_epoch: Group epoch of a group of that protocol without members (0; 1 since 4.3, KAFKA-20268).
        assignment_epochs: A member may commit, under an earlier epoch, partitions it has had since that epoch (4.3,
            KIP-1251).
        member_id_required: A new member is given a member id first, and joins with it (2.2, KIP-394).
        latest_waits_for_epoch: A new leader does not answer its log end before its high watermark has reached the start
            of its epoch (2.2, KIP-207).
        resets_by_duration: auto.offset.reset can be by_duration, with a duration back from now (4.0, KIP-1106).
        consumer_detects_truncation: Consumers' requests carry the leader epoch, and they validate their position after
            a leader change (2.3, KIP-320).
        elr: Eligible leader replicas are on by default (4.1, KIP-966).
        last_leader_must_be_back: With ELRs the last leader is elected only once it is back (4.1, KAFKA-19522).
        last_leader_noted_at_once: With ELRs the last leader is remembered as soon as nobody leads, not only once the
            ISR is empty (4.1.1).
    """

    name: str
    number: tuple[int, ...]
    controller: ControllerKind
    defaults: Mapping[str, Value]
    position_before_read: bool = False
    positions_outlive_leaders: bool = False
    lag_by_messages: bool = False
    offline_by_isr_order: bool = False
    shutdown_by_isr_order: bool = False
    begins_anew: bool = False
    looks_twice: bool = False
    waits_for_joining: bool = False
    end_suffices: bool = False
    waits_only_for_eligible: bool = False
    dead_leaders_ignored: bool = False
    epochs_followed_on: int = 0
    truncation_needs_unclean: bool = False
    halts_by_exit: bool = False
    exit_hangs: bool = False
    truncation: Truncation = Truncation.HIGH_WATERMARK
    epoch_noted_at_election: bool = False
    stale_epoch_ends_dropped: bool = False
    truncate_on_fetch: bool = False
    diverging_position_noted: bool = False
    errors_forget_position: bool = False
    watermark_before_cut: bool = False
    join_at_epoch_start: bool = False
    fenced_fetch: bool = False
    isr_notification: bool = False
    failed_directories_tolerated: bool = False
    failed_directories_told: bool = False
    keeps_last_in_sync: bool = False
    controller_epoch_checked: bool = False
    bounces_are_seen: bool = False
    failover_cleans_isrs: bool = False
    balances_while_moving: bool = False
    ineligible_refused: bool = False
    moves_wait_for: Awaited = Awaited.TARGET
    moves_must_live: MustLive = MustLive.TARGET
    moves_can_change: bool = False
    assigned_keep_elr: bool = False
    restarted_leave_isrs: bool = False
    fenced_keep_sessions: bool = False
    failover_renews_fenced: bool = False
    fenced_first: FencedFirst = FencedFirst.LONGEST_SILENT
    resends: Resends = Resends.DOUBLED
    unclean_setting_obeyed: bool = True
    alter_partition: bool = False
    known_state_ends_pending: bool = False
    broker_epoch_in_isr: bool = False
    freeze_below_min_isr: bool = False
    epoch_rises_on_shrink: bool = False
    recovered_point: RecoveryPoint = RecoveryPoint.KEPT
    deletes_records: bool = False
    idempotence: bool = False
    cached_batches: int = 1
    unknown_producer: UnknownProducer = UnknownProducer.OUT_OF_ORDER
    markers_keep_producer: bool = False
    raises_own_epoch: bool = False
    fails_oldest_first: bool = False
    fenced_is_final: bool = False
    transaction_version: int = 0
    verify_transactions: bool = False
    strict_markers: bool = False
    tells_abortable: bool = False
    single_epoch_rise: bool = False
    fence_rotates: bool = False
    zero_sequence_first: bool = False
    high_watermark_wakes_followers: bool = False
    follower_reads: bool = False
    redirects_at_once: bool = False
    errors_lead_to_leader: bool = False
    reads_in_sync_only: bool = False
    offsets_expire_with_group: bool = False
    stable_offsets: bool = False
    consumer_protocol: bool = False
    group_version: int = 0
    more_stays: bool = False
    members_rejoin: bool = False
    groups_begin_at_epoch: int = 0
    assignment_epochs: bool = False
    member_id_required: bool = False
    latest_waits_for_epoch: bool = False
    resets_by_duration: bool = False
    consumer_detects_truncation: bool = False
    elr: bool = False
    last_leader_must_be_back: bool = False
    last_leader_noted_at_once: bool = False
