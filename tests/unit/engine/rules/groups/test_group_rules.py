"""Groups and their offsets: held equal to Kafka's classes restated, and to cases known from Kafka's own tests."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.groups import ClassicGroup, PlainOffsets, Refused

from kreplica.engine.rules.groups import group_membership, offset_commit
from kreplica.engine.rules.groups.group_membership import GroupState, JoinOutcome
from kreplica.engine.rules.replication.error_codes import ErrorCode

HOUR = 3_600_000
DAY = 24 * HOUR
WEEK = 7 * DAY


def refusal(asked: object, *arguments: object) -> str:
    try:
        asked(*arguments)  # type: ignore[operator]
    except Refused as refused:
        return refused.error
    return "NONE"


@st.composite
def groups(draw: st.DrawFn) -> ClassicGroup:
    members = draw(st.sets(st.sampled_from(["a", "b", "c"])))
    static = {f"instance-{member}": draw(st.sampled_from(["a", "b", "c"])) for member in sorted(members)[:1]}
    return ClassicGroup(draw(st.sampled_from(list(GroupState))), draw(st.integers(0, 2)), members, static)


members_asking = st.sampled_from(["", "a", "b", "gone"])
instances = st.sampled_from([None, "instance-a", "instance-b"])


@given(groups(), members_asking, instances, st.integers(-1, 3), st.booleans())
def test_commits_to_a_classic_group(
    group: ClassicGroup, member: str, instance: str | None, generation: int, transactional: bool
) -> None:
    answer = offset_commit.commit_to_classic_group(
        GroupState(group.state),
        group.generation,
        group.members,
        group.static_members,
        member,
        instance,
        generation,
        transactional,
    )
    assert answer.name == refusal(group.validate_offset_commit, member, instance, generation, transactional)


@given(groups(), members_asking, instances, st.integers(-1, 3))
def test_heartbeats(group: ClassicGroup, member: str, instance: str | None, generation: int) -> None:
    answer = group_membership.heartbeat(
        GroupState(group.state), group.generation, group.members, group.static_members, member, instance, generation
    )
    assert answer.name == refusal(group.heartbeat, member, instance, generation)


@pytest.mark.parametrize(
    ("state", "member", "generation", "transactional", "expected"),
    [
        ("Stable", "a", 7, False, "NONE"),
        ("Stable", "a", 6, False, "ILLEGAL_GENERATION"),
        ("Stable", "zombie", 7, False, "UNKNOWN_MEMBER_ID"),
        ("PreparingRebalance", "a", 7, False, "NONE"),  # who is being rebalanced may still commit
        ("CompletingRebalance", "a", 7, False, "REBALANCE_IN_PROGRESS"),
        ("CompletingRebalance", "a", 7, True, "NONE"),
        ("Stable", "", -1, False, "UNKNOWN_MEMBER_ID"),  # an outsider, while members read
        ("Stable", "", -1, True, "NONE"),  # a producer of before 2.5: only its epoch fences it
        ("Empty", "", -1, False, "NONE"),
        ("Dead", "a", 7, False, "COORDINATOR_NOT_AVAILABLE"),
    ],
)
def test_known_commits(state: str, member: str, generation: int, transactional: bool, expected: str) -> None:
    answer = offset_commit.commit_to_classic_group(
        GroupState(state), 7, {"a"}, {}, member, None, generation, transactional
    )
    assert answer.name == expected


def test_a_second_process_with_the_same_instance_fences_the_first() -> None:
    group = (GroupState.STABLE, 3, {"new"}, {"instance": "new"})
    assert group_membership.heartbeat(*group, "old", "instance", 3) is ErrorCode.FENCED_INSTANCE_ID
    assert offset_commit.commit_to_classic_group(*group, "old", "instance", 3, False) is ErrorCode.FENCED_INSTANCE_ID
    assert group_membership.heartbeat(*group, "new", "instance", 3) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("required", "instance", "first"), [(True, None, True), (True, "i", False), (False, None, False)]
)
def test_a_static_member_needs_no_member_id_before_it_joins(required: bool, instance: str | None, first: bool) -> None:
    """GroupMetadataManager.classicGroupJoinNewMember asks classicGroupJoinNewDynamicMember alone for it."""
    assert group_membership.gives_member_id_first(required, instance) is first


def test_states_follow_each_other_as_in_kafka() -> None:
    """Every way through a group's life is allowed, and what no way contains is not."""
    life = ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "PreparingRebalance", "Empty", "Dead"]
    assert all(group_membership.may_change(GroupState(a), GroupState(b)) for a, b in pairwise(life))
    allowed = {
        (before, after) for before, after in product(GroupState, repeat=2) if group_membership.may_change(before, after)
    }
    # ClassicGroupStateTest and ClassicGroupTest name these as illegal
    for before, after in [("Empty", "Stable"), ("Stable", "Stable"), ("Dead", "Empty"), ("Empty", "Empty")]:
        assert (GroupState(before), GroupState(after)) not in allowed
    assert len(allowed) == 1 + 3 + 1 + 1 + 5


