"""AlterPartition: what controllers refuse and what leaders make of it, against Kafka's sources restated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import pytest
from plain.reassignment import Asked, Known, kraft_validation, zookeeper_validation

from kreplica.engine.rules.controller import alter_partition as rules
from kreplica.engine.rules.replication.error_codes import ErrorCode

REPLICAS = [0, 1, 2]
EVERYBODY = [0, 1, 2, 3]


def mask(brokers: list[int]) -> int:
    return sum(1 << broker for broker in brokers)


def every_request() -> Iterator[tuple[Known, Asked]]:
    """Every request of a small world, since few random ones get as far as the last questions."""
    sets = [list(chosen) for size in range(5) for chosen in combinations(EVERYBODY, size)]
    states = product((0, 2), ([0, 1, 2], [0, 2]), (False, True), (EVERYBODY, [0, 2, 3]))
    for leader, isr, recovering, eligible in states:
        known = Known(REPLICAS, isr, leader, 4, 8, recovering, eligible)
        for asked in product((0, 2), (3, 4, 5), (7, 8, 9), sets, (False, True)):
            yield known, Asked(*asked)


def test_what_controllers_refuse() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for known, asked in every_request():
        sent = mask(asked.isr)
        ineligible = rules.ineligible_replicas(sent, mask(list(known.eligible)), 0, 0, 0)
        epochs_known = known.leader, known.leader_epoch, known.partition_epoch
        epochs_sent = asked.sender, asked.leader_epoch, asked.partition_epoch
        kraft = rules.kraft_alter_partition_error(
            *epochs_known, mask(REPLICAS), known.recovering, *epochs_sent, sent, asked.recovering, ineligible
        )
        expected = kraft_validation(known, asked), zookeeper_validation(known, asked)
        assert ErrorCode(kraft).name == expected[0], (known, asked)
        zookeeper = rules.zookeeper_alter_partition_error(
            *epochs_known, mask(known.isr), *epochs_sent, sent, ineligible
        )
        assert ErrorCode(zookeeper).name == expected[1], (known, asked)
        seen[expected] += 1
    assert {error for errors in seen for error in errors} == {
        "NONE",
        "NOT_CONTROLLER",
        "FENCED_LEADER_EPOCH",
        "INVALID_REQUEST",
        "INVALID_UPDATE_VERSION",
        "INELIGIBLE_REPLICA",
    }


@pytest.mark.parametrize(
    ("recovering", "isr", "sent", "error"),
    [
        # ReplicationControlManager.validateAlterPartitionData, LeaderRecoveryState
        (False, 0b001, True, ErrorCode.INVALID_REQUEST),  # "cannot change from RECOVERED to RECOVERING"
        (True, 0b001, True, ErrorCode.NONE),
        (True, 0b011, True, ErrorCode.INVALID_REQUEST),  # more than the leader while it recovers
        (True, 0b011, False, ErrorCode.NONE),
        (False, 0b011, False, ErrorCode.NONE),
    ],
)
def test_a_leader_that_recovers_is_alone_in_its_isr(recovering: bool, isr: int, sent: bool, error: ErrorCode) -> None:
    assert rules.kraft_alter_partition_error(0, 4, 4, 0b111, recovering, 0, 4, 4, isr, sent, 0) == error


@pytest.mark.parametrize(("sender", "error"), [(0, ErrorCode.NONE), (1, ErrorCode.INVALID_UPDATE_VERSION)])
def test_zookeepers_controller_is_content_with_an_isr_that_its_leader_already_has(
    sender: int, error: ErrorCode
) -> None:
    """LeaderAndIsr.equalsAllowStalePartitionEpoch compares leaders, too."""
    assert rules.zookeeper_alter_partition_error(0, 4, 4, 0b011, sender, 4, 3, 0b011, 0) == error


def test_who_is_ineligible() -> None:
    assert rules.ineligible_replicas(0b0111, 0b1111, 0b1000, 0, 0) == 0
    assert rules.ineligible_replicas(0b0111, 0b0011, 0, 0, 0) == 0b0100  # not registered
    assert rules.ineligible_replicas(0b0111, 0b1111, 0b0001, 0b0010, 0) == 0b0011  # fenced, shutting down
    assert rules.ineligible_replicas(0b0111, 0b1111, 0, 0, 0b0100) == 0b0100  # KIP-903: another life of that broker


@pytest.mark.parametrize(
    ("error", "reaction"),
    [
        # Partition.handleAlterPartitionError
        (ErrorCode.OPERATION_NOT_ATTEMPTED, rules.ROLL_BACK),
        (ErrorCode.INELIGIBLE_REPLICA, rules.ROLL_BACK),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, rules.STAY_PENDING),
        (ErrorCode.UNKNOWN_TOPIC_ID, rules.STAY_PENDING),
        (ErrorCode.FENCED_LEADER_EPOCH, rules.STAY_PENDING),
        (ErrorCode.INVALID_UPDATE_VERSION, rules.STAY_PENDING),
        (ErrorCode.INVALID_REQUEST, rules.STAY_PENDING),
        (ErrorCode.NEW_LEADER_ELECTED, rules.STAY_PENDING),
        (ErrorCode.NOT_CONTROLLER, rules.RETRY),
        (ErrorCode.STALE_BROKER_EPOCH, rules.RETRY),
        (ErrorCode.REQUEST_TIMED_OUT, rules.RETRY),
    ],
)
def test_what_a_leader_does_with_an_error(error: ErrorCode, reaction: int) -> None:
    assert rules.leader_reaction(error) == reaction
    assert len({rules.ROLL_BACK, rules.STAY_PENDING, rules.RETRY}) == 3


def test_answers_that_came_too_late_are_left() -> None:
    assert rules.leader_takes_answer(True, 5, 7, 5, 8)
    assert rules.leader_takes_answer(True, 5, 7, 5, 7)  # nothing had to change
    assert not rules.leader_takes_answer(True, 5, 7, 5, 6)
    assert not rules.leader_takes_answer(True, 5, 7, 4, 8)
    assert not rules.leader_takes_answer(False, 5, 7, 5, 8)


def test_a_state_that_is_known_ends_the_wait_in_every_release() -> None:
    """Partition.makeLeader skips older partition epochs alone, and updateAssignmentAndIsr drops what is pending."""
    assert not rules.stays_pending(True, 7, 7, known_state_ends=True)
    assert rules.stays_pending(True, 7, 7, known_state_ends=False)
    assert not rules.stays_pending(True, 7, 8, known_state_ends=False)
    assert not rules.stays_pending(False, 7, 7, known_state_ends=False)


def test_the_larger_isr_counts_while_nobody_knows() -> None:
    assert rules.expanded_isr(0b011, 2) == 0b111
    assert rules.maximal_isr(0b011, 0b111, True) == 0b111
    assert rules.maximal_isr(0b111, 0b011, True) == 0b111
    assert rules.maximal_isr(0b111, 0b011, False) == 0b111
    assert rules.answer_to_change(0, 0) == ErrorCode.NONE
    assert rules.answer_to_change(0, 3) == ErrorCode.NEW_LEADER_ELECTED
