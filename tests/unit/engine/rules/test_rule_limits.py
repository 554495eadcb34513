"""Rules that compare two numbers or take one of a few cases: at each limit, as Kafka's source compares."""

from __future__ import annotations

from itertools import product

import pytest

from kreplica.engine.rules.controller.elections import eligible_leaders
from kreplica.engine.rules.controller.isr import kraft_last_known_elr
from kreplica.engine.rules.controller.reassignment import MustLive, zookeeper_missing, zookeeper_move_is_fixed
from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH
from kreplica.engine.rules.groups.group_membership import GroupState, validate_member, validate_sync
from kreplica.engine.rules.groups.member_heartbeats import names_assignment, names_partitions
from kreplica.engine.rules.groups.offset_commit import transactional_offset_wins
from kreplica.engine.rules.replication.durability import flush_does_something
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import (
    answer_counts,
    consumer_fetch_waits,
    follower_fetch_waits,
    stops_fetching,
)
from kreplica.engine.rules.replication.follower_reads import preferred_read_replica_expired, readable_until
from kreplica.engine.rules.replication.high_watermark import delete_records_error, delete_records_waits
from kreplica.engine.rules.replication.leader_and_isr import takes_leader, takes_state
from kreplica.engine.rules.replication.leader_epoch_cache import first_at_or_above
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.rules.transactions.transaction_states import epoch_exhausted


def test_the_elr_counts_where_the_isr_is_empty() -> None:
    assert [eligible_leaders(isr, elr) for isr, elr in ((0b011, 0b100), (0, 0b100), (0, 0))] == [0b011, 0b100, 0]


@pytest.mark.parametrize(
    ("leader", "known", "elected", "enabled", "last"),
    [
        (1, 0, NO_LEADER, True, 0b010),  # nobody leads any more: it is remembered
        (1, 0b100, NO_LEADER, True, 0b100),  # the first that is remembered stays
        (NO_LEADER, 0b010, NO_LEADER, True, 0b010),  # nothing changes while nobody leads
        (NO_LEADER, 0b010, 2, True, 0),  # a leader again: none is remembered
        (1, 0b100, 1, True, 0),
        (1, 0b100, NO_LEADER, False, 0b100),  # without ELRs it stays as it was
    ],
)
def test_the_last_leader_is_remembered_while_nobody_leads(
    leader: int, known: int, elected: int, enabled: bool, last: int
) -> None:
    """PartitionChangeBuilder.maybeUpdateLastKnownLeader."""
    assert kraft_last_known_elr(leader, known, elected, enabled) == last


@pytest.mark.parametrize(
    ("must_live", "missing"), [(MustLive.NOBODY, ()), (MustLive.ADDED, (4,)), (MustLive.TARGET, (3, 4))]
)
def test_brokers_that_must_live_for_a_move(must_live: MustLive, missing: tuple[int, ...]) -> None:
    """Target 1, 3, 4, of which 4 is new; 1 and 2 live."""
    assert zookeeper_missing((1, 3, 4), (4,), (1, 2), must_live) == missing


@pytest.mark.parametrize(("moving", "changeable"), list(product((False, True), repeat=2)))
def test_a_move_is_fixed_while_it_goes_on_before_2_4(moving: bool, changeable: bool) -> None:
    assert zookeeper_move_is_fixed(moving, changeable) is (moving and not changeable)


