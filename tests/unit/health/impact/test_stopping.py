"""Reasons against stopping a broker: effects, those that are there already or accepted, the quorum, the unknown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.health.impact.stop import Accepted, StopJudgement, judge_stop
from kreplica.health.impact.vocabulary import Impact
from kreplica.health.quorum import SILENT_MS, quorum_without
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table

BROKERS = [{"broker": broker, "alive": True, "rack": "ab"[broker % 2]} for broker in (1, 2, 3)]
UP = [{**broker} for broker in BROKERS]
DOWN_3 = [*BROKERS[:2], {"broker": 3, "alive": False}]


def cluster(*rows: dict[str, Any], brokers: list[dict[str, Any]] = UP, **facts: Any) -> ClusterSnapshot:
    return snapshot_of([row | {"partition": number} for number, row in enumerate(rows)], brokers, **facts)


def in_zookeeper(*rows: dict[str, Any], brokers: list[dict[str, Any]] = UP) -> ClusterSnapshot:
    return cluster(*rows, brokers=brokers, source="zookeeper")


def found(judgement: StopJudgement) -> list[tuple[int | None, str, bool]]:
    return [(item.partition, item.effect.value, item.already) for item in judgement.impacts]


CASES = {
    "room": (partition(), UP, [1], []),
    "not concerned": (partition(replicas=[2, 3], isr=[2], leader=2), UP, [1], []),
    "no room": (partition(min_isr=3), UP, [1], [("under_min_isr", False)]),
    "min ISR above the replica count": (partition(replicas=[1, 2], isr=[1, 2], min_isr=3), UP, [1],
        [("under_min_isr", False)]),
    "one replica": (partition(replicas=[1], isr=[1], min_isr=1), UP, [1],
        [("unavailable", False), ("last_in_sync", False)]),
    "another is down": (partition(isr=[1, 2]), DOWN_3, [1], [("under_min_isr", False)]),
    "the last in sync": (partition(isr=[1], min_isr=1), DOWN_3, [1], [("unavailable", False), ("last_in_sync", False)]),
    "the last in sync, unclean": (partition(isr=[1], min_isr=1, unclean_leader_election=True), DOWN_3, [1],
        [("last_in_sync", False)]),
    "under min ISR already, waits for this one": (partition(isr=[2], leader=2), UP, [1], [("under_min_isr", True)]),
    "under min ISR already, made worse": (partition(isr=[1, 2], min_isr=3), DOWN_3, [1], [("under_min_isr", True)]),
    "no leader already": (partition(isr=[3], leader=-1), DOWN_3, [1], [("unavailable", True), ("last_in_sync", True)]),
    "two at once": (partition(min_isr=1), UP, [1, 2], []),
    "two at once, one too many": (partition(), UP, [1, 2], [("under_min_isr", False)]),
    "down already": (partition(isr=[1, 2]), DOWN_3, [3], []),
    "the metadata still has the dead one in the ISR": (partition(), DOWN_3, [1], [("under_min_isr", False)]),
    "its log directory is offline": (partition(isr=[1, 2], offline_replicas=[2], min_isr=1), UP, [1],
        [("unavailable", False), ("last_in_sync", False)]),
    "not under min ISR to the brokers": (partition(replicas=[1, 2], isr=[1, 2], min_isr=1), UP, [1], []),
}  # fmt: skip


@pytest.mark.parametrize(("row", "brokers", "stopping", "expected"), CASES.values(), ids=CASES)
def test_effects(row: dict[str, Any], brokers: Any, stopping: list[int], expected: list[tuple[str, bool]]) -> None:
    judgement = judge_stop(in_zookeeper(row, brokers=brokers), stopping, Accepted())
    assert found(judgement) == [(0, *effect) for effect in expected]
    assert judgement.unknown == ()
    assert judgement.against == judgement.impacts


def test_a_live_member_of_the_elr_takes_over() -> None:
    row = partition(isr=[1], elr=[2], min_isr=2)
    judgement = judge_stop(with_quorum(cluster(row)), [1], Accepted())
    assert found(judgement) == [(0, "under_min_isr", True)]
    assert (judgement.impacts[0].leader_after, judgement.impacts[0].isr_after) == (2, [2])


def test_leaders_before_and_after() -> None:
    """A partition that nobody leads has none: -1 is Kafka's word for that."""
    rows = [partition(min_isr=3), partition(replicas=[1], isr=[1]), partition(isr=[3], leader=-1)]
    judgement = judge_stop(in_zookeeper(*rows, brokers=DOWN_3), [1], Accepted())
    leaders = {item.partition: (item.leader, item.leader_after) for item in judgement.impacts}
    assert leaders == {0: (1, 2), 1: (1, None), 2: (None, None)}


