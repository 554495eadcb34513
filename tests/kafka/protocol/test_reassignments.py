"""Moves of replicas on real clusters: what is asked for, what Kafka answers, and that the engine's rules say the same.

What somebody who carries moves out has to know: going back, throttles and their origin, log directories, destinations.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_clusters.moved_replicas import (
    SETTINGS,
    ask,
    described,
    fill,
    handle_of,
    hold_up,
    let_go,
    ongoing,
    put_moves_in_order,
    wait_until_moved,
)
from real_clusters.views import leaders
from waiting import until

from kreplica.control import settings as control_settings
from kreplica.control.log_directories import alter_log_directories
from kreplica.control.reassign import alter_reassignments
from kreplica.control.settings import EntityType, Operation, SettingChange, alter_settings
from kreplica.control.throttle import ListResult, extend_lists, set_rates, shrink_lists
from kreplica.engine.fault_plan import At, CancelReassignment, Crash, Reassign, Start, Step
from kreplica.engine.rules.controller.isr import kraft_change
from kreplica.engine.rules.controller.reassignment import (
    completes,
    kraft_cancelled,
    kraft_merged,
    original,
    zookeeper_merged,
)
from kreplica.engine.rules.replication.high_watermark import effective_min_isr
from kreplica.engine.setup import SECOND, TopicSetup
from kreplica.engine.setup import cluster as engine_cluster
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UnreachableError
from kreplica.execution.rebalance.replicas import rebalance_replicas
from kreplica.model.cordons import cordoned_brokers
from kreplica.model.throttles import DIRECTORY_RATE, LEADER_LIST, LEADER_RATE
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from kreplica.sandbox import Mode, Sandbox, SandboxSettings, start
from kreplica.sources.dumps.kraft import read_kraft_metadata
from kreplica.sources.kafka.log_dirs import BrokerLogs, Replica, read_broker_logs
from kreplica.sources.kafka.reassignments import Move
from kreplica.sources.kafka.throttles import read_throttles

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture(scope="module", params=[Mode.KRAFT, Mode.ZOOKEEPER], ids=["4.3.1", "3.9.2"])
def running(request: pytest.FixtureRequest, sandbox_folder: Path) -> Iterator[Sandbox]:
    """Four brokers with two log directories each."""
    mode: Mode = request.param
    session = {"broker.session.timeout.ms": "6000"} if mode is Mode.KRAFT else {}
    settings = SandboxSettings(
        name=f"moves-{mode}", mode=mode, brokers=4, log_dirs=2, broker_settings=SETTINGS | session
    )
    with start(settings, sandbox_folder) as sandbox:
        yield sandbox


@pytest.fixture
def cluster(running: Sandbox) -> Iterator[Sandbox]:
    yield running
    put_moves_in_order(running)


def in_kraft(sandbox: Sandbox) -> bool:
    return sandbox.mode is Mode.KRAFT


def mask(replicas: tuple[int, ...], brokers: tuple[int, ...]) -> int:
    return sum(1 << replicas.index(broker) for broker in brokers)


# -- going back


def test_a_move_asked_back_in_flight_ends_in_zookeeper_mode_only(cluster: Sandbox) -> None:
    before, target = (3, 4, 1), (2, 4, 1)
    cluster.create_topic("back", assignment=[[*before]])
    fill(cluster, "back")
    hold_up(cluster, "back", 3, [2])
    assert ask(cluster, "back", target).accepted
    moving = ongoing(cluster)["back", 0]
    if in_kraft(cluster):
        assert moving == kraft_merged(before, target) == ((2, 4, 1, 3), (2,), (3,))
    else:
        assert moving == zookeeper_merged(before, (), target) == ((2, 4, 1, 3), (2,), (3,))
    assert ask(cluster, "back", before).accepted
    if not in_kraft(cluster):
        assert zookeeper_merged(moving[0], moving[1], before) == (before, (), ())
        wait_until_moved(cluster, "back", before)
        return
    stuck = kraft_merged(moving[0], before, moving[1], moving[2])
    assert ongoing(cluster)["back", 0] == stuck == ((3, 4, 1, 2), (2,), (2,))
    let_go(cluster, ["back"])
    cluster.wait_for_isr("back", 0, {1, 2, 3, 4})
    time.sleep(3)  # the time of thirty fetches: an ISR that ended the move would have done so when it was made
    assert ongoing(cluster)["back", 0] == stuck
    facts = [mask(stuck[0], one) for one in (*stuck, stuck[0])]
    assert not completes(*facts, version_named("4.3").moves_wait_for)
    assert ask(cluster, "back", None).accepted
    wait_until_moved(cluster, "back", before)


def test_a_cancelled_move_gives_the_replicas_back_and_not_their_order(cluster: Sandbox) -> None:
    before, target = (4, 2, 3), (3, 1, 4)
    cluster.create_topic("order", assignment=[[*before]])
    fill(cluster, "order")
    hold_up(cluster, "order", 4, [1])
    assert ask(cluster, "order", target).accepted
    merged, adding, _ = kraft_merged(before, target) if in_kraft(cluster) else zookeeper_merged(before, (), target)
    assert ongoing(cluster)["order", 0][:2] == (merged, adding)
    assert ask(cluster, "order", None).accepted
    wait_until_moved(cluster, "order", original(merged, adding))
    assert original(merged, adding) == (3, 4, 2), "another is preferred"
    if in_kraft(cluster):
        isr = mask(merged, before)
        assert kraft_cancelled(mask(merged, merged), mask(merged, adding), isr) == (isr, isr, False)
    again = ask(cluster, "order", None)
    assert again.error == "NO_REASSIGNMENT_IN_PROGRESS"


def test_what_a_re_aimed_move_was_adding_stays_in_kraft_even_if_it_is_cancelled(cluster: Sandbox) -> None:
    cluster.create_topic("aimed", assignment=[[1, 2]])
    fill(cluster, "aimed")
    hold_up(cluster, "aimed", 1, [3, 4])
    assert ask(cluster, "aimed", (3, 2)).accepted
    first = ongoing(cluster)["aimed", 0]
    assert ask(cluster, "aimed", (4, 2)).accepted
    second = ongoing(cluster)["aimed", 0]
    if in_kraft(cluster):
        assert second == kraft_merged(first[0], (4, 2), *first[1:]) == ((4, 2, 1, 3), (4,), (1, 3))
    else:
        assert second == zookeeper_merged(first[0], first[1], (4, 2)) == ((4, 2, 1), (4,), (1,))
    assert ask(cluster, "aimed", None).accepted
    left = original(second[0], second[1])
    assert left == ((2, 1, 3) if in_kraft(cluster) else (2, 1)), "two there were before"
    wait_until_moved(cluster, "aimed", left)


def test_a_move_that_only_removes_is_taken_back_by_cancelling_alone_in_kraft(cluster: Sandbox) -> None:
    cluster.create_topic("fewer", assignment=[[1, 2, 4]])
    fails(cluster, 4)
    cluster.wait_for_isr("fewer", 0, {1, 2})
    assert ask(cluster, "fewer", (2, 4), factor=True).accepted
    moving = ongoing(cluster)["fewer", 0]
    assert moving == ((2, 4, 1), (), (1,)), "all of the target is waited for"
    assert ask(cluster, "fewer", (1, 2, 4), factor=True).accepted
    if in_kraft(cluster):
        assert (
            ongoing(cluster)["fewer", 0] == kraft_merged(*moving[:1], (1, 2, 4), *moving[1:]) == ((1, 2, 4), (), (1,))
        )
        assert ask(cluster, "fewer", None).accepted
    wait_until_moved(cluster, "fewer", (1, 2, 4))


def test_another_order_moves_nothing_and_elects_nobody(cluster: Sandbox) -> None:
    cluster.create_topic("turned", assignment=[[1, 2, 3]])
    changed = alter_reassignments(
        handle_of(cluster), {("turned", 0): (3, 2, 1)}, expected={("turned", 0): Move([2, 1, 3], [], [])}
    )
    assert (changed[0].error, changed[0].message) == ("changed", "it has the replicas [1, 2, 3]")
    assert ongoing(cluster) == {}
    assert ask(cluster, "turned", (3, 2, 1)).accepted
    wait_until_moved(cluster, "turned", (3, 2, 1))
    assert leaders(cluster, "turned") == [1]


def test_a_single_replica_that_moves_under_min_isr_enters_the_elr_although_it_is_none(cluster: Sandbox) -> None:
    """Read in the metadata log: the next change of the partition, such as of its directory, clears the ELR again."""
    if not in_kraft(cluster):
        assert cluster.mode is Mode.ZOOKEEPER, "there is no such log"
        return
    cluster.create_topic("single", assignment=[[1]], configs={"min.insync.replicas": "2"})
    assert ask(cluster, "single", (2,)).accepted
    wait_until_moved(cluster, "single", (2,))
    until(lambda: ended_with(cluster, [2]), "the record that ends the move", pause=1)
    assert ended_with(cluster, [2]) == [([2], [1])]
    moving = PartitionState("single-0", (2, 1), leader=1, isr=0b11, adding=(2,), removing=(1,))
    moved = moving.moved_to((2,))
    facts = moved.places((2,)), moved.everybody, effective_min_isr(2, len(moving.replicas)), True, False
    changed = moved.decided(*kraft_change(moved.leader, moved.isr, moved.elr, 0, *facts), target_isr=facts[0])
    assert (changed.ids(changed.isr), changed.former) == ((2,), (1,))


def ended_with(sandbox: Sandbox, replicas: list[int]) -> list[tuple[list[int], list[int]]]:
    """ISR and ELR of each record that ends a move with these replicas, as kafka-dump-log prints the metadata log."""
    log = Path(logs(sandbox, 1).log_dirs[0].path).parent / "data-1" / "__cluster_metadata-0" / f"{0:020}.log"
    printed = sandbox.tool("dump-log", "--cluster-metadata-decoder", "--files", str(log))
    records = [json.loads(text)["data"] for text in re.findall(r"payload: (\{.*PARTITION_CHANGE_RECORD.*\})", printed)]
    ended = [one for one in records if one.get("replicas") == replicas and one.get("removingReplicas") == []]
    return [(one["isr"], one.get("eligibleLeaderReplicas", [])) for one in ended]


def test_a_move_cancelled_under_min_isr_may_leave_a_partition_that_nobody_can_lead(cluster: Sandbox) -> None:
    if not in_kraft(cluster):
        assert cluster.mode is Mode.ZOOKEEPER, "without ELRs the last member of an ISR stays in it"
        return
    cluster.create_topic("stranded", assignment=[[1, 4]], configs={"min.insync.replicas": "2"})
    fill(cluster, "stranded", 10)
    fails(cluster, 3)
    assert ask(cluster, "stranded", (2, 3)).accepted
    cluster.wait_for_isr("stranded", 0, {1, 2, 4})
    fails(cluster, 4)
    cluster.wait_for_isr("stranded", 0, {1, 2})
    assert ask(cluster, "stranded", None).accepted, "one of the old replicas is in sync: min ISR does not count"
    cluster.wait_for_isr("stranded", 0, {1})
    told = described(cluster, "stranded")
    assert (told["Replicas"], told["Isr"], told["Elr"]) == ("1,4", "1", "2")
    cluster.start_broker(3)
    fails(cluster, 1)
    cluster.start_broker(1)
    cluster.start_broker(4)
    cluster.wait_for_brokers(cluster.broker_ids)
    until(lambda: described(cluster, "stranded")["Elr"] == "2", lambda: str(described(cluster, "stranded")))
    told = described(cluster, "stranded")
    assert (told["Leader"], told["Replicas"], told["Isr"]) == ("none", "1,4", "")
    assert stranded_in_the_simulator() == ((1, 4), (), (2,), -1)
    assert ask(cluster, "stranded", (1, 2)).error == "UNKNOWN_SERVER_ERROR"
    cluster.tool("leader-election", "--election-type", "UNCLEAN", "--topic", "stranded", "--partition", "0")
    until(lambda: described(cluster, "stranded")["Leader"] in ("1", "4"), "a leader")


def fails(sandbox: Sandbox, broker: int) -> None:
    sandbox.kill(broker)
    sandbox.wait_for_brokers(gone=[broker])


def stranded_in_the_simulator() -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    """Replicas, ISR, brokers in the ELR without a replica, and leader after the same on the engine."""
    steps = (
        (5, Crash("broker-3")),
        (20, Reassign("t-0", (2, 3))),
        (25, Crash("broker-4")),
        (40, CancelReassignment("t-0")),
        (45, Start("broker-3")),
        (60, Crash("broker-1")),
        (75, Start("broker-1")),
        (80, Start("broker-4")),
    )
    setup = engine_cluster(4, TopicSetup("t", ((1, 4),), {"min.insync.replicas": 2}), duration=100 * SECOND)
    simulation = build(setup, version_named("4.3"), 0, Trace())
    play_plan(simulation, tuple(Step(At(at * SECOND), do) for at, do in steps))
    simulation.scheduler.run(100 * SECOND)
    controller = simulation.controller_operations()
    assert isinstance(controller, KraftController)
    state = controller.partitions["t-0"]
    assert state.elr == sum(1 << state.index_of(broker) for broker in state.former)
    return state.replicas, state.ids(state.isr), state.former, state.leader_id


# -- destinations and the number of replicas


def test_a_dead_destination_is_taken_in_kraft_and_refused_in_zookeeper_mode(cluster: Sandbox) -> None:
    cluster.create_topic("dead", assignment=[[1, 2]])
    cluster.kill(4)
    cluster.wait_for_brokers(gone=[4])
    result = ask(cluster, "dead", (4, 2))
    if in_kraft(cluster):
        assert result.accepted
        assert ongoing(cluster)["dead", 0] == ((4, 2, 1), (4,), (1,))
    else:
        assert result.error == "INVALID_REPLICA_ASSIGNMENT"
        assert ongoing(cluster) == {}
    assert ask(cluster, "dead", (9, 2)).error == "INVALID_REPLICA_ASSIGNMENT", "never seen"


def test_another_number_of_replicas_is_refused_by_kafka_from_4_1_on(cluster: Sandbox) -> None:
    cluster.create_topic("more", assignment=[[1, 2]])
    refused = ask(cluster, "more", (1, 2, 3))
    if in_kraft(cluster):
        assert refused.error == "INVALID_REPLICATION_FACTOR"
        assert ask(cluster, "more", (1, 2, 3), factor=True).accepted
    else:
        assert refused.accepted, "nobody looks: the plan has to"
    wait_until_moved(cluster, "more", (1, 2, 3))


# -- throttles


def default(name: str, value: str | None) -> SettingChange:
    operation = Operation.DELETE if value is None else Operation.SET
    return SettingChange(EntityType.BROKER_DEFAULT, "", name, operation, value)


def test_deleting_a_brokers_own_rate_brings_the_clusters_default_back(cluster: Sandbox) -> None:
    handle = handle_of(cluster)

    def rates() -> dict[int, tuple[str | None, str]]:
        found = read_throttles(handle, [1, 2], []).rates
        return {broker: (row.value, row.origin) for (broker, name), row in found.items() if name == LEADER_RATE}

    def wait_for(expected: dict[int, tuple[str, str]]) -> None:
        until(lambda: rates() == expected, lambda: f"the rates {expected}: {rates()}")

    assert alter_settings(handle, [default(LEADER_RATE, "5000000")])[0].made
    wait_for({1: ("5000000", "cluster-dynamic"), 2: ("5000000", "cluster-dynamic")})
    assert set_rates(handle, {(1, LEADER_RATE): 7000000})[1, LEADER_RATE].made
    wait_for({1: ("7000000", "broker-dynamic"), 2: ("5000000", "cluster-dynamic")})
    assert read_throttles(handle, [], []).defaults == {LEADER_RATE: "5000000"}
    set_rates(handle, {(1, LEADER_RATE): None})
    wait_for({1: ("5000000", "cluster-dynamic"), 2: ("5000000", "cluster-dynamic")})
    assert set_rates(handle, {(1, LEADER_RATE): None})[1, LEADER_RATE].made, "once more does no harm"
    alter_settings(handle, [default(LEADER_RATE, None)])
    wait_for({})


def raw(topic: str, operation: Operation, value: str | None) -> SettingChange:
    return SettingChange(EntityType.TOPIC, topic, LEADER_LIST, operation, value)


def test_lists_are_extended_and_shrunk_and_a_star_stays(cluster: Sandbox) -> None:
    cluster.create_topic("listed", assignment=[[1, 2], [2, 3]])
    handle, key = handle_of(cluster), ("listed", LEADER_LIST)

    def own() -> str | None:
        return read_throttles(handle, [], ["listed"]).lists.get(key)

    def wait_for(expected: str | None) -> None:
        until(lambda: own() == expected, lambda: f"the list {expected!r}: {own()!r}")

    wait_for(None)
    assert extend_lists(handle, {key: [(0, 1), (1, 2)]})[key].changed == {(0, 1), (1, 2)}
    wait_for("0:1,1:2")
    assert extend_lists(handle, {key: [(0, 1), (1, 3)]})[key].changed == {(1, 3)}
    wait_for("0:1,1:2,1:3")
    assert alter_settings(handle, [raw("listed", Operation.APPEND, "0:1")])[0].made
    assert alter_settings(handle, [raw("listed", Operation.SUBTRACT, "0:1,1:2")])[0].made
    wait_for("1:3")
    assert alter_settings(handle, [raw("listed", Operation.SUBTRACT, "1:3")])[0].made
    wait_for("")  # not None: an empty list is what Kafka leaves
    assert shrink_lists(handle, {key: [(1, 3)]}) == {key: ListResult()}
    wait_for(None)
    assert alter_settings(handle, [raw("listed", Operation.SET, "*")])[0].made
    wait_for("*")
    assert alter_settings(handle, [raw("listed", Operation.APPEND, "0:1")])[0].error == "INVALID_CONFIG"
    assert extend_lists(handle, {key: [(0, 1)]}) == {key: ListResult(every=True)}
    assert shrink_lists(handle, {key: [(0, 1)]}) == {key: ListResult(every=True)}
    assert own() == "*"


def test_a_list_has_32767_bytes_at_most(cluster: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.create_topic("long", assignment=[[1, 2]])
    handle = handle_of(cluster)
    longest = ",".join(f"{number:05}:1" for number in range(4096))
    assert len(longest) == control_settings.LONGEST_VALUE
    assert alter_settings(handle, [raw("long", Operation.SET, longest)])[0].made
    until(lambda: read_throttles(handle, [], ["long"]).lists.get(("long", LEADER_LIST)) == longest, "the longest list")
    monkeypatch.setattr(control_settings, "LONGEST_VALUE", 1 << 20)
    too_long = alter_settings(handle, [raw("long", Operation.SET, f"0{longest}")])[0]
    assert too_long.error == "unanswered"
    assert too_long.message.endswith("closed the connection")
    appended = alter_settings(handle, [raw("long", Operation.APPEND, "9:9")])[0]
    if in_kraft(cluster):
        assert appended.error == "INVALID_CONFIG"
        assert read_throttles(handle, [], ["long"]).lists["long", LEADER_LIST] == longest
    else:
        assert appended.made, "and nobody can read the topic's settings any more, until the list is deleted"
        with pytest.raises(UnreachableError, match="settings of 1 topic could not be read, UNKNOWN_SERVER_ERROR"):
            read_throttles(handle, [], ["long"])
    assert alter_settings(handle, [raw("long", Operation.DELETE, None)])[0].made
    until(lambda: read_throttles(handle, [], ["long"]).lists == {}, "the list to be gone")


def test_a_dead_brokers_rate_is_set_through_the_controllers_alone(cluster: Sandbox) -> None:
    handle, key = handle_of(cluster), (4, LEADER_RATE)
    cluster.kill(4)
    cluster.wait_for_brokers(gone=[4])
    assert set_rates(handle, {key: 3000000})[key].error == "unanswered"
    assert "not alive" in read_throttles(handle, [4], []).unread[4]
    done = set_rates(handle, {key: 3000000}, through_controllers=True)[key]
    assert done.made is in_kraft(cluster), done
    cluster.start_broker(4)
    expected = "3000000" if in_kraft(cluster) else None
    until(lambda: read_throttles(handle, [4], []).own_rate(*key) == expected, "the broker's own rate")


# -- log directories and progress


def logs(sandbox: Sandbox, broker: int) -> BrokerLogs:
    found = read_broker_logs(handle_of(sandbox), [broker])[broker]
    assert isinstance(found, BrokerLogs), found
    return found


def replicas_of(sandbox: Sandbox, topic: str, broker: int) -> list[Replica]:
    return [one for one in logs(sandbox, broker).replicas if one.topic == topic]


def directories(sandbox: Sandbox, broker: int) -> list[str]:
    """The broker's directories: that of a new replica first, which has the fewest replicas."""
    found = logs(sandbox, broker)
    counts = {one.path: sum(replica.log_dir == one.path for replica in found.replicas) for one in found.log_dirs}
    first, second = sorted(counts, key=lambda path: counts[path])
    assert counts[first] < counts[second], counts
    return [first, second]


