"""Facts that a verification rests on: scope, sizes, last members, what brokers are paid at most, shares of topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.certificates.certificate import (
    Bound,
    BoundKind,
    Certificate,
    LeaderProof,
    Load,
    LoadBounds,
    Quantity,
    TopicShares,
)
from kreplica.planner.reassignment.verification.arrays import PlanArrays
from kreplica.planner.reassignment.verification.bounds import _most_paid, by_shares, led, proven_by
from kreplica.planner.reassignment.verification.conditions import parts_of
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.clusters.generated import partition, snapshot_of
from tests.support.examples import examples

KEY = ("orders", 0)
BARE = Certificate(("orders",), None, False, (4,), (), (), {}, {}, (), (), ())
"""Only broker 4 receives; nothing is said of loads."""
FROM_FILE = replace(BARE, named=True)


def copy(broker: int, size: int, **more: Any) -> dict[str, Any]:
    named = {"topic": "orders", "partition": 0, "log_dir": "/d", "future": False}
    return {**named, "broker": broker, "size": size, **more}


def one(*copies: dict[str, Any], **fields: Any) -> ClusterSnapshot:
    """One partition on brokers 0, 1 and 2; broker 3 is down, broker 4 is empty."""
    brokers = [{"broker": broker, "rack": "a", "alive": broker != 3} for broker in range(5)]
    row = partition(**{"replicas": [0, 1, 2], "isr": [0, 1, 2], "leader": 1, **fields})
    return snapshot_of([row], brokers, replicas=Table.from_rows(REPLICAS, copies))


@pytest.mark.parametrize(
    ("fields", "free"),
    [
        ({"leader": 0}, True),
        ({"leader": None}, True),  # not known, so nothing says that it has none
        ({"leader": -1}, False),
        ({"leader": 3, "replicas": [3, 1, 2]}, False),
        ({"adding": [4]}, False),
        ({"removing": [2]}, False),
    ],
)
def test_partitions_are_free_to_change_where_a_live_broker_leads_and_nothing_moves(
    fields: dict[str, Any], free: bool
) -> None:
    before = fields.get("replicas", [0, 1, 2])
    found = verify(one(**fields), {KEY: (4, *before[1:])}, FROM_FILE)
    assert ("('orders', 0) is not free to change" in found) is not free


@pytest.mark.parametrize(
    ("copies", "size"),
    [
        ([copy(0, 90), copy(1, 60), copy(2, 30)], 60),  # the leader's is copied
        ([copy(0, 90), copy(2, 30)], 90),  # the leader does not tell: the largest
        ([copy(2, 30), copy(0, 90)], 90),
        ([copy(1, 60), copy(1, 70, future=True, log_dir="/e")], 60),
        ([copy(1, 60), copy(1, 700, partition=1), copy(1, 800, topic="gone")], 60),
        ([copy(1, 700, topic="gone")], 0),
        ([], 0),
    ],
)
def test_bytes_are_those_of_the_copy_that_is_read(copies: list[dict[str, Any]], size: int) -> None:
    bound = Bound(Quantity.BYTES, size, 0, BoundKind.NOTHING, 1, {})
    assert verify(one(*copies), {KEY: (4, 1, 2)}, replace(FROM_FILE, bounds=(bound,))) == []
    other = replace(bound, value=size + 1)
    assert verify(one(*copies), {KEY: (4, 1, 2)}, replace(FROM_FILE, bounds=(other,))) != []


def test_bytes_are_told_apart_by_topic_and_partition() -> None:
    keys = [(topic, number) for topic in ("invoices", "orders") for number in range(3)]
    brokers = [{"broker": broker, "rack": "a", "alive": True} for broker in range(5)]
    copies = [copy(1, 10**place, topic=topic, partition=number) for place, (topic, number) in enumerate(keys)]
    rows = [partition(*key, replicas=[0, 1, 2], isr=[0, 1, 2], leader=1) for key in keys]
    snapshot = snapshot_of(rows, brokers, replicas=Table.from_rows(REPLICAS, copies))
    both = replace(FROM_FILE, topics=("invoices", "orders"))
    for place, key in enumerate(keys):
        bound = Bound(Quantity.BYTES, 10**place, 0, BoundKind.NOTHING, 1, {})
        assert verify(snapshot, {key: (4, 1, 2)}, replace(both, bounds=(bound,))) == []


def test_a_partition_without_a_weight_weighs_nothing() -> None:
    rows = [partition(number=number, replicas=[1], isr=[1]) for number in range(3)]
    weights = LoadBounds(Load.WEIGHTS, {1: 7}, {1: 7})
    certificate = replace(FROM_FILE, loads=(weights,), weights=(("orders", 1, 7),))
    assert verify(snapshot_of(rows), {}, certificate) == []
    heavier = replace(certificate, weights=(("orders", 1, 8),))
    assert verify(snapshot_of(rows), {}, heavier) == ["broker 1 ends with 8 units of weight"]


@pytest.mark.parametrize(
    ("isr", "elr", "stays"),
    [([1], [], {1}), ([1], [2], {1}), ([0, 1], [], set()), ([], [2], {2}), ([], [1, 2], set()), ([0, 1], [2], set())],
)
def test_the_last_in_sync_has_to_stay_or_the_last_of_the_elr(isr: list[int], elr: list[int], stays: set[int]) -> None:
    snapshot = one(isr=isr, elr=elr, leader=None)
    for gone in range(3):
        target = tuple(4 if broker == gone else broker for broker in range(3))
        text = f"{KEY} gives up a replica that has to stay: {list(target)}"
        assert (text in verify(snapshot, {KEY: target}, BARE)) is (gone in stays)


def test_each_kind_proves_its_own_quantity_alone() -> None:
    """One replica has to leave broker 1 for its share; that says nothing of bytes, nor leaders of moves."""
    parts = [partition(number=number, replicas=[1], isr=[1]) for number in range(2)]
    brokers = [{"broker": broker, "rack": "a", "alive": True} for broker in (1, 2)]
    snapshot = snapshot_of(parts, brokers, replicas=Table.from_rows(REPLICAS, [copy(1, 60)]))
    aims = {"shares": TopicShares(((1, 2),), 0), "leaders": LeaderProof((), {1: 1, 2: 1}, {})}
    bare = replace(BARE, receivers=(1, 2), **aims)

    def said(quantity: Quantity, value: int, kind: BoundKind, least: int) -> list[str]:
        return verify(snapshot, {KEY: (2,)}, replace(bare, bounds=(Bound(quantity, value, least, kind, 1, {}),)))

    assert said(Quantity.MOVES, 1, BoundKind.SHARES, 1) == []
    assert said(Quantity.BYTES, 60, BoundKind.SHARES, 1) == ["bytes: shares prove 0 of 60, not 1"]
    assert said(Quantity.MOVES, 1, BoundKind.LEVELS, 1) == ["moves: levels prove 0 of 1, not 1"]
    assert said(Quantity.LEADER_SQUARES, 2, BoundKind.LEVELS, 2) == []
    assert said(Quantity.LEADER_SQUARES, 2, BoundKind.SHARES, 1) == ["leader squares: shares prove 0 of 2, not 1"]
    alone = replace(bare, leaders=None, bounds=(Bound(Quantity.LEADER_SQUARES, 2, 0, BoundKind.NOTHING, 1, {}),))
    assert verify(snapshot, {KEY: (2,)}, alone) == []
    wrong = replace(bare, shares=TopicShares(((1, 2),), 1))
    assert verify(snapshot, {KEY: (2,)}, wrong) == ["0 replicas are beyond a share, not 1"]


@pytest.mark.parametrize(("size", "price", "proven"), [(60, 60, 60), (1 << 50, 1 << 50, 1 << 50), (1 << 58, 1, 0)])
def test_sums_that_64_bits_might_not_hold_prove_nothing(size: int, price: int, proven: int) -> None:
    """Broker 1 has one replica too many: at its price one has to leave, whatever it costs."""
    rows = [partition(number=0, replicas=[1], isr=[1])]
    brokers = [{"broker": broker, "rack": "a", "alive": True} for broker in (1, 2)]
    snapshot = snapshot_of(rows, brokers, replicas=Table.from_rows(REPLICAS, [copy(1, size)]))
    bound = Bound(Quantity.BYTES, size, size, BoundKind.PRICES, 0, {1: price})
    found = verify(snapshot, {KEY: (2,)}, replace(BARE, receivers=(1, 2), upper={1: 0}, bounds=(bound,)))
    assert found == ([] if proven else [f"bytes: prices prove 0 of {size}, not {size}"])


LOADS = st.integers(0, 3)


@examples(2)
@given(st.lists(st.tuples(LOADS, LOADS, st.integers(-3, 3)), min_size=2, max_size=4), st.data())
def test_the_most_that_brokers_are_paid_is_that_of_the_dearest_loads(
    brokers: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Every load within the ranges is tried; brokers of the set hold a number together."""
    together = tuple(range(data.draw(st.integers(0, len(brokers)))))
    ranges = [range(low, low + more + 1) for low, more, _ in brokers]
    total = data.draw(st.sampled_from(sorted({sum(some) for some in product(*(ranges[one] for one in together))})))
    prices = {broker: price for broker, (_, _, price) in enumerate(brokers) if price}
    given_ = replace(
        BARE,
        lower={broker: some[0] for broker, some in enumerate(ranges) if some[0]},
        upper={broker: some[-1] for broker, some in enumerate(ranges)},
        totals=((together, total),) if together else (),
    )
    best = max(
        sum(prices.get(broker, 0) * load for broker, load in enumerate(loads))
        for loads in product(*ranges)
        if sum(loads[one] for one in together) == total or not together
    )
    assert _most_paid(given_, Bound(Quantity.MOVES, 0, 0, BoundKind.PRICES, 1, prices)) == best


