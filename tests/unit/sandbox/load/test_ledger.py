"""The books of a load against a plain recount."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from kreplica.sandbox.load.ledger import Ledger, Reading, account, quantiles

FATES = st.lists(st.sampled_from(["acknowledged", "refused", "pending"]), max_size=40)


def books(fates: list[str], partitions: int) -> Ledger:
    ledger = Ledger(run=b"12345678", partitions=partitions)
    for fate in fates:
        number = ledger.add()
        if fate == "acknowledged":
            ledger.acknowledge(number, 1.0)
        elif fate == "refused":
            ledger.refuse(number, "_MSG_TIMED_OUT")
    return ledger


@given(FATES, st.integers(1, 4), st.lists(st.integers(0, 39), max_size=80), st.booleans())
def test_every_record_is_counted_as_a_recount_by_sets_counts_it(
    fates: list[str], partitions: int, read: list[int], readable: bool
) -> None:
    read = [number for number in read if number < len(fates)]
    reading = Reading()
    for number in read:
        reading.enter(number % partitions, number)
    ledger = books(fates, partitions)
    assert (ledger.acknowledged(), reading.count()) == (fates.count("acknowledged"), len(set(read)))
    found = account(ledger, reading, dict.fromkeys(range(partitions), readable))
    for each in found:
        numbers = [number for number in range(len(fates)) if number % partitions == each.partition]
        order = [number for number in read if number % partitions == each.partition]
        acknowledged = {number for number in numbers if fates[number] == "acknowledged"}
        missing = len(acknowledged - set(order))
        assert each.sent == len(numbers)
        assert each.acknowledged == len(acknowledged)
        assert each.refused == sum(fates[number] == "refused" for number in numbers)
        assert each.read_back == len(set(order))
        assert (each.lost, each.unread) == ((missing, 0) if readable else (0, missing))
        assert each.duplicated == len({number for number in order if order.count(number) > 1})
        first_reads = list(dict.fromkeys(order))
        late = [n for at, n in enumerate(first_reads) if any(before > n for before in first_reads[:at])]
        assert each.out_of_order == len(late)


def test_without_reading_back_losses_are_unknown_and_not_nought() -> None:
    found = account(books(["acknowledged", "refused"], 1), None, {})[0]
    assert (found.sent, found.acknowledged, found.refused) == (2, 1, 1)
    assert found.lost is found.unread is found.read_back is found.duplicated is found.out_of_order is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_quantiles_are_the_nearest_ranks(values: list[float]) -> None:
    found = quantiles(values)
    for name, share in (("p50", 50), ("p90", 90), ("p99", 99)):
        within = sorted(values)
        smallest = next(v for at, v in enumerate(within, 1) if at * 100 >= share * len(within))
        assert found[name] == round(smallest, 3)
    assert found["max"] == round(max(values), 3)
    if len(values) % 2:
        assert found["p50"] == round(statistics.median(values), 3)


def test_no_values_have_no_quantiles() -> None:
    assert set(quantiles([]).values()) == {None}


def test_errors_are_counted_by_name() -> None:
    ledger = books(["refused", "refused", "acknowledged"], 2)
    assert ledger.errors == {"_MSG_TIMED_OUT": 2}
