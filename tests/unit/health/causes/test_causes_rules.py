"""Causes that the state of brokers, directories and settings shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from clusters.generated import partition, snapshot_of

from kreplica.health.causes import explain
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS, QUORUM
from kreplica.model.tables.table import Table

ALIVE = [{"broker": number, "alive": True, "fenced": False} for number in (1, 2, 3, 4)]


def brokers(**states: dict[str, Any]) -> list[dict[str, Any]]:
    """Four live brokers, some in another state: ``brokers(b3={"alive": False})``."""
    return [broker | states.get(f"b{broker['broker']}", {}) for broker in ALIVE]


def setting(entity: str, name: str, value: str) -> dict[str, str]:
    kind = "broker" if entity.isdecimal() else "topic"
    return {"entity_type": kind, "entity": entity, "name": name, "value": value, "origin": "topic"}


def configs(*rows: dict[str, str]) -> Table:
    return Table.from_rows(CONFIGS, rows)


def causes_in(snapshot: ClusterSnapshot, row: int = 0) -> list[dict[str, object]]:
    return explain(Evaluator(snapshot)).causes(np.array([row]))[0]


def kinds_in(snapshot: ClusterSnapshot, row: int = 0) -> list[object]:
    return [cause["kind"] for cause in causes_in(snapshot, row)]


@pytest.mark.parametrize(
    ("registered", "directories", "fields", "kinds"),
    [
        ([{"broker": 1, "alive": True}], [], {}, ["broker-gone"]),
        ([{"broker": 3, "alive": False}], [], {}, ["broker-gone"]),
        ([{"broker": 3, "alive": False, "fenced": True}], [], {}, ["broker-fenced"]),
        ([{"broker": 3, "alive": True}], [], {}, []),
        ([{"broker": 3}], [], {}, []),
        ([], [], {}, []),
        ([], [], {"offline_replicas": [3]}, ["replica-offline"]),
        (
            [],
            [{"broker": 3, "path": "/d", "error": "KAFKA_STORAGE_ERROR"}],
            {"offline_replicas": [3]},
            ["log-directory-offline"],
        ),
        ([], [{"broker": 3, "path": "/d", "error": "KAFKA_STORAGE_ERROR"}], {}, []),
        (
            [],
            [{"broker": 2, "path": "/d", "error": "KAFKA_STORAGE_ERROR"}],
            {"offline_replicas": [3]},
            ["replica-offline"],
        ),
        ([], [{"broker": 3, "path": "/d"}], {"offline_replicas": [3]}, ["replica-offline"]),
        ([{"broker": 3, "alive": False}], [], {"offline_replicas": [3]}, ["broker-gone"]),
        ([], [], {"offline_replicas": [3], "adding": [3]}, ["replica-offline"]),
        ([], [], {"adding": [3]}, ["reassignment"]),
        ([], [], {"adding": [2]}, []),
        ([], [], {"adding": None}, []),
    ],
)
def test_states(registered: list[Any], directories: list[Any], fields: dict[str, Any], kinds: list[str]) -> None:
    snapshot = snapshot_of([partition(isr=[1, 2], **fields)], registered, directories)
    assert kinds_in(snapshot) == kinds


def test_each_missing_replica_has_its_own_cause() -> None:
    snapshot = snapshot_of([partition(replicas=[1, 2, 3, 9], isr=[1], adding=[2])], brokers(b3={"alive": False}))
    assert causes_in(snapshot) == [
        {"kind": "reassignment", "broker": 2},
        {"kind": "broker-gone", "broker": 3},
        {"kind": "broker-gone", "broker": 9},
    ]


def test_when_a_broker_was_last_heard_of_comes_from_the_quorum() -> None:
    heard = datetime.fromisoformat("2026-03-01T11:58:30+00:00")
    nodes = [
        {"node": 3, "voter": False, "leader": False, "last_fetch_ms": int(heard.timestamp() * 1000) + 250},
        {"node": 2, "voter": True, "leader": True, "last_fetch_ms": None},
    ]
    quorum = Table.from_rows(QUORUM, nodes)
    dead = brokers(b3={"alive": False, "fenced": True}, b2={"alive": False, "fenced": True})
    snapshot = snapshot_of([partition(isr=[1])], dead, quorum=quorum)
    assert causes_in(snapshot) == [
        {"kind": "broker-fenced", "broker": 2},
        {"kind": "broker-fenced", "broker": 3, "since": heard.isoformat()},
    ]


def test_the_offline_directory_is_named() -> None:
    broken = [
        {"broker": 3, "path": "/data/1"},
        {"broker": 3, "path": "/data/2", "error": "KAFKA_STORAGE_ERROR"},
    ]
    snapshot = snapshot_of([partition(isr=[1, 2], offline_replicas=[3])], brokers(), broken)
    assert causes_in(snapshot) == [
        {"kind": "log-directory-offline", "broker": 3, "evidence": {"log_dirs": ["/data/2"]}}
    ]


@pytest.mark.parametrize(
    ("fields", "states", "expected"),
    [
        # broker 3 was the last one in sync, and is gone: 1 and 2 can copy from nobody
        ({"isr": [3]}, {"b3": {"alive": False}}, {1: 3, 2: 3}),
        ({"isr": [], "elr": [3]}, {"b3": {"alive": False, "fenced": True}}, {1: 3, 2: 3}),
        ({"isr": [3], "offline_replicas": [3]}, {}, {1: 3, 2: 3}),
        # one that could lead lives: why it does not lead is not known
        ({"isr": [3]}, {}, {}),
        ({"isr": [], "elr": [2, 3]}, {"b3": {"alive": False}}, {}),
        ({"isr": [], "elr": []}, {"b3": {"alive": False}}, {}),
    ],
)
def test_without_a_leader_replicas_wait_for_one_that_could_lead(
    fields: dict[str, Any], states: dict[str, Any], expected: dict[int, int]
) -> None:
    snapshot = snapshot_of([partition(leader=-1, **fields)], brokers(**states))
    found = {cause["broker"]: cause["evidence"] for cause in causes_in(snapshot) if cause["kind"] == "no-leader"}
    assert found == {broker: {"waits_for": waits} for broker, waits in expected.items()}


LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        # both halves on one side
        ([setting("orders", FOLLOWERS, "0:3"), setting("3", FOLLOWER_RATE, "1000")], {"follower_rate": 1000}),
        ([setting("orders", LEADERS, "0:1"), setting("1", LEADER_RATE, "500")], {"leader_rate": 500}),
        ([setting("orders", FOLLOWERS, "*"), setting("3", FOLLOWER_RATE, "7")], {"follower_rate": 7}),
        (
            [
                setting("orders", FOLLOWERS, "0:3"),
                setting("orders", LEADERS, "0:1,0:2"),
                setting("3", FOLLOWER_RATE, "1000"),
                setting("1", LEADER_RATE, "2000"),
            ],
            {"leader_rate": 2000, "follower_rate": 1000},
        ),
        # a list without a rate, a rate without a list, the wrong replica, side, broker or topic: none of it throttles
        ([setting("orders", FOLLOWERS, "0:3")], None),
        ([setting("3", FOLLOWER_RATE, "1000")], None),
        ([setting("orders", FOLLOWERS, "0:3"), setting("3", FOLLOWER_RATE, str(2**63 - 1))], None),
        ([setting("orders", FOLLOWERS, "1:3"), setting("3", FOLLOWER_RATE, "1000")], None),
        ([setting("orders", FOLLOWERS, "0:1"), setting("3", FOLLOWER_RATE, "1000")], None),
        ([setting("orders", LEADERS, "0:3"), setting("3", LEADER_RATE, "1000")], None),
        ([setting("orders", FOLLOWERS, "0:3"), setting("3", LEADER_RATE, "1000")], None),
        ([setting("orders", FOLLOWERS, "0:3"), setting("1", FOLLOWER_RATE, "1000")], None),
        ([setting("others", FOLLOWERS, "0:3"), setting("3", FOLLOWER_RATE, "1000")], None),
    ],
)
def test_throttles(settings: list[dict[str, str]], rates: dict[str, int] | None) -> None:
    rows = [partition(isr=[1, 2]), partition("others", isr=[1, 2, 3])]
    snapshot = snapshot_of(rows, brokers(), configs=configs(*settings))
    evidence = None if rates is None else {**rates, "reassigning": False}
    expected = [] if rates is None else [{"kind": "throttle", "broker": 3, "leader": 1, "evidence": evidence}]
    assert causes_in(snapshot) == expected


def test_an_in_sync_replica_is_spared_and_a_copy_being_added_is_a_reassignment() -> None:
    settings = [
        setting("orders", FOLLOWERS, "0:2,0:4"),
        setting("4", FOLLOWER_RATE, "9"),
        setting("2", FOLLOWER_RATE, "9"),
    ]
    moving = partition(replicas=[1, 2, 3, 4], isr=[1, 2, 3], adding=[4], removing=[3])
    snapshot = snapshot_of([moving], brokers(), configs=configs(*settings))
    assert causes_in(snapshot) == [
        {"kind": "reassignment", "broker": 4, "evidence": {"follower_rate": 9, "reassigning": True}}
    ]


def test_a_throttle_does_not_explain_a_broker_that_is_behind_in_what_is_not_throttled() -> None:
    settings = [setting("orders", FOLLOWERS, "0:3"), setting("3", FOLLOWER_RATE, "1000")]
    rows = [partition(isr=[1, 2]), partition("others", 0, isr=[1, 2]), partition("others", 1, leader=2, isr=[1, 2])]
    assert kinds_in(snapshot_of(rows, brokers(), configs=configs(*settings))) != ["throttle"]


def test_what_is_open_is_said_with_what_to_read() -> None:
    why = explain(Evaluator(snapshot_of([partition(replicas=[1, 2], isr=[1])], brokers())), can_measure=True)
    assert why.causes(np.array([0])) == [[]]
    (open_,) = why.not_known(np.array([0]))[0]
    assert open_ == {
        "broker": 2,
        "leader": 1,
        "candidates": ["slow-leader", "broker-out", "leader-to-follower"],
        "read": "--measure 10s, then the server.log of brokers 1 and 2",
    }


@pytest.mark.parametrize(
    ("leader", "told", "read"),
    [
        (0, 0, "the server.log of brokers 0 and 2"),
        (-1, None, "the controller's log"),
        (None, None, "the controller's log"),
    ],
)
def test_without_a_leader_the_controller_is_asked(leader: int | None, told: int | None, read: str) -> None:
    """-1 is Kafka's word for nobody; 0 is a broker."""
    rows = [{"broker": broker, "alive": True, "fenced": False} for broker in (0, 2)]
    why = explain(Evaluator(snapshot_of([partition(replicas=[0, 2], isr=[0], leader=leader)], rows)))
    (open_,) = why.not_known(np.array([0]))[0]
    assert (open_["broker"], open_["leader"], open_["read"]) == (2, told, read)