def test_a_broker_that_may_hold_any_number_is_paid_nothing_or_any_amount() -> None:
    for price, paid in ((1, None), (0, 0), (-1, 0)):
        assert _most_paid(BARE, Bound(Quantity.MOVES, 0, 0, BoundKind.PRICES, 1, {1: price})) == paid


PLACES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=5)


@examples(2)
@given(PLACES, st.booleans())
def test_shares_prove_the_fewest_moves_of_single_replicas(rows: list[tuple[str, int, int]], empty: bool) -> None:
    """Partitions of one replica, and every other place of them tried; broker 3 is emptied, or shares as the others."""
    rows = [(topic, had, has % 2 + 1 if empty else has) for topic, had, has in rows]
    numbers = Counter[str]()
    keys = []
    for topic, _, _ in rows:
        keys.append((topic, numbers[topic]))
        numbers[topic] += 1
    rows_now = [
        partition(topic, number, replicas=[had], isr=[had], leader=had)
        for (topic, number), (_, had, _) in zip(keys, rows, strict=True)
    ]
    brokers = [{"broker": broker, "rack": "a", "alive": True} for broker in (1, 2, 3)]
    group = (1, 2) if empty else (1, 2, 3)
    bare = replace(BARE, topics=("a", "b"), receivers=group, emptied=(3,) if empty else ())
    targets = {key: (has,) for key, (_, _, has) in zip(keys, rows, strict=True)}
    plan = PlanArrays(snapshot_of(rows_now, brokers), targets, replace(bare, shares=TopicShares((group,), 0)))
    least, most = {}, {}
    beyond = 0
    for topic in numbers:
        has = Counter(now for name, _, now in rows if name == topic)
        low, high = numbers[topic] // len(group), -(-numbers[topic] // len(group))
        for broker in group:
            least[topic, broker], most[topic, broker] = min(low, has[broker]), max(high, has[broker])
            beyond += max(has[broker] - high, low - has[broker], 0)
    fewest = min(
        sum(now != had for now, (_, had, _) in zip(chosen, rows, strict=True))
        for chosen in product(group, repeat=len(rows))
        if _within(Counter(zip((name for name, _, _ in rows), chosen, strict=True)), least, most)
    )
    parts = parts_of(plan)
    assert by_shares(plan, parts) == (fewest, beyond)
    assert proven_by(plan, parts, Bound(Quantity.MOVES, 0, 0, BoundKind.SHARES, 1, {})) == fewest


