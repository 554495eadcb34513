"""A thing has come about in a sandbox when the view of every broker shows it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kreplica.sandbox import admin
from kreplica.sandbox.admin import WaitedInVainError
from kreplica.sandbox.cluster import count_alive, in_sync_replicas, leaders_of, show_health, show_isr, show_partitions


def view(*partitions: tuple[int, list[int], list[int]], alive: tuple[int, ...] = (1, 2, 3)) -> Any:
    """What one broker tells of topic t: leader, replicas and ISR by partition."""
    found = {number: SimpleNamespace(leader=p[0], replicas=p[1], isrs=p[2]) for number, p in enumerate(partitions)}
    return SimpleNamespace(brokers=dict.fromkeys(alive), topics={"t": SimpleNamespace(partitions=found)})


WHOLE, SHRUNK = view((1, [1, 2, 3], [3, 2, 1])), view((1, [1, 2, 3], [1, 2]))


@pytest.mark.parametrize("behind", [SHRUNK, None], ids=["one that has not heard of it", "one that does not answer"])
def test_one_broker_of_another_view_is_enough_to_wait_on(behind: Any) -> None:
    for views, shown in (((WHOLE, WHOLE), True), ((WHOLE, behind), False), ((behind, WHOLE), False)):
        assert show_isr(views, "t", 0, {1, 2, 3}) is shown
        assert show_health(views) is shown
    assert show_isr((SHRUNK, SHRUNK), "t", 0, {2, 1})


def test_brokers_are_alive_and_gone_to_all_or_not() -> None:
    two, three = view(alive=(1, 2)), view(alive=(1, 2, 3))
    assert count_alive((two, two), {1, 2}, {3})
    assert not count_alive((two, three), {1, 2}, {3})
    assert not count_alive((three, two), {1, 2, 3}, set())
    assert not count_alive((two, None), {1}, set())
    assert count_alive((), set(), {1}), "where none runs, all are gone"


def test_a_topic_is_known_with_its_partitions_or_not_at_all() -> None:
    assert show_partitions((WHOLE, WHOLE), "t", 1)
    assert not show_partitions((WHOLE, WHOLE), "t", 2)
    assert not show_partitions((WHOLE,), "t", 0)
    assert show_partitions((WHOLE,), "deleted", 0)
    assert not show_partitions((WHOLE, None), "deleted", 0)


def test_nothing_is_healthy_or_in_sync_where_nobody_tells() -> None:
    assert not show_health(())
    assert not show_isr((), "t", 0, set())
    assert not show_health((view((-1, [1], [1])),)), "no leader"


def test_no_broker_is_asked_behind_one_that_tells_otherwise() -> None:
    asked = []

    def each(*views: Any) -> Iterator[Any]:
        for one in views:
            asked.append(one)
            yield one

    assert not show_isr(each(SHRUNK, WHOLE, WHOLE), "t", 0, {1, 2, 3})
    assert not show_health(each(SHRUNK, WHOLE, WHOLE))
    assert not count_alive(each(None, WHOLE, WHOLE), {1}, set())
    assert not show_partitions(each(SHRUNK, WHOLE, WHOLE), "t", 0)
    assert asked == [SHRUNK, SHRUNK, None, SHRUNK]


def test_the_longer_something_is_waited_for_the_less_often_brokers_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(admin, "time", SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append))
    with pytest.raises(WaitedInVainError):
        admin.wait_until(lambda: False, 6.0, "what does not come")
    assert (pauses[0], max(pauses), pauses) == (0.1, 0.3, sorted(pauses))
    assert len(pauses) < 25
    assert sum(pauses) < 6.3 + 0.01


def test_what_is_not_known_has_neither_isr_nor_leader() -> None:
    assert in_sync_replicas(WHOLE, "t", 0) == [3, 2, 1]
    assert in_sync_replicas(WHOLE, "t", 1) == in_sync_replicas(WHOLE, "u", 0) == in_sync_replicas(None, "t", 0) == []
    assert leaders_of(view((2, [2], [2]), (-1, [3], [])), "t") == {0: 2, 1: -1}
    assert leaders_of(WHOLE, "u") == {}
