"""Throttle lists and rates are read as Kafka's brokers read them (TopicConfigHandler.parseThrottledPartitions)."""

from __future__ import annotations

import pytest

from kreplica.model.throttles import parse_throttle_list, parse_throttle_rate


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0:101,0:102,1:101,1:102", [(0, 102), (1, 101)], [(0, 103), (2, 101)]),
        (" 0:1 , 1:2 ", [(0, 1), (1, 2)], [(0, 2), (1, 1)]),
        ("*", [(0, 1), (77, 9)], []),
        (" * ", [(0, 1)], []),
        ("", [], [(0, 0), (0, 1)]),
        (None, [], [(0, 0)]),
        ("0:1,nonsense,2:x,:,3", [(0, 1)], [(2, 0), (3, 0)]),
    ],
)
def test_lists(text: str | None, inside: list[tuple[int, int]], outside: list[tuple[int, int]]) -> None:
    found = parse_throttle_list(text)
    assert bool(found) is bool(inside)
    assert all(replica in found for replica in inside)
    assert not any(replica in found for replica in outside)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1000", 1000), (" 5 ", 5), ("0", 0), (None, None), ("", None), ("9223372036854775807", None), ("-1", None)],
)
def test_rates(text: str | None, rate: int | None) -> None:
    assert parse_throttle_rate(text) == rate