def _within(
    held: Counter[tuple[str, int]], least: dict[tuple[str, int], int], most: dict[tuple[str, int], int]
) -> bool:
    return all(least[place] <= held[place] <= most[place] for place in least)


SMALL = st.integers(-2, 2)


@examples(4)
@given(
    st.lists(st.permutations([1, 2, 3]), min_size=1, max_size=4),
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
    st.lists(SMALL, min_size=3, max_size=3),
)
def test_no_levels_and_prices_prove_more_than_the_best_leaders(
    rows: list[list[int]], levels: list[int], prices: list[int]
) -> None:
    """Every choice of preferred leaders is tried: fewest squares, then fewest changes."""
    parts = [partition(number=number, replicas=row, isr=row, leader=row[0]) for number, row in enumerate(rows)]
    brokers = [{"broker": broker, "rack": "a", "alive": True} for broker in (1, 2, 3)]
    found = [
        (sum(one * one for one in Counter(led_by).values()), sum(map(int.__ne__, led_by, (row[0] for row in rows))))
        for led_by in product((1, 2, 3), repeat=len(rows))
    ]
    squares, changes = min(found)
    best = next(
        led_by for led_by, one in zip(product((1, 2, 3), repeat=len(rows)), found, strict=True) if one == min(found)
    )
    targets = {("orders", at): (now, *(one for one in rows[at] if one != now)) for at, now in enumerate(best)}
    plan = PlanArrays(snapshot_of(parts, brokers), targets, BARE)
    proof = LeaderProof((), dict(enumerate(levels, start=1)), dict(enumerate(prices, start=1)))
    proven = led(plan, proof)
    assert proven[Quantity.LEADER_SQUARES][0] == squares >= proven[Quantity.LEADER_SQUARES][1]
    assert proven[Quantity.LEADER_CHANGES][0] == changes >= proven[Quantity.LEADER_CHANGES][1]