def test_thresholds_of_patterns_hold_at_their_edges() -> None:
    """Two partitions are a pattern and one is none; half of a pair's partitions are, and fewer are not."""

    def pair(out: int, of: int) -> list[object]:
        rows = [partition("t", n, replicas=[1, 2], isr=[1] if n < out else [1, 2]) for n in range(of)]
        others = [
            partition("t", of + n, replicas=[leader, follower], isr=[leader, follower])
            for n, (leader, follower) in enumerate([(1, 3), (3, 2), (1, 4), (4, 2), (3, 4), (4, 3), (2, 1), (2, 3)] * 6)
        ]
        alive = [{"broker": broker, "alive": True, "fenced": False} for broker in (1, 2, 3, 4)]
        snapshot = snapshot_of([row | {"leader": row["replicas"][0]} for row in (*rows, *others)], alive)
        return kinds_in(snapshot)

    assert pair(6, 12) == ["leader-to-follower"]
    assert pair(5, 12) == []
    assert pair(1, 1) == []


def test_a_leader_that_is_out_of_its_own_isr_follows_nobody() -> None:
    """A leader is in the ISR it keeps; an answer that tells otherwise says nothing of how brokers follow it."""
    odd = [partition("t", number, leader=1, isr=[2, 3]) for number in range(4)]
    well = [
        partition("t", 4 + number, leader=leader, replicas=[1, 2, 3, 4], isr=[1, 2, 3, 4])
        for number, leader in enumerate([1, 2, 3, 4] * 4)
    ]
    snapshot = snapshot_of([*odd, *well], brokers())
    assert kinds_in(snapshot) == []
    ((open_,),) = explain(Evaluator(snapshot)).not_known(np.array([0]))
    assert (open_["broker"], open_["candidates"]) == (1, [])


