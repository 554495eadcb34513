"""The consumer group protocol of KIP-848: held equal to Kafka's classes restated, and to cases of Kafka's own tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.groups import PlainMember, current_assignment

from kreplica.engine.rules.groups import group_epochs
from kreplica.engine.rules.groups.group_epochs import Member, MemberState
from kreplica.engine.rules.replication.error_codes import ErrorCode

partition_sets = st.frozensets(st.integers(0, 5))


def mask(partitions: set[int] | frozenset[int] | list[int]) -> int:
    return sum(1 << one for one in set(partitions))


@st.composite
def members_of_kip_848(draw: st.DrawFn) -> PlainMember:
    assigned = draw(partition_sets)
    state = draw(st.sampled_from(list(MemberState)))
    revoke = draw(partition_sets) - assigned if state is MemberState.UNREVOKED_PARTITIONS else frozenset()
    return PlainMember(state.title, draw(st.integers(1, 3)), assigned, revoke)


@given(members_of_kip_848(), partition_sets, st.integers(0, 2), st.none() | st.lists(st.integers(0, 5)), partition_sets)
def test_reconciliation(
    before: PlainMember, target: frozenset[int], newer: int, owned: list[int] | None, others: frozenset[int]
) -> None:
    held = (others | before.assigned | before.pending_revocation) - frozenset()
    expected = current_assignment(before, set(target), before.epoch + newer, owned, set(held))
    state = next(one for one in MemberState if one.title == before.state)
    member = Member(state, before.epoch, mask(before.assigned), mask(before.pending_revocation))
    answer = group_epochs.reconcile(
        member, mask(target), before.epoch + newer, None if owned is None else mask(owned), mask(held)
    )
    told = (answer.state.title, *answer[1:])
    assert told == (expected.state, expected.epoch, mask(expected.assigned), mask(expected.pending_revocation))
    assert answer.assigned & ~(mask(target) | member.assigned) == 0
    assert answer.assigned & ~member.assigned & mask(held) == 0, "nobody gets what another still has"


def test_a_partition_changes_hands_in_kip_848() -> None:
    """CurrentAssignmentBuilderTest: revoke, acknowledge, and only then the other one gets it."""
    a = Member(MemberState.STABLE, 10, 0b111, 0)
    a = group_epochs.reconcile(a, 0b011, 11, None, 0b111)
    assert a == Member(MemberState.UNREVOKED_PARTITIONS, 10, 0b011, 0b100)
    b = group_epochs.reconcile(Member(MemberState.STABLE, 10, 0, 0), 0b100, 11, 0, 0b111)
    assert b == Member(MemberState.UNRELEASED_PARTITIONS, 11, 0, 0)
    assert group_epochs.consumer_group_state((a, b), 11, 11) == "Reconciling"
    a = group_epochs.reconcile(a, 0b011, 11, 0b011, 0b111)
    assert a == Member(MemberState.STABLE, 11, 0b011, 0)
    b = group_epochs.reconcile(b, 0b100, 11, 0, 0b011)
    assert b == Member(MemberState.STABLE, 11, 0b100, 0)
    assert group_epochs.consumer_group_state((a, b), 11, 11) == "Stable"
    assert group_epochs.consumer_group_state((a, b), 12, 11) == "Assigning"
    assert group_epochs.consumer_group_state((), 12, 12) == "Empty"


def test_a_member_that_has_revoked_may_have_to_revoke_again() -> None:
    """CurrentAssignmentBuilderTest.testUnrevokedToUnrevoked: one epoch further, not at the target's."""
    before = Member(MemberState.UNREVOKED_PARTITIONS, 10, 0b011, 0b100)
    after = group_epochs.reconcile(before, 0b001, 12, 0b011, 0b111)
    assert after == Member(MemberState.UNREVOKED_PARTITIONS, 11, 0b001, 0b010)


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        (None, Member(MemberState.UNREVOKED_PARTITIONS, 10, 0b110, 0b001)),  # it may own what it has to revoke
        (0b111, Member(MemberState.UNREVOKED_PARTITIONS, 10, 0b110, 0b001)),
        (0b001, Member(MemberState.UNREVOKED_PARTITIONS, 10, 0b110, 0b001)),
        (0b110, Member(MemberState.STABLE, 11, 0b110, 0)),
        (0b000, Member(MemberState.STABLE, 11, 0b110, 0)),
    ],
)
def test_a_member_that_does_not_own_what_it_has_to_revoke_goes_on_at_once(owned: int | None, expected: Member) -> None:
    """CurrentAssignmentBuilder.computeNextAssignment: ownsRevokedPartitions."""
    before = Member(MemberState.STABLE, 10, 0b111, 0)
    assert group_epochs.reconcile(before, 0b110, 11, owned, 0b111) == expected