def test_what_is_accepted() -> None:
    rows = [partition("one", replicas=[1], isr=[1]), partition("strict", min_isr=3), partition("orders", min_isr=3)]
    judgement = judge_stop(in_zookeeper(*rows), [1], Accepted(rf_one=True, topics=re.compile("str.*")))
    assert [item.accepted for item in judgement.impacts] == ["rf-one", "rf-one", None, "topic"]
    assert [item.topic for item in judgement.against] == ["orders"]


@pytest.mark.parametrize(
    ("row", "brokers", "stopping", "reason", "waiting_helps"),
    [
        (partition(isr=[1, 2]), DOWN_3, [1], "out of sync already: broker 3", True),
        (partition(isr=[1]), UP, [1], "out of sync already: brokers 2, 3", True),
        (partition(replicas=[1], isr=[1]), UP, [1], "one replica only", False),
        (partition(replicas=[1, 2], isr=[1, 2]), UP, [1, 2], "every replica is on these brokers", False),
        (partition(min_isr=3), UP, [1], "min.insync.replicas 3 of 3 replicas leaves no room", False),
        (partition(isr=[1, 2]), DOWN_3, [1, 2], "out of sync already: broker 3", False),
    ],
)
def test_reasons(row: dict[str, Any], brokers: Any, stopping: list[int], reason: str, waiting_helps: bool) -> None:
    first = judge_stop(in_zookeeper(row, brokers=brokers), stopping, Accepted()).impacts[0]
    assert (first.reason, first.waiting_helps) == (reason, waiting_helps)


def test_the_margin_that_is_left() -> None:
    rows = [partition(), partition(min_isr=1), partition(isr=[1, 2])]
    judgement = judge_stop(in_zookeeper(*rows), [3], Accepted())
    assert (found(judgement), judgement.at_min_isr) == ([], 1)


def test_what_is_not_known_is_never_safe() -> None:
    unknown = judge_stop(in_zookeeper(partition(min_isr=None)), [1], Accepted()).unknown
    assert unknown == ("min.insync.replicas or the leader of 1 partition on these brokers is not known",)
    accepted = Accepted(topics=re.compile("orders"))
    assert judge_stop(in_zookeeper(partition(min_isr=None)), [1], accepted).unknown == ()
    no_states = [{"broker": broker} for broker in (1, 2, 3)]
    assert judge_stop(in_zookeeper(partition(), brokers=no_states), [1], Accepted()).unknown == (
        "whether the next leaders of 1 partition are alive is not known",
    )
    (quorum,) = judge_stop(cluster(partition()), [1], Accepted()).unknown
    assert quorum.startswith("the controller quorum is not known")


NOW = 1_800_000_000_000


def with_quorum(snapshot: ClusterSnapshot, *silent: int | None, voters: int = 3) -> ClusterSnapshot:
    """Voters 1 to N, 1 leading; ``silent`` is how many ms ago 2, 3, ... fetched, None for never."""
    ago = [0, *silent, *[300] * (voters - 1 - len(silent))]
    rows = [
        {"node": node, "voter": True, "leader": node == 1, "last_fetch_ms": None if ms is None else NOW - ms}
        for node, ms in enumerate(ago, start=1)
    ]
    rows.append({"node": 9, "voter": False, "leader": False, "last_fetch_ms": NOW - 10**6})
    return replace(snapshot, quorum=Table.from_rows(QUORUM, rows))


def test_a_voter_is_down_after_five_seconds_without_a_fetch() -> None:
    """docs/stopping.md; by default it fetches within half a second, and calls an election itself after 2 s."""
    for ago, down in ((2000, ()), (5000, ()), (5001, (2,)), (9000, (2,))):
        quorum = quorum_without(with_quorum(cluster(), ago), [])
        assert quorum is not None
        assert quorum.down == down, ago


@pytest.mark.parametrize(
    ("silent", "voters", "stopping", "down", "lost"),
    [
        ([], 3, [1], (), False),
        ([], 3, [1, 2], (), True),
        ([SILENT_MS + 1], 3, [1], (2,), True),
        ([SILENT_MS], 3, [1], (), False),
        ([None], 3, [3], (2,), True),
        ([SILENT_MS + 1], 3, [2], (2,), False),
        ([], 1, [1], (), True),
        ([], 5, [1, 2], (), False),
        ([], 4, [1, 2], (), True),
        ([], 3, [9], (), False),
    ],
)
def test_the_quorum(silent: list[int | None], voters: int, stopping: list[int], down: Any, lost: bool) -> None:
    quorum = quorum_without(with_quorum(cluster(), *silent, voters=voters), stopping)
    assert quorum is not None
    assert (quorum.down, quorum.lost) == (down, lost)