def crowd(sandbox: Sandbox, broker: int) -> list[str]:
    """Puts replicas into one of a broker's directories; returns its directories as ``directories`` does."""
    sandbox.create_topic("crowd", assignment=[[broker]] * 4)
    full = logs(sandbox, broker).log_dirs[1].path
    asked = {("crowd", number, broker): full for number in range(4)}
    assert all(one.accepted for one in alter_log_directories(handle_of(sandbox), asked).values())
    until(lambda: {one.log_dir for one in replicas_of(sandbox, "crowd", broker)} == {full}, "the replicas to be there")
    return directories(sandbox, broker)


def test_a_directory_named_before_the_move_is_obeyed_and_forgotten_by_a_restart(cluster: Sandbox) -> None:
    for topic in ("placed", "unplaced", "forgotten"):
        cluster.create_topic(topic, assignment=[[1, 2]])
    empty, full = crowd(cluster, 4)
    handle = handle_of(cluster)
    key, later = ("placed", 0, 4), ("forgotten", 0, 4)
    found = alter_log_directories(handle, {key: full, later: full, ("placed", 0, 1): "/no/such/directory"})
    assert found[key].remembered
    assert found[later].remembered
    assert found["placed", 0, 1].error == "LOG_DIR_NOT_FOUND"
    for topic in ("placed", "unplaced"):
        assert ask(cluster, topic, (4, 2)).accepted
        wait_until_moved(cluster, topic, (4, 2))
    assert [one.log_dir for one in replicas_of(cluster, "placed", 4)] == [full]
    assert [one.log_dir for one in replicas_of(cluster, "unplaced", 4)] == [empty], "fewest partitions, not most room"
    cluster.shut_down(4)
    cluster.start_broker(4)
    cluster.wait_for_healthy()
    assert ask(cluster, "forgotten", (4, 2)).accepted
    wait_until_moved(cluster, "forgotten", (4, 2))
    assert [one.log_dir for one in replicas_of(cluster, "forgotten", 4)] == [empty]


