"""Offsets at which consumers read, begin and begin again: as in Kafka's classes restated, and its documented cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.groups import ReplicaView, select_replica

from kreplica.engine.rules.groups import consumer_position, offset_reset
from kreplica.engine.rules.groups.consumer_position import Validation
from kreplica.engine.rules.groups.offset_reset import ResetPolicy
from kreplica.engine.rules.replication import follower_reads
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes" / "read-replicas.txt"

views = st.builds(
    ReplicaView, st.integers(1, 9), st.sampled_from(["", "r1", "r2"]), st.integers(0, 3), st.integers(0, 3)
)


@given(st.lists(views, min_size=1, max_size=4, unique_by=lambda view: view.broker), st.data())
def test_preferred_read_replica(replicas: list[ReplicaView], data: st.DataObject) -> None:
    rack = data.draw(st.sampled_from(["", "r1", "r2", "r3"]))
    offset = data.draw(st.integers(0, 3))
    isr = data.draw(st.integers(0, 2 ** len(replicas) - 1)) | 1
    leader, followers = replicas[0], replicas[1:]
    fit = [view for place, view in enumerate(followers, 1) if isr >> place & 1 and view.log_end_offset >= offset]
    chosen = select_replica(rack, leader, fit)
    ends = tuple(view.log_end_offset for view in replicas)
    readable = follower_reads.readable_replicas(isr, 0, offset, (0,) * len(replicas), ends)
    same = sum(1 << place for place, view in enumerate(replicas) if rack and view.rack == rack)
    answer = follower_reads.preferred_read_replica(
        readable, 0, same, ends, tuple(view.behind_ms for view in replicas), tuple(view.broker for view in replicas)
    )
    assert (leader if answer == NO_LEADER else replicas[answer]) == chosen


def test_replicas_to_read_from_are_those_of_kafkas_rack_aware_selector() -> None:
    """RackAwareReplicaSelector of 4.3.1 asked for a consumer in rack a; -1 where it names the leader."""
    lines = [line.split(" | ") for line in GOLDEN.read_text().splitlines()]
    assert len({expected for *_, expected in lines}) > 10
    for leader, replicas, expected in lines:
        words = [word.rstrip("!").split(":") for word in replicas.split()]
        ids = tuple(int(name[:-1]) for name, _, _ in words)
        readable = sum(1 << place for place, word in enumerate(replicas.split()) if not word.endswith("!"))
        same_rack = sum(1 << place for place, (name, _, _) in enumerate(words) if name.endswith("a"))
        ends, behind = tuple(int(end) for _, end, _ in words), tuple(int(time) for _, _, time in words)
        place = follower_reads.preferred_read_replica(readable, int(leader), same_rack, ends, behind, ids)
        assert (-1 if place == NO_LEADER else ids[place]) == int(expected), replicas


def test_ties_go_to_the_least_behind_and_then_to_the_highest_id() -> None:
    """ReplicaSelectorTest; the leader, at place 0, stands in another rack."""
    rack, ends = 0b1110, (9, 8, 8, 7)
    assert follower_reads.preferred_read_replica(0b1111, 0, rack, ends, (0, 20, 10, 0), (1, 4, 3, 2)) == 2
    assert follower_reads.preferred_read_replica(0b1111, 0, rack, ends, (0, 10, 20, 0), (1, 4, 3, 2)) == 1
    assert follower_reads.preferred_read_replica(0b1111, 0, rack, ends, (0, 10, 10, 0), (1, 4, 3, 2)) == 1
    assert follower_reads.preferred_read_replica(0b1111, 0, rack, ends, (0, 10, 10, 0), (1, 3, 4, 2)) == 2
    assert follower_reads.preferred_read_replica(0b1001, 0, rack, ends, (0, 10, 10, 0), (1, 4, 3, 2)) == 3


def test_a_replica_that_deleted_the_offset_is_not_chosen() -> None:
    assert follower_reads.readable_replicas(0b111, 0, 5, (0, 6, 5), (9, 9, 5)) == 0b101
    assert follower_reads.readable_replicas(0b111, 0, 5, (0, 2, 5), (9, 5, 7)) == 0b111
    assert follower_reads.readable_replicas(0b111, 0, 5, (0, 0, 0), (9, 4, 9)) == 0b101
    assert follower_reads.readable_replicas(0b001, 0, 5, (0, 0, 0), (9, 9, 9)) == 0b001
    assert follower_reads.readable_replicas(0b111, 2, 12, (0, 0, 0), (9, 9, 9)) == 0b100, "the leader, whatever it has"


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(1, (1, 1)), (2, (0, 6)), (5, (0, 6)), (6, (0, 6)), (7, (0, 7)), (9, (0, 9)), (10, (1, 10))],
)
def test_a_log_with_high_watermark_6_and_end_9(offset: int, expected: tuple[int, int]) -> None:
    """Offsets 2 to 5 can be read; from 6 to 9 there is nothing yet; past the end is out of range, and so is below 2."""
    assert follower_reads.readable_until(offset, 2, 6, 9) == expected


def test_only_the_leader_makes_a_consumer_reset() -> None:
    assert follower_reads.out_of_range_resets(False)
    assert not follower_reads.out_of_range_resets(True)
    assert not follower_reads.preferred_read_replica_expired(300_000, 0, 300_000)
    assert follower_reads.preferred_read_replica_expired(300_001, 0, 300_000)
    assert not follower_reads.preferred_read_replica_expired(301_000, 1_000, 300_000)


def test_a_follower_that_answers_errors_is_left_since_3_3_2() -> None:
    """KAFKA-14379: Fetcher.requestMetadataUpdate clears it beside; before, only what is offline was."""
    errors = (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NETWORK_EXCEPTION)
    cases = [(online, error, since) for online in (True, False) for error in errors for since in (True, False)]
    left = {case for case in cases if follower_reads.goes_to_leader(*case)}
    assert left == {case for case in cases if not case[0]} | {(True, error, True) for error in errors[1:]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("latest", ResetPolicy("latest")),
        ("earliest", ResetPolicy("earliest")),
        ("none", ResetPolicy("none")),
        ("by_duration:PT24H", ResetPolicy("by_duration", 86_400_000)),
        ("by_duration:P1DT2H3M4.5S", ResetPolicy("by_duration", 93_784_500)),
        ("by_duration:PT0S", ResetPolicy("by_duration", 0)),
        ("by_duration:PT0.999999999S", ResetPolicy("by_duration", 999)),  # Duration.toMillis cuts off
        # AutoOffsetResetStrategyTest names these as invalid
        ("invalid", None),
        ("LATEST", None),
        ("by_duration", None),
        ("by_duration:", None),
        ("by_duration:invalid", None),
        ("by_duration:-PT1H", None),
        ("by_duration:P", None),
        ("by_duration:P1DT", None),
        ("latest:PT1H", None),
    ],
)
def test_values_of_auto_offset_reset(value: str, expected: ResetPolicy | None) -> None:
    assert offset_reset.reset_policy(value) == expected


def test_where_a_reset_leads() -> None:
    at = {"log_start": 3, "last_fetchable": 9, "offset_at_time": 5}
    policies = {"latest": 9, "earliest": 3, "none": offset_reset.NO_RESET, "by_duration": 5}
    for name, expected in policies.items():
        assert offset_reset.reset_position(ResetPolicy(name), **at) == expected
    assert offset_reset.reset_position(ResetPolicy("by_duration"), 3, 9, None) == offset_reset.NOT_YET
    assert offset_reset.NO_RESET != offset_reset.NOT_YET
    assert max(offset_reset.NO_RESET, offset_reset.NOT_YET) < 0, "every other number is an offset"


def test_a_new_leader_that_is_behind_does_not_say_where_the_log_ends() -> None:
    assert not offset_reset.latest_is_available(4, 5)
    assert offset_reset.latest_is_available(5, 5)


def test_auto_commit_comes_with_a_poll_after_its_interval() -> None:
    assert not consumer_position.auto_commit_due(4_999, 0, 5_000)
    assert consumer_position.auto_commit_due(5_000, 0, 5_000)


@pytest.mark.parametrize(
    ("epoch", "before", "now", "expected"), [(3, 3, 4, True), (3, 4, 4, False), (-1, 3, 4, False), (3, 3, -1, False)]
)
def test_who_validates_its_position(epoch: int, before: int, now: int, expected: bool) -> None:
    assert consumer_position.needs_validation(epoch, before, now) is expected


@pytest.mark.parametrize(
    ("end", "epoch", "policy", "expected"),
    [
        # SubscriptionStateTest: testMaybeCompleteValidation, testTruncationDetectionWithResetPolicy and without
        (10, 7, True, (Validation.VALID, 10)),
        (15, 7, True, (Validation.VALID, 10)),
        (5, 7, True, (Validation.TRUNCATED, 5)),
        (5, 7, False, (Validation.LOG_TRUNCATION, 10)),
        (-1, -1, True, (Validation.RESET, 10)),
        (-1, -1, False, (Validation.LOG_TRUNCATION, 10)),
    ],
)
def test_what_becomes_of_a_position(end: int, epoch: int, policy: bool, expected: tuple[Validation, int]) -> None:
    assert consumer_position.validate_position(10, epoch, end, policy) == expected


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """What a consumer has read, as the epoch of each record, and the log of the new leader: they share a prefix."""
    shared = sorted(draw(st.lists(st.integers(0, 2), max_size=5)))
    base = max(shared, default=0)
    read = shared + [base + 1] * draw(st.integers(0, 4))
    log = shared + [base + 2] * draw(st.integers(0, 6))
    return read, log, len(read)


@given(histories())
def test_validation_finds_the_common_history(case: tuple[list[int], list[int], int]) -> None:
    """Where the leader has other records below the position, the consumer goes back to where they begin to differ."""
    from kreplica.engine.rules.replication.log_truncation import epoch_end_offset

    read, log, position = case
    if not read:
        return
    epochs = tuple(sorted(set(log)))
    epoch, end = epoch_end_offset(epochs, tuple(log.index(one) for one in epochs), len(log), read[-1])
    verdict, at = consumer_position.validate_position(position, epoch, end, True)
    if log[:position] == read:
        assert (verdict, at) == (Validation.VALID, position)
    elif verdict is Validation.TRUNCATED:
        assert log[:at] == read[:at]
    else:
        assert verdict is Validation.RESET


def test_what_replicas_answer_has_kafkas_numbers() -> None:
    assert follower_reads.readable_until(0, 1, 1, 1)[0] is ErrorCode.OFFSET_OUT_OF_RANGE


def test_auto_commit_is_due_an_interval_after_the_last_one() -> None:
    assert not consumer_position.auto_commit_due(10_999, 6_000, 5_000)
    assert consumer_position.auto_commit_due(11_000, 6_000, 5_000)


@pytest.mark.parametrize(("epoch", "end_offset"), [(-1, 9), (3, -1), (-1, -1)])
def test_a_leader_that_knows_neither_epoch_nor_end_of_a_position(epoch: int, end_offset: int) -> None:
    """SubscriptionState.maybeCompleteValidation: either undefined is enough."""
    assert consumer_position.validate_position(5, epoch, end_offset, True) == (Validation.RESET, 5)
    assert consumer_position.validate_position(5, epoch, end_offset, False) == (Validation.LOG_TRUNCATION, 5)
