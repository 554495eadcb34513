"""Numbers of partitions that an internal topic can have, by the names in them; against trying every number."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.formats.logs.internal_topic import doubt_of_count

TOPIC = "__consumer_offsets"


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5), st.integers(1, 200), st.integers(1, 200))
def test_a_number_is_doubted_where_a_name_would_live_elsewhere(names: Sequence[str], true: int, said: int) -> None:
    homes = {(name, coordinator_partition(name, true)) for name in names}
    found = {at for _, at in homes}
    doubt = doubt_of_count(homes, found, said, TOPIC)
    fits = [
        number
        for number in range(1, 201)
        if max(found) < number and all(coordinator_partition(name, number) == at for name, at in homes)
    ]
    assert (doubt == "") == (said in fits)
    assert true in fits
    if doubt:
        assert doubt.endswith(f"give the number by --partitions; {fits[0]} would fit")


@pytest.mark.parametrize(
    ("homes", "found", "said"),
    [
        ([], [], ""),
        ([], [49], ""),
        ([], [50, 3], "partition 50 of __consumer_offsets is there, so that it has more than 50: give the number by "),
        ([("my-group", 12)], [12], ""),
        ([("console-consumer-49366", 20)], [20], "console-consumer-49366 stands in partition 20 of "),
    ],
)
def test_what_is_said(homes: list[tuple[str, int]], found: list[int], said: str) -> None:
    assert doubt_of_count(homes, found, 50, TOPIC).startswith(said)
    assert bool(doubt_of_count(homes, found, 50, TOPIC)) == bool(said)