def test_the_quorum_counts_controllers_that_are_no_brokers() -> None:
    snapshot = with_quorum(snapshot_of([], [{"broker": 7, "alive": True}]), SILENT_MS + 1)
    judgement = judge_stop(snapshot, [3], Accepted(rf_one=True, topics=re.compile(".*")))
    (lost,) = judgement.against
    assert (lost.topic, lost.effect, lost.already, lost.waiting_helps) == (None, Impact.QUORUM_LOST, False, True)
    assert judgement.brokers == (3,)
    assert judge_stop(snapshot, [7], Accepted()).against == ()


def test_a_quorum_that_tells_no_times_is_not_known() -> None:
    silent = with_quorum(cluster(partition()))
    timeless = [row | {"last_fetch_ms": None} for row in silent.quorum.rows()]
    judgement = judge_stop(replace(silent, quorum=Table.from_rows(QUORUM, timeless)), [1], Accepted())
    assert (judgement.quorum, len(judgement.unknown)) == (None, 1)


def test_a_quorum_that_is_lost_already_stands_against_any_stop() -> None:
    """A majority of three voters is two: with one up nobody is elected in place of broker 7, which is no voter."""
    brokers = [{"broker": node, "alive": True} for node in (7, 8)]
    rows = [partition("orders", 0, replicas=[7, 8], isr=[7, 8], leader=7, min_isr=1)]
    silent = with_quorum(snapshot_of(rows, brokers), SILENT_MS + 1, SILENT_MS + 1)
    (lost,) = judge_stop(silent, [7], Accepted()).against
    assert (lost.effect, lost.already) == (Impact.QUORUM_LOST, True)
    assert lost.reason == "1 of 3 voters would be up, 2 are needed"
    just = with_quorum(snapshot_of(rows, brokers), SILENT_MS + 1)
    assert judge_stop(just, [7], Accepted()).against == ()
    (lost,) = judge_stop(just, [1], Accepted()).against
    assert (lost.effect, lost.already) == (Impact.QUORUM_LOST, False)


@pytest.mark.parametrize(
    ("silent", "voters", "stopping", "waiting_helps"),
    [
        ([], 3, [1, 2], False),
        ([SILENT_MS + 1], 3, [3], True),
        ([SILENT_MS + 1], 5, [3, 4], True),
        ([SILENT_MS + 1], 5, [3, 4, 5], False),
        ([SILENT_MS + 1], 4, [3], True),
        ([SILENT_MS + 1], 4, [3, 4], False),
        ([], 1, [1], False),
    ],
)
def test_waiting_makes_room_where_the_others_are_a_majority(
    silent: list[int | None], voters: int, stopping: list[int], waiting_helps: bool
) -> None:
    (lost,) = judge_stop(with_quorum(cluster(), *silent, voters=voters), stopping, Accepted()).against
    assert (lost.effect, lost.waiting_helps) == (Impact.QUORUM_LOST, waiting_helps)


def test_a_broker_that_is_a_controller_too_is_down_where_the_broker_is() -> None:
    """Its partitions have gone elsewhere; only a controller that is no broker is not told among the live brokers."""
    snapshot = with_quorum(cluster(partition(isr=[1, 2]), brokers=DOWN_3), 300, SILENT_MS + 1)
    judgement = judge_stop(snapshot, [3], Accepted())
    assert (judgement.brokers, judgement.down, judgement.partitions) == ((), (3,), 0)
    alone = with_quorum(snapshot_of([], [{"broker": 7, "alive": True}]), 300, SILENT_MS + 1)
    judgement = judge_stop(alone, [3], Accepted())
    assert (judgement.brokers, judgement.down) == ((3,), ())
    assert judge_stop(cluster(partition(isr=[1, 2]), brokers=DOWN_3), [3], Accepted()).down == (3,)


@pytest.mark.parametrize(
    ("row", "brokers", "reason"),
    [
        (partition(replicas=[1, 2], isr=[1, 2], min_isr=3), UP, "min.insync.replicas 3 of 2 replicas leaves no room"),
        (partition(replicas=[1, 3], isr=[1], min_isr=3), DOWN_3, "out of sync already: broker 3"),
        (partition(replicas=[1], isr=[1], min_isr=2), UP, "one replica only"),
    ],
)
def test_min_isr_above_the_number_of_replicas_leaves_no_room_for_anyone(
    row: dict[str, Any], brokers: Any, reason: str
) -> None:
    """A leader asks for every replica then, no more (KAFKA-15583): without this one some are missing for ever."""
    found = judge_stop(in_zookeeper(row, brokers=brokers), [1], Accepted()).impacts
    first = next(item for item in found if item.effect in (Impact.UNDER_MIN_ISR, Impact.UNAVAILABLE))
    assert (first.reason, first.waiting_helps) == (reason, False)