@pytest.mark.parametrize(
    ("state", "leader", "changed", "expected"),
    [
        ("PreparingRebalance", False, False, JoinOutcome.REBALANCE),
        ("CompletingRebalance", True, False, JoinOutcome.CURRENT_GENERATION),
        ("CompletingRebalance", False, True, JoinOutcome.REBALANCE),
        ("Stable", True, False, JoinOutcome.REBALANCE),
        ("Stable", False, False, JoinOutcome.CURRENT_GENERATION),
        ("Stable", False, True, JoinOutcome.REBALANCE),
        ("Empty", False, False, JoinOutcome.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_member_joins_again(state: str, leader: bool, changed: bool, expected: JoinOutcome) -> None:
    assert group_membership.join_known_member(GroupState(state), leader, changed) is expected


def test_generations_and_who_is_waited_for() -> None:
    assert group_membership.next_generation(4, 2) == (5, GroupState.COMPLETING_REBALANCE)
    assert group_membership.next_generation(4, 1) == (5, GroupState.COMPLETING_REBALANCE)
    assert group_membership.next_generation(4, 0) == (5, GroupState.EMPTY)
    assert group_membership.all_members_joined(2, 2, 0)
    assert not group_membership.all_members_joined(2, 1, 0)
    assert not group_membership.all_members_joined(2, 2, 1)


def test_the_first_rebalance_waits_for_latecomers() -> None:
    """GroupCoordinatorTest: by the initial delay again and again, but no longer than the rebalance timeout."""
    waited, delay, remaining = 0, 3_000, 10_000 - 3_000
    while True:
        waited += delay
        again = group_membership.initial_rebalance_delay(delay, remaining, True, 3_000)
        if again is None:
            break
        delay, remaining = again
    assert waited == 10_000
    assert group_membership.initial_rebalance_delay(3_000, 7_000, False, 3_000) is None


def test_timers_run_out_at_their_time() -> None:
    assert not group_membership.expired(44_999, 0, 45_000)
    assert group_membership.expired(45_000, 0, 45_000)
    assert not group_membership.expired(49_999, 5_000, 45_000)
    assert group_membership.expired(50_000, 5_000, 45_000)


@pytest.mark.parametrize(
    ("generation", "version", "transactional", "expected"),
    [(-1, 9, False, 0), (-1, 2, True, 0), (0, 9, False, 69), (0, 8, False, 22), (0, 9, True, 22)],
)
def test_commit_to_a_group_that_is_not_there(generation: int, version: int, transactional: bool, expected: int) -> None:
    assert offset_commit.commit_to_unknown_group(generation, version, transactional) == expected


@pytest.mark.parametrize(
    ("members", "epoch", "sent", "transactional", "classic", "expected"),
    [
        (0, None, -1, False, False, "NONE"),
        (0, None, 0, False, False, "UNKNOWN_MEMBER_ID"),
        (0, None, 3, False, False, "UNKNOWN_MEMBER_ID"),
        (1, None, -1, False, False, "UNKNOWN_MEMBER_ID"),
        (1, 5, 5, False, False, "NONE"),
        (1, 5, 4, False, False, "STALE_MEMBER_EPOCH"),
        (1, 5, 6, False, False, "STALE_MEMBER_EPOCH"),
        (1, 5, 4, False, True, "ILLEGAL_GENERATION"),
        (1, 5, 4, True, False, "ILLEGAL_GENERATION"),
    ],
)
def test_commits_to_a_consumer_group(
    members: int, epoch: int | None, sent: int, transactional: bool, classic: bool, expected: str
) -> None:
    """ConsumerGroupTest.testValidateOffsetCommit and OffsetMetadataManagerTest."""
    assert offset_commit.commit_to_consumer_group(members, epoch, sent, transactional, classic).name == expected


@pytest.mark.parametrize(
    ("sent", "since", "expected"),
    [
        (4, 3, "NONE"),
        (3, 3, "NONE"),
        (2, 3, "STALE_MEMBER_EPOCH"),
        (6, 3, "STALE_MEMBER_EPOCH"),
        (4, None, "STALE_MEMBER_EPOCH"),
        (5, None, "NONE"),
    ],
)
def test_who_has_not_heard_of_its_new_epoch_may_commit_what_it_keeps(
    sent: int, since: int | None, expected: str
) -> None:
    """KIP-1251: the epoch of the assignment <= the epoch sent <= the member's epoch."""
    assert offset_commit.commit_to_consumer_group(1, 5, sent, False, False, since).name == expected


records = st.lists(
    st.tuples(st.sampled_from(["commit", "transactional", "marker"]), st.integers(1, 2), st.booleans()), max_size=12
)


@given(records)
def test_offsets_of_transactions_wait_for_their_marker(steps: list[tuple[str, int, bool]]) -> None:
    plain = PlainOffsets()
    committed: tuple[int, int] | None = None
    pending: dict[int, tuple[int, int]] = {}
    for place, (what, producer, commits) in enumerate(steps):
        offset = 100 + place
        if what == "marker":
            plain.marker(producer, commits)
            one = pending.pop(producer, None)
            before = None if committed is None else committed[0]
            if one is not None and commits and offset_commit.transactional_offset_wins(one[0], before):
                committed = one
        elif what == "commit":
            plain.replay(place, offset, None)
            committed = (place, offset)
        else:
            plain.replay(place, offset, producer)
            pending[producer] = (place, offset)
        for stable in (False, True):
            has = offset_commit.INVALID_OFFSET if committed is None else committed[1]
            error, answer = offset_commit.fetched_offset(has, bool(pending), stable)
            assert (error.name, answer) == plain.fetch(stable)


def test_an_older_commit_of_a_transaction_does_not_win() -> None:
    assert offset_commit.transactional_offset_wins(5, None)
    assert offset_commit.transactional_offset_wins(5, 4)
    assert not offset_commit.transactional_offset_wins(4, 5)


@pytest.mark.parametrize(
    ("state", "membership", "subscribed", "empty_since", "expected"),
    [
        ("Empty", True, False, 50, 50),
        ("Empty", True, False, None, 10),
        ("Stable", True, True, None, None),
        ("Stable", True, False, None, 10),
        ("PreparingRebalance", True, False, None, None),
        ("CompletingRebalance", True, False, None, None),
        ("Empty", False, False, None, 10),
    ],
)
def test_since_when_an_offset_ages(
    state: str, membership: bool, subscribed: bool, empty_since: int | None, expected: int | None
) -> None:
    """GroupMetadataManagerTest.testOffsetExpirationSemantics of KIP-211; the offset was committed at 10."""
    assert offset_commit.expires_with_group(GroupState(state), membership, subscribed, 10, empty_since) == expected


def test_a_silent_topic_loses_its_offsets_only_before_kip_211() -> None:
    silent = DAY + 1  # since the last commit, while the member lives on
    assert offset_commit.offset_expired_by_commit(silent, 0, DAY)
    since = offset_commit.expires_with_group(GroupState.STABLE, True, True, 0, None)
    assert not offset_commit.offset_expired(silent, since, DAY, None, False)
    assert not offset_commit.offset_expired_by_commit(DAY, 0, DAY), "the age must exceed the retention"


def test_a_week_begins_when_the_last_member_leaves() -> None:
    since = offset_commit.expires_with_group(GroupState.EMPTY, True, False, 0, 3 * DAY)
    assert not offset_commit.offset_expired(since + WEEK - 1, since, WEEK, None, False)
    assert offset_commit.offset_expired(since + WEEK, since, WEEK, None, False)
    assert not offset_commit.offset_expired(since + WEEK, since, WEEK, None, True), "a transaction is open"
    assert offset_commit.offset_expired(2 * HOUR, since, WEEK, 2 * HOUR, False), "an old record names its own time"
    assert offset_commit.expires_in_consumer_group(False, 0) == 0, "KIP-848 counts from the commit"
    assert offset_commit.expires_in_consumer_group(True, 0) is None


@pytest.mark.parametrize(
    ("member", "instance", "generation", "expected"),
    [  # ClassicGroup.validateOffsetCommit: any of the three fields makes it a member's commit
        ("", None, -1, "NONE"),
        ("", None, 0, "UNKNOWN_MEMBER_ID"),
        ("", None, 3, "UNKNOWN_MEMBER_ID"),
        ("a", None, -1, "ILLEGAL_GENERATION"),
        ("", "instance-a", -1, "FENCED_INSTANCE_ID"),
        ("", "instance-b", -1, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_a_transactional_commit_is_checked_as_soon_as_it_names_anything_of_a_member(
    member: str, instance: str | None, generation: int, expected: str
) -> None:
    group = (GroupState.STABLE, 3, {"a"}, {"instance-a": "a"})
    assert offset_commit.commit_to_classic_group(*group, member, instance, generation, True).name == expected


def test_who_only_commits_ages_from_each_commit_even_in_a_group_that_is_empty_since_a_time() -> None:
    """ClassicGroup.offsetExpirationCondition: without a protocol type the group's time does not count."""
    assert offset_commit.expires_with_group(GroupState.EMPTY, False, False, 100, 50) == 100