def test_the_offset_lag_of_a_replica_that_is_added_is_zero_all_along(cluster: Sandbox) -> None:
    cluster.create_topic("lag", assignment=[[1, 2]])
    fill(cluster, "lag")
    hold_up(cluster, "lag", 1, [4])
    assert ask(cluster, "lag", (4, 2)).accepted
    until(lambda: any(one.size for one in replicas_of(cluster, "lag", 4)), "the first bytes of the copy")
    (leader,), (copy,) = replicas_of(cluster, "lag", 1), replicas_of(cluster, "lag", 4)
    assert copy.size < leader.size / 2, "bytes are left"
    assert (copy.offset_lag, copy.future) == (0, False)
    let_go(cluster, ["lag"])
    wait_until_moved(cluster, "lag", (4, 2))
    assert replicas_of(cluster, "lag", 4)[0].size == leader.size


def test_a_copy_comes_from_the_leader_not_from_the_replica_that_leaves(cluster: Sandbox) -> None:
    for topic in ("from-leader", "from-leaver"):
        cluster.create_topic(topic, assignment=[[1, 2]])
        fill(cluster, topic)
        hold_up(cluster, topic, 1 if topic == "from-leader" else 2, [])
        assert ask(cluster, topic, (1, 4)).accepted
    wait_until_moved(cluster, "from-leaver", (1, 4))
    assert ongoing(cluster)["from-leader", 0] == ((1, 4, 2), (4,), (2,))


