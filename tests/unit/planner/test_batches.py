"""Batches that no single broker has to bear."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.preferred_leaders import batches, spread

BURDENS = st.lists(st.integers(0, 5), max_size=60)


@given(BURDENS, st.integers(1, 20))
def test_each_batch_burdens_a_broker_by_about_its_share(brokers: list[int], size: int) -> None:
    items = list(enumerate(brokers))
    ordered = spread(items, lambda item: item[1])
    counts = Counter(brokers)
    for batch in batches(ordered, size):
        for broker, found in Counter(broker for _, broker in batch).items():
            share = counts[broker] * len(batch) / len(brokers)
            assert abs(found - share) <= len(counts)


@given(BURDENS)
def test_nothing_is_lost_and_a_brokers_items_keep_their_order(brokers: list[int]) -> None:
    items = list(enumerate(brokers))
    ordered = spread(items, lambda item: item[1])
    assert sorted(ordered) == items
    for broker in set(brokers):
        of_broker = [item for item in ordered if item[1] == broker]
        assert of_broker == sorted(of_broker)


def test_two_brokers_take_turns() -> None:
    assert spread("aaabbb", ord) == tuple("ababab")
    assert spread("aaaabb", ord) == tuple("abaaba")


@given(st.lists(st.integers()), st.integers(1, 7))
def test_batches_are_full_but_for_the_last(items: list[int], size: int) -> None:
    cut = batches(items, size)
    assert [item for batch in cut for item in batch] == items
    assert all(len(batch) == size for batch in cut[:-1])
    assert all(0 < len(batch) <= size for batch in cut)