def test_one_follower_or_one_leader_is_not_several() -> None:
    """A slow leader holds up several followers, a slow follower is behind several leaders: from two on it is one."""

    def rows(*kinds: tuple[int, int, bool]) -> list[dict[str, Any]]:
        """Twelve partitions of each leader and follower, the follower out in all of them or in none."""
        each = [kind for kind in kinds for _ in range(12)]
        return [
            partition(
                "t", number, leader=leader, replicas=[leader, follower], isr=[leader] if out else [leader, follower]
            )
            for number, (leader, follower, out) in enumerate(each)
        ]

    one_follower = rows((1, 2, True), (1, 3, False), (3, 2, False), (3, 1, False))
    assert kinds_in(snapshot_of(one_follower, brokers())) == ["leader-to-follower"]
    one_leader = snapshot_of(rows((1, 2, True), (1, 3, False), (3, 4, False), (3, 1, False), (2, 4, False)), brokers())
    assert kinds_in(one_leader) == []
    ((open_,),) = explain(Evaluator(one_leader)).not_known(np.array([0]))
    assert open_["candidates"] == ["slow-follower", "leader-to-follower"]


@pytest.mark.parametrize("ids", [(3, 1, 2), (0, 70_000, 2**31 - 1), (1001, 5, 1002)])
def test_brokers_are_those_that_anything_names_in_order(ids: tuple[int, int, int]) -> None:
    leader, out, registered = ids
    rows = [partition("t", 0, replicas=[leader, out], isr=[leader], leader=leader)]
    facts = explain(Evaluator(snapshot_of(rows, [{"broker": registered}]))).facts
    assert facts.broker_ids.tolist() == sorted(ids)