def test_the_bytes_of_a_removed_replica_stay_for_a_while_where_no_request_lists_them(cluster: Sandbox) -> None:
    cluster.create_topic("removed", assignment=[[1, 2]], configs={"file.delete.delay.ms": "600000"})
    fill(cluster, "removed", 20)
    (copy,) = replicas_of(cluster, "removed", 1)
    assert ask(cluster, "removed", (2, 4)).accepted
    wait_until_moved(cluster, "removed", (2, 4))
    until(lambda: replicas_of(cluster, "removed", 1) == [], "the replica to be gone")
    (folder,) = Path(copy.log_dir).glob("removed-0.*-delete")
    assert sum(file.stat().st_size for file in folder.glob("*.log*")) >= copy.size > 0


def test_a_move_between_directories_has_its_own_rate_and_is_taken_back_at_once(cluster: Sandbox) -> None:
    cluster.create_topic("within", assignment=[[1, 2]])
    fill(cluster, "within")
    handle, key = handle_of(cluster), ("within", 0, 1)
    assert set_rates(handle, {(1, DIRECTORY_RATE): 1000})[1, DIRECTORY_RATE].made
    until(lambda: read_throttles(handle, [1], []).own_rate(1, DIRECTORY_RATE) == "1000", "the rate to be known")
    (here,) = replicas_of(cluster, "within", 1)
    (other,) = {one.path for one in logs(cluster, 1).log_dirs} - {here.log_dir}
    assert alter_log_directories(handle, {key: other})[key].accepted
    until(lambda: len(replicas_of(cluster, "within", 1)) == 2, "the future replica")
    (future,) = [one for one in replicas_of(cluster, "within", 1) if one.future]
    assert future.log_dir == other
    assert future.offset_lag, "real, where that of a replica added is not"
    assert alter_log_directories(handle, {key: here.log_dir})[key].accepted
    assert [one.log_dir for one in replicas_of(cluster, "within", 1)] == [here.log_dir]


