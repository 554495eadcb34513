"""Throttles that nothing needs: which, by a case of each kind."""

from __future__ import annotations

from clusters.generated import partition, snapshot_of

from kreplica.execution.moves.throttles.leftover import ThrottleChoice, judge_throttles
from kreplica.model.throttles import DIRECTORY_RATE
from kreplica.sources.kafka.configs import Setting
from kreplica.sources.kafka.log_dirs import BrokerLogs, Replica
from kreplica.sources.kafka.throttles import Throttles

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
SNAPSHOT = snapshot_of(
    [
        partition("still", 0),
        partition("moving", 0, adding=[4], replicas=[1, 2, 4, 3]),
        partition("every", 0, replicas=[2, 3]),
    ],
    [{"broker": broker, "alive": True} for broker in (1, 2, 3, 4)],
)


def judged(
    lists: dict[tuple[str, str], str], own: dict[int, str] | None = None, default: str = ""
) -> dict[tuple[str, str, str], str]:
    """State by scope, entity and kind of setting; rates are those of leaders."""
    name = f"{LEADER}.rate"
    rates = {
        (broker, name): Setting("broker", str(broker), name, default, "cluster-dynamic") for broker in (1, 2, 3, 4)
    }
    rates = rates if default else {}
    rates |= {
        (one, name): Setting("broker", str(one), name, rate, "broker-dynamic") for one, rate in (own or {}).items()
    }
    found = judge_throttles(SNAPSHOT, Throttles(rates, {name: default} if default else {}, lists, {}), {})
    return {(row.scope, row.entity, row.setting.rpartition(".")[2]): row.state for row in found}


def test_each_kind() -> None:
    lists = {("still", f"{LEADER}.replicas"): "0:1,0:2", ("moving", f"{LEADER}.replicas"): "0:3"}
    assert judged(lists) == {("topic", "moving", "replicas"): "no-rate", ("topic", "still", "replicas"): "no-rate"}
    assert judged(lists, {1: "5", 3: "5", 4: "5"}) == {
        ("topic", "moving", "replicas"): "in-use", ("topic", "still", "replicas"): "orphaned",
        ("broker", "1", "rate"): "orphaned", ("broker", "3", "rate"): "in-use", ("broker", "4", "rate"): "no-list",
    }  # fmt: skip


def test_a_list_of_followers_needs_a_rate_of_followers() -> None:
    lists = {("still", f"{FOLLOWER}.replicas"): "0:1"}
    assert judged(lists, {1: "5"}) == {("topic", "still", "replicas"): "no-rate", ("broker", "1", "rate"): "no-list"}


def test_a_star_names_the_replicas_of_its_topic() -> None:
    lists = {("every", f"{LEADER}.replicas"): "*"}
    assert judged(lists, {1: "5", 2: "5"}) == {
        ("topic", "every", "replicas"): "orphaned", ("broker", "1", "rate"): "no-list",
        ("broker", "2", "rate"): "orphaned",
    }  # fmt: skip


def test_the_default_holds_where_a_broker_has_no_rate_of_its_own() -> None:
    lists = {("still", f"{LEADER}.replicas"): "0:1"}
    assert judged(lists, default="9")[("broker-default", "", "rate")] == "orphaned"
    assert judged(lists, {1: "5"}, default="9")[("broker-default", "", "rate")] == "no-list"
    assert judged({("still", f"{LEADER}.replicas"): ""}, default="9")[("topic", "still", "replicas")] == "no-rate"


def test_a_rate_of_directory_moves_is_in_use_while_one_goes_on() -> None:
    name = DIRECTORY_RATE
    rates = {(1, name): Setting("broker", "1", name, "5", "broker-dynamic")}
    rates |= {(one, name): Setting("broker", str(one), name, "9", "cluster-dynamic") for one in (2, 3)}
    throttles = Throttles(rates, {name: "9"}, {}, {})
    still = BrokerLogs([], [Replica("t", 0, 1, "/a", 10, 0, False)])
    moving = BrokerLogs([], [*still.replicas, Replica("t", 0, 1, "/b", 5, 7, True)])

    def states(first: BrokerLogs | str, third: BrokerLogs | str) -> list[tuple[str, str, str, str]]:
        rows = judge_throttles(SNAPSHOT, throttles, {1: first, 2: still, 3: third})
        return [(row.scope, row.entity, row.value, row.state) for row in rows]

    assert states(still, still) == [("broker", "1", "5", "orphaned"), ("broker-default", "", "9", "orphaned")]
    assert states(moving, still) == [("broker", "1", "5", "in-use"), ("broker-default", "", "9", "orphaned")]
    assert states(still, moving) == [("broker", "1", "5", "orphaned"), ("broker-default", "", "9", "in-use")]
    assert states("is down", BrokerLogs([], [], "DENIED")) == [
        ("broker", "1", "5", "in-use"), ("broker-default", "", "9", "in-use"),
    ]  # fmt: skip
    assert ThrottleChoice(brokers={1}).names(judge_throttles(SNAPSHOT, throttles, {})[0])


def test_what_is_named_is_chosen() -> None:
    rows = judge_throttles(
        SNAPSHOT, Throttles({}, {f"{LEADER}.rate": "1"}, {("still", f"{LEADER}.replicas"): "*"}, {}), {}
    )
    topic, default = rows
    assert [ThrottleChoice(topics={"still"}).names(row) for row in (topic, default)] == [True, False]
    assert [ThrottleChoice(default=True).names(row) for row in (topic, default)] == [False, True]
    assert not ThrottleChoice(brokers={1}).names(default)
