"""Assignors against the examples of Kafka's documentation and tests, and what each promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.groups.assignors import (
    Assignment,
    cooperative_adjustment,
    even_assignment,
    member_order,
    range_assignor,
    round_robin_assignor,
    sticky_assignor,
    uniform_assignor,
)

Held = dict[str, list[tuple[str, int]]]


def held(text: str) -> tuple[tuple[str, int], ...]:
    """``t0p0 t1p1`` as pairs."""
    return tuple((one[: one.rindex("p")], int(one[one.rindex("p") + 1 :])) for one in text.split())


TWO_TOPICS = {"C0": ["t0", "t1"], "C1": ["t0", "t1"]}


def test_examples_of_the_range_assignors_documentation() -> None:
    assert range_assignor(TWO_TOPICS, {"t0": 3, "t1": 3}) == {
        "C0": held("t0p0 t0p1 t1p0 t1p1"),
        "C1": held("t0p2 t1p2"),
    }
    # after a rolling bounce the ids are others, the instances are not
    bounced = {"C3": ["t0", "t1"], "C2": ["t0", "t1"]}
    shuffled = range_assignor(bounced, {"t0": 3, "t1": 3})
    assert shuffled["C2"] == held("t0p0 t0p1 t1p0 t1p1")
    assert range_assignor(bounced, {"t0": 3, "t1": 3}, {"C3": "I0", "C2": "I1"}) == {
        "C3": held("t0p0 t0p1 t1p0 t1p1"),
        "C2": held("t0p2 t1p2"),
    }


def test_examples_of_the_round_robin_assignors_documentation() -> None:
    assert round_robin_assignor(TWO_TOPICS, {"t0": 3, "t1": 3}) == {
        "C0": held("t0p0 t0p2 t1p1"),
        "C1": held("t0p1 t1p0 t1p2"),
    }
    uneven = {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}
    assert round_robin_assignor(uneven, {"t0": 1, "t1": 2, "t2": 3}) == {
        "C0": held("t0p0"),
        "C1": held("t1p0"),
        "C2": held("t1p1 t2p0 t2p1 t2p2"),
    }


def test_first_example_of_the_sticky_assignors_documentation() -> None:
    topics = {f"t{number}": 2 for number in range(4)}
    fresh = sticky_assignor({"C0": (), "C1": (), "C2": ()}, topics)
    assert fresh == {"C0": held("t0p0 t1p1 t3p0"), "C1": held("t0p1 t2p0 t3p1"), "C2": held("t1p0 t2p1")}
    after = sticky_assignor({"C0": fresh["C0"], "C2": fresh["C2"]}, topics)
    # the page gives t2p0 to C0 and t0p1 to C2: so did the algorithm of before 2.6; both keep everything, and are even
    assert all(set(fresh[member]) < set(has) and len(has) == 4 for member, has in after.items())


@pytest.mark.parametrize(
    ("owned", "partitions", "expected"),
    [
        # AbstractStickyAssignorTest: testConsumerOwningMinQuotaExpectedMaxQuota, testMaxQuotaConsumerMoreThan…,
        # testAllConsumersAreUnderMinQuota, testAddRemoveTwoConsumersTwoTopics (two added, two removed)
        (
            {"c1": "t1p0 t2p1", "c2": "t1p1 t2p2"},
            {"t1": 2, "t2": 3},
            {"c1": "t1p0 t2p1 t2p0", "c2": "t1p1 t2p2"},
        ),
        (
            {"c2": "t1p1 t2p1", "c1": "t1p0 t2p0", "c3": ""},
            {"t1": 2, "t2": 2},
            {"c1": "t1p0", "c2": "t1p1 t2p1", "c3": "t2p0"},
        ),
        (
            {"c1": "t1p0", "c2": "t1p1", "c3": ""},
            {"t1": 2, "t2": 3},
            {"c1": "t1p0 t2p1", "c2": "t1p1 t2p2", "c3": "t2p0"},
        ),
        (
            {"c1": "t1p0 t1p2 t2p1 t2p3", "c2": "t1p1 t2p0 t2p2", "c3": "", "c4": ""},
            {"t1": 3, "t2": 4},
            {"c1": "t1p0 t2p1", "c2": "t2p0 t1p1", "c3": "t1p2 t2p3", "c4": "t2p2"},
        ),
        (
            {"c3": "t1p2 t2p3", "c4": "t2p2"},
            {"t1": 3, "t2": 4},
            {"c3": "t1p2 t2p3 t1p0 t2p1", "c4": "t2p2 t1p1 t2p0"},
        ),
    ],
)
def test_cases_of_kafkas_sticky_tests(
    owned: dict[str, str], partitions: dict[str, int], expected: dict[str, str]
) -> None:
    answer = sticky_assignor({member: held(text) for member, text in owned.items()}, partitions)
    assert answer == {member: held(text) for member, text in expected.items()}


@pytest.mark.parametrize("consumers", range(1, 9))
def test_seven_partitions_with_one_to_eight_consumers(consumers: int) -> None:
    """Everybody gets the seventh part or one more; the eighth consumer has nothing to do."""
    names = [f"C{number}" for number in range(consumers)]
    subscriptions = dict.fromkeys(names, ("topic",))
    answers = (
        range_assignor(subscriptions, {"topic": 7}),
        round_robin_assignor(subscriptions, {"topic": 7}),
        sticky_assignor(dict.fromkeys(names, ()), {"topic": 7}),
        uniform_assignor(dict.fromkeys(names, ()), {"topic": 7}, more_stays=False),
    )
    for answer in answers:
        assert sorted(one for has in answer.values() for one in has) == [("topic", number) for number in range(7)]
        sizes = [len(answer[name]) for name in names]
        assert sizes == sorted((7 // consumers + (place < 7 % consumers) for place in range(consumers)), reverse=True)
    assert (answers[0].get("C7") == ()) is (consumers == 8)
    last = uniform_assignor(dict.fromkeys(names, ()), {"topic": 7})
    assert sorted(map(len, last.values())) == [len(last[name]) for name in names], "one more is left for the last ones"


@st.composite
def owners(draw: st.DrawFn) -> tuple[Held, dict[str, int]]:
    """Who owns what before a rebalance, topics that grew, shrank or went among it."""
    partitions = draw(st.dictionaries(st.sampled_from(["t0", "t1", "t2"]), st.integers(1, 5), min_size=1))
    members = draw(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1))
    owned: Held = {member: [] for member in members}
    for topic in ("t0", "t1", "t2"):
        for number in range(6):
            owner = draw(st.none() | st.sampled_from(members))
            if owner is not None:
                owned[owner].append((topic, number))
    return owned, partitions


def best_kept(owned: Held, partitions: dict[str, int]) -> int:
    """The most partitions that can stay where they are if sizes differ by at most one."""
    alive = [sum(number < partitions.get(topic, 0) for topic, number in has) for has in owned.values()]
    share, more = divmod(sum(partitions.values()), len(owned))
    larger = min(more, sum(count > share for count in alive))
    return sum(min(count, share) for count in alive) + larger


@given(owners())
def test_sticky_is_even_and_moves_no_more_than_it_must(case: tuple[Held, dict[str, int]]) -> None:
    owned, partitions = case
    answer = sticky_assignor(owned, partitions)
    every = sorted((topic, number) for topic, count in partitions.items() for number in range(count))
    assert sorted(one for has in answer.values() for one in has) == every
    sizes = [len(has) for has in answer.values()]
    assert max(sizes) - min(sizes) <= 1
    assert sum(len(set(has) & set(owned[member])) for member, has in answer.items()) == best_kept(owned, partitions)


@given(owners())
def test_cooperative_takes_two_rounds_and_nobody_shares(case: tuple[Held, dict[str, int]]) -> None:
    owned, partitions = case
    wanted = sticky_assignor(owned, partitions)
    first = cooperative_adjustment(owned, wanted)
    now = {member: set(has) for member, has in owned.items()}
    for member, has in first.items():
        gained = set(has) - now[member]
        assert not gained & set().union(*(others for other, others in now.items() if other != member))
    second = cooperative_adjustment(first, sticky_assignor(first, partitions))
    assert {one for has in second.values() for one in has} == {one for has in wanted.values() for one in has}


@given(owners(), st.booleans())
def test_uniform_is_even_and_keeps_what_it_can(case: tuple[Held, dict[str, int]], more_stays: bool) -> None:
    owned, partitions = case
    answer = uniform_assignor(owned, partitions, more_stays)
    sizes = [len(has) for has in answer.values()]
    assert max(sizes) - min(sizes) <= 1
    every = sorted((topic, number) for topic, count in partitions.items() for number in range(count))
    assert sorted(one for has in answer.values() for one in has) == every
    assert uniform_assignor(answer, partitions, more_stays) == answer, "nothing moves where nothing has changed"
    if more_stays:
        stayed = sum(len(set(has) & set(owned[member])) for member, has in answer.items())
        assert stayed == best_kept(owned, partitions)
    else:
        assert sizes == sorted(sizes, reverse=True), "the first ones have more"


def test_static_members_come_first() -> None:
    """AbstractPartitionAssignorTest: testSortedMembers."""
    assert member_order(["c", "a", "b"], {"c": "i2", "b": "i1"}) == ["b", "c", "a"]


@given(owners(), st.data())
def test_topics_that_not_everybody_reads_are_even_by_themselves(
    case: tuple[Held, dict[str, int]], data: st.DataObject
) -> None:
    owned, partitions = case
    topics = sorted(partitions)
    subscriptions = {one: data.draw(st.lists(st.sampled_from(topics), unique=True)) for one in owned}
    for assign in (sticky_assignor, uniform_assignor):
        answer = even_assignment(assign, owned, subscriptions, partitions)
        for topic in topics:
            readers = [member for member in owned if topic in subscriptions[member]]
            shares = [sum(one[0] == topic for one in answer[member]) for member in readers]
            assert sum(shares) == (partitions[topic] if readers else 0)
            if len({frozenset(has) for has in subscriptions.values()}) > 1 and readers:
                assert max(shares) - min(shares) <= 1
        assert all(one[0] in subscriptions[member] for member, has in answer.items() for one in has)


@given(owners(), st.data())
def test_who_reads_the_same_topics_is_even_over_all_of_them(
    case: tuple[Held, dict[str, int]], data: st.DataObject
) -> None:
    """AbstractStickyAssignor, UniformHomogeneousAssignmentBuilder: shares differ by one partition at most."""
    owned, partitions = case
    topics = data.draw(st.lists(st.sampled_from(sorted(partitions)), unique=True))
    for assign in (sticky_assignor, uniform_assignor):
        answer = even_assignment(assign, owned, dict.fromkeys(owned, topics), partitions)
        sizes = [len(has) for has in answer.values()]
        assert sum(sizes) == sum(partitions[topic] for topic in topics)
        assert max(sizes) - min(sizes) <= 1


def test_who_has_too_much_keeps_low_numbers_and_of_equal_ones_the_first_topic() -> None:
    """ConstrainedAssignmentBuilder.assignOwnedPartitions sorts them by partition, then by topic."""
    owned = {"a": [("u", 1), ("u", 0), ("t", 0)], "b": []}
    assert sticky_assignor(owned, {"t": 1, "u": 2}) == {"a": (("t", 0), ("u", 0)), "b": (("u", 1),)}
    assert sticky_assignor(owned, {"t": 1, "u": 1}) == {"a": (("t", 0),), "b": (("u", 0),)}


@pytest.mark.parametrize("assign", [sticky_assignor, uniform_assignor])
def test_who_reads_other_topics_keeps_what_it_has_of_each(assign: Callable[..., Assignment]) -> None:
    """GeneralAssignmentBuilder and UniformHeterogeneousAssignmentBuilder begin with what is assigned already."""
    owned = {"a": held("tp1 up1"), "b": held("tp0"), "c": held("up0")}
    subscriptions = {"a": ("t", "u"), "b": ("t",), "c": ("u",)}
    answer = even_assignment(assign, owned, subscriptions, {"t": 2, "u": 2})
    assert {member: set(has) for member, has in answer.items()} == {member: set(has) for member, has in owned.items()}