@pytest.mark.parametrize("rejoins", [False, True])
@pytest.mark.parametrize(
    ("sent", "owned", "expected"),
    [
        (5, None, "NONE"),
        (6, None, "FENCED_MEMBER_EPOCH"),
        (4, 0b01, "NONE"),  # the answer with epoch 5 was lost
        (4, 0b10, "FENCED_MEMBER_EPOCH"),
        (4, None, "FENCED_MEMBER_EPOCH"),
        (3, 0b01, "FENCED_MEMBER_EPOCH"),
    ],
)
def test_epochs_of_heartbeats(sent: int, owned: int | None, expected: str, rejoins: bool) -> None:
    """GroupMetadataManagerTest.testConsumerGroupMemberEpochValidation."""
    assert group_epochs.validate_heartbeat_epoch(sent, 5, 4, owned, 0b01, rejoins).name == expected


def test_a_fenced_member_joins_again_since_4_2() -> None:
    """KAFKA-19233: throwIfConsumerGroupMemberEpochIsInvalid of the jars of 4.1.1 and 4.2.0 differ in this alone."""
    for previous in (0, 4):
        assert group_epochs.validate_heartbeat_epoch(0, 5, previous, 0, 0b01, True) is ErrorCode.NONE
    assert group_epochs.validate_heartbeat_epoch(0, 5, 4, 0, 0b01, False) is ErrorCode.FENCED_MEMBER_EPOCH
    assert group_epochs.validate_heartbeat_epoch(0, 1, 0, 0, 0b01, False) is ErrorCode.NONE, "the answer was lost"


@given(
    state=st.sampled_from(MemberState),
    epoch=st.integers(1, 3),
    target_epoch=st.integers(1, 3),
    pending=st.integers(0, 7),
    owned=st.none() | st.integers(0, 7),
)
def test_what_stays_as_it_is_is_never_reconciled(
    state: MemberState, epoch: int, target_epoch: int, pending: int, owned: int | None
) -> None:
    """CurrentAssignmentBuilder.build returns the member itself in two cases."""
    before = Member(state, epoch, 0, pending)
    waits = state.name == "UNREVOKED_PARTITIONS" and (owned is None or owned & pending != 0)
    stays = (state.name == "STABLE" and epoch == target_epoch) or waits
    assert group_epochs.stays_as_it_is(before, target_epoch, owned) == stays
    after, previous = group_epochs.after_heartbeat(before, 8, 7, target_epoch, owned, 0)
    assert after == group_epochs.reconcile(before, 7, target_epoch, owned, 0)
    assert previous == (8 if stays else epoch)
    if stays:
        assert after is before


@pytest.mark.parametrize(
    ("epochs", "assigned_at", "now", "interval", "expected"),
    [
        ((5, 5), None, 9_000, 0, False),  # nothing has changed
        ((6, 5), None, 9_000, 1_000, True),  # the first one never waits
        ((6, 5), 9_000, 9_000, 0, True),
        ((6, 5), 9_000, 9_999, 1_000, False),
        ((6, 5), 9_000, 10_000, 1_000, True),
        ((5, 5), 9_000, 99_000, 1_000, False),
    ],
)
def test_when_a_heartbeat_assigns(
    epochs: tuple[int, int], assigned_at: int | None, now: int, interval: int, expected: bool
) -> None:
    """GroupMetadataManager.canComputeNextTargetAssignment, 4.3 (KIP-1263)."""
    assert group_epochs.may_assign(*epochs, assigned_at, now, interval) is expected


def test_an_instance_is_free_once_its_holder_left() -> None:
    assert group_epochs.join_static_member(None) is ErrorCode.NONE
    assert group_epochs.join_static_member(-2) is ErrorCode.NONE
    assert group_epochs.join_static_member(5) is ErrorCode.UNRELEASED_INSTANCE_ID


@pytest.mark.parametrize(
    ("state", "epoch", "expected"),
    [
        (MemberState.STABLE, 11, "Stable"),
        (MemberState.STABLE, 10, "Reconciling"),
        (MemberState.UNRELEASED_PARTITIONS, 11, "Reconciling"),
    ],
)
def test_a_group_is_stable_once_every_member_has_its_target(state: MemberState, epoch: int, expected: str) -> None:
    """ConsumerGroupMember.isReconciledTo."""
    members = (Member(MemberState.STABLE, 11, 1, 0), Member(state, epoch, 2, 0))
    assert group_epochs.consumer_group_state(members, 11, 11) == expected