def planned_for(cluster: Sandbox, topic: str, drain: int) -> dict[str, set[int]]:
    """Brokers that a plan gives replicas of the topic to."""
    request = Request((Reason(ReasonKind.DRAIN, (drain,)),), topics=topic, max_disk_used=1.0)
    found = rebalance_replicas(handle_of(cluster), request)
    return {change.topic: set(change.adding) for change in found.plan.changes}


def test_a_cordoned_broker_gets_no_new_topic_and_takes_a_move_all_the_same(cluster: Sandbox) -> None:
    paths = frozenset(one.path for one in logs(cluster, 4).log_dirs)
    if not in_kraft(cluster):
        assert logs(cluster, 4).cordoned is None, "known from 4.3 on"
        return
    handle = handle_of(cluster)
    cordon = SettingChange(EntityType.BROKER, "4", "cordoned.log.dirs", Operation.SET, "*")
    assert logs(cluster, 4).cordoned == frozenset()
    assert alter_settings(handle, [cordon])[0].made
    try:
        until(lambda: logs(cluster, 4).cordoned == paths, "the directories to be cordoned")
        cluster.create_topic("new", partitions=12, replication_factor=1)
        assert replicas_of(cluster, "new", 4) == []
        cluster.create_topic("moved", assignment=[[1, 2]])
        assert planned_for(cluster, "moved", drain=1) == {"moved": {3}}, "never 4, which Kafka would take"
        metadata = Path(logs(cluster, 1).log_dirs[0].path)
        until(lambda: cordoned_brokers(read_kraft_metadata(str(metadata))) == {4}, "the cordon in the metadata log")
        assert ask(cluster, "moved", (4, 2)).accepted
        wait_until_moved(cluster, "moved", (4, 2))
    finally:
        alter_settings(handle, [SettingChange(EntityType.BROKER, "4", "cordoned.log.dirs", Operation.DELETE)])
    until(lambda: logs(cluster, 4).cordoned == frozenset(), "the cordon to be gone")