@pytest.mark.parametrize(
    ("member", "instance", "error"),
    [
        ("a", None, ErrorCode.NONE),
        ("c", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", "i", ErrorCode.NONE),
        ("a", "i", ErrorCode.FENCED_INSTANCE_ID),
        ("a", "j", ErrorCode.UNKNOWN_MEMBER_ID),
        ("gone", "k", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_request_comes_from_a_member(member: str, instance: str | None, error: ErrorCode) -> None:
    """ClassicGroup.validateMember: an instance that nobody has, one that another has, then the member id."""
    assert validate_member({"a", "b"}, {"i": "b", "k": "gone"}, member, instance) is error


@pytest.mark.parametrize(
    ("state", "member", "generation", "error"),
    [
        (GroupState.DEAD, "c", 4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (GroupState.STABLE, "c", 4, ErrorCode.UNKNOWN_MEMBER_ID),
        (GroupState.STABLE, "a", 4, ErrorCode.ILLEGAL_GENERATION),
        (GroupState.EMPTY, "a", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (GroupState.PREPARING_REBALANCE, "a", 5, ErrorCode.REBALANCE_IN_PROGRESS),
        (GroupState.COMPLETING_REBALANCE, "a", 5, ErrorCode.NONE),
        (GroupState.STABLE, "a", 5, ErrorCode.NONE),
    ],
)
def test_a_sync_is_refused_in_kafkas_order(state: GroupState, member: str, generation: int, error: ErrorCode) -> None:
    """GroupMetadataManager.classicGroupSyncToClassicGroup."""
    assert validate_sync(state, 5, {"a"}, {}, member, None, generation) is error


@pytest.mark.parametrize(("recovery_point", "writes"), [(6, True), (7, False), (8, False)])
def test_a_flush_writes_what_is_above_the_recovery_point(recovery_point: int, writes: bool) -> None:
    assert flush_does_something(7, recovery_point) is writes


@pytest.mark.parametrize(("available", "refused", "wait"), list(product((0, 1), (False, True), (0, 1))))
def test_a_consumers_fetch_waits_for_the_first_record(available: int, refused: bool, wait: int) -> None:
    """ReplicaManager.fetchMessages answers at once: timeout 0, an error, or fetch.min.bytes 1 reached."""
    assert consumer_fetch_waits(available, refused, wait) is not (available > 0 or refused or wait == 0)


@pytest.mark.parametrize(
    ("available", "refused", "diverging", "untold"),
    list(product((0, 1), (False, True), (False, True), (False, True))),
)
def test_a_followers_fetch_waits_for_something_to_tell(
    available: int, refused: bool, diverging: bool, untold: bool
) -> None:
    assert follower_fetch_waits(available, refused, diverging, untold) is not any(
        (available, refused, diverging, untold)
    )


@pytest.mark.parametrize(("follows_in", "dropped"), list(product((4, 5, 6), (False, True))))
def test_an_answer_from_another_leader_epoch_counts_until_2_1_0(follows_in: int, dropped: bool) -> None:
    """AbstractFetcherThread.maybeTruncate of 2.1.1 (KAFKA-7786): an answer to a question that was asked in epoch 5."""
    assert answer_counts(5, follows_in, dropped) is not (dropped and follows_in != 5)


@pytest.mark.parametrize("error", ErrorCode)
def test_a_follower_waits_only_once_its_leader_knows_a_later_epoch(error: ErrorCode) -> None:
    """AbstractFetcherThread: onPartitionFenced for FENCED_LEADER_EPOCH, any other error is tried again in a while."""
    assert stops_fetching(error) is (error.name == "FENCED_LEADER_EPOCH")


@pytest.mark.parametrize(
    ("fetch_offset", "last_fetchable", "expected"),
    [
        (2, 7, (ErrorCode.OFFSET_OUT_OF_RANGE, 2)),
        (3, 7, (ErrorCode.NONE, 7)),
        (7, 7, (ErrorCode.NONE, 7)),
        (9, 7, (ErrorCode.NONE, 9)),  # UnifiedLog.read: an empty answer
        (10, 7, (ErrorCode.OFFSET_OUT_OF_RANGE, 10)),
        (5, 4, (ErrorCode.NONE, 5)),
    ],
)
def test_a_consumer_is_served_within_the_log_up_to_what_is_committed(
    fetch_offset: int, last_fetchable: int, expected: tuple[ErrorCode, int]
) -> None:
    """A log from 3 to 9."""
    assert readable_until(fetch_offset, 3, last_fetchable, 9) == expected


@pytest.mark.parametrize(("now", "expired"), [(0, False), (399, False), (400, False), (401, True)])
def test_a_choice_of_replica_expires_after_its_time(now: int, expired: bool) -> None:
    """SubscriptionState.TopicPartitionState.preferredReadReplica: timeMs > preferredReadReplicaExpireTimeMs."""
    assert preferred_read_replica_expired(now, 100, 300) is expired


@pytest.mark.parametrize(("offset", "deleted"), [(-2, False), (-1, False), (0, True), (7, True), (8, False)])
def test_records_up_to_the_high_watermark_can_be_deleted(offset: int, deleted: bool) -> None:
    """Partition.deleteRecordsOnLeader, high watermark 7; an offset of -1 has been replaced by it before."""
    assert (delete_records_error(offset, 7) is ErrorCode.NONE) is deleted


@pytest.mark.parametrize(("low_watermark", "waits"), [(4, True), (5, False), (6, False)])
def test_a_deletion_is_answered_once_the_low_watermark_is_there(low_watermark: int, waits: bool) -> None:
    """DelayedDeleteRecords.tryComplete: lowWatermarkReached is low watermark >= required offset."""
    assert delete_records_waits(low_watermark, 5) is waits


@pytest.mark.parametrize(("alive", "ignored"), list(product((False, True), repeat=2)))
def test_a_dead_leader_is_followed_only_before_0_8_2(alive: bool, ignored: bool) -> None:
    assert takes_leader(alive, ignored) is (alive or not ignored)


@pytest.mark.parametrize(("leader_epoch", "partition_epoch"), list(product((2, 3, 4), (6, 7, 8))))
def test_a_decision_with_an_older_epoch_is_not_taken(leader_epoch: int, partition_epoch: int) -> None:
    """A replica that knows leader epoch 3 and partition epoch 7."""
    assert takes_state(3, 7, leader_epoch, partition_epoch) is not (leader_epoch < 3 or partition_epoch < 7)


@pytest.mark.parametrize("wanted", range(-1, 9))
def test_the_ceiling_entry_is_the_first_that_is_not_below(wanted: int) -> None:
    """java.util.TreeMap.ceilingEntry, by looking at each."""
    for values in ((), (3,), (0, 3), (0, 2, 3, 7), (1, 4, 5, 6, 7)):
        above = [place for place, value in enumerate(values) if value >= wanted]
        assert first_at_or_above(values, wanted) == (above[0] if above else len(values))


@pytest.mark.parametrize(("epoch", "exhausted"), [(0, False), (32_765, False), (32_766, True), (32_767, True)])
def test_the_last_epoch_is_kept_for_fencing(epoch: int, exhausted: bool) -> None:
    """TransactionMetadata.isEpochExhausted: producerEpoch >= Short.MAX_VALUE - 1."""
    assert epoch_exhausted(epoch) is exhausted


@pytest.mark.parametrize("name", ["", "a", "orders", "polygenelubricants", "ÿ", "\U0001f600x"])
def test_a_name_is_coordinated_where_javas_hash_of_it_says(name: str) -> None:
    """String.hashCode is the sum of s[i] * 31^(n-1-i) in 32 bits; Utils.abs makes 0 of the smallest integer."""
    encoded = name.encode("utf-16-be")
    units = [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]
    whole = sum(unit * 31 ** (len(units) - 1 - place) for place, unit in enumerate(units))
    signed = (whole + 2**31) % 2**32 - 2**31
    assert (signed == -(2**31)) is (name == "polygenelubricants")
    assert coordinator_partition(name, 7) == (0 if signed == -(2**31) else abs(signed) % 7)


@pytest.mark.parametrize(("sent", "full", "assigned"), list(product((JOIN_EPOCH, 5), (False, True), (0b01, 0b11))))
def test_an_assignment_is_named_to_whoever_joins_or_asks_for_all_or_has_another(
    sent: int, full: bool, assigned: int
) -> None:
    assert names_assignment(sent, full, 0b01, assigned) is not (sent == 5 and not full and assigned == 0b01)


@pytest.mark.parametrize(("joins", "before"), list(product((False, True), repeat=2)))
def test_partitions_are_named_by_whoever_joins_or_has_not_named_them(joins: bool, before: bool) -> None:
    """ConsumerHeartbeatRequestManager.HeartbeatState.buildRequestData: a full request, or one that has changed."""
    assert names_partitions(joins, before) is (joins or not before)


@pytest.mark.parametrize(("committed", "wins"), [(None, True), (4, True), (5, False), (6, False)])
def test_an_offset_of_a_transaction_wins_if_it_was_written_later(committed: int | None, wins: bool) -> None:
    assert transactional_offset_wins(5, committed) is wins
