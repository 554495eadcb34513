"""Plans of replicas on real clusters of four brokers: a drain under load, a destination that dies, the ways back.

What is the case is told by kafka-topics and kafka-configs, and throttles again and again through librdkafka.
"""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import printed
from real_clusters.throttle_settings import assert_told_by_kafka_configs, throttles
from real_clusters.views import partitions, produce, wait_for_leaders, wait_for_replicas, wait_until_out_of_isrs
from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.execution.moves.carrying_out import (
    CarryOutOptions,
    MoveOutcome,
    moves_apply,
    moves_cancel,
    moves_resume,
    moves_rollback,
    moves_status,
)
from kreplica.execution.moves.plans.plan import PlanRequest, plan_replicas
from kreplica.execution.moves.plans.plan_file import write_replica_plan
from kreplica.execution.moves.rate_request import rebalance_throttle
from kreplica.execution.moves.session import MoveOptions
from kreplica.execution.moves.throttles.automatic_rate import RateBounds
from kreplica.planner.reassignment.moves.order import MoveLimits
from kreplica.sandbox import Mode, Sandbox
from kreplica.sandbox.load.load import LoadResult, LoadSettings, run_load
from kreplica.sources import Facet, read_snapshot

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

BEFORE = [[3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
BROKER_4, FOLLOWERS_RATE = "BROKER 4", "follower.replication.throttled.rate"
AFTER = [(4, 1, 2), (1, 4, 2), (2, 1, 4), (4, 2, 1)]
LINE = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\d+)\tReplicas: (\S+)\tIsr: (\S+)")
FAST = {
    "replica.lag.time.max.ms": "6000",
    "replica.fetch.max.bytes": "10000",  # a throttle of little data holds
    "replica.fetch.response.max.bytes": "20000",
}


@dataclass
class Names:
    """Name of the topic, another one in each test.

    In ZooKeeper mode nobody deletes the copies of a broker that was down meanwhile, and a broker that has one takes no
    replica of a later topic of the same name (its log says ``Topic ID in memory``): a move there would never end.
    """

    topic: str = ""
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def renew(self) -> None:
        self.topic = f"orders{next(self.numbers)}"


NAMES = Names()


@pytest.fixture(scope="module", params=[Mode.KRAFT, Mode.ZOOKEEPER])
def running(request: pytest.FixtureRequest, module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    more = {"broker.session.timeout.ms": "6000"} if request.param is Mode.KRAFT else {}
    settings = {"name": f"moves-{request.param}", "mode": request.param, "brokers": 4, "broker_settings": FAST | more}
    if request.param is Mode.KRAFT:
        settings["controllers"] = 1  # so that two brokers can die
    return module_sandbox_factory(**settings)


@pytest.fixture
def orders(cluster: Sandbox) -> Iterator[Sandbox]:
    """A topic on three of the brokers, with data, and an operator's throttles of all kinds."""
    NAMES.renew()
    own = {"min.insync.replicas": "2", "leader.replication.throttled.replicas": "0:1,3:2"}
    cluster.create_topic(NAMES.topic, assignment=BEFORE, configs=own)
    every = dict.fromkeys(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"), "*")
    cluster.create_topic("other", assignment=[[1, 2]], configs=every)
    produce(cluster, NAMES.topic, 20_000)
    rates = "leader.replication.throttled.rate=900000000,follower.replication.throttled.rate=910000000"
    configure(cluster, "--entity-type", "brokers", "--entity-name", "1", "--add-config", rates)
    default = "leader.replication.throttled.rate=920000000"
    configure(cluster, "--entity-type", "brokers", "--entity-default", "--add-config", default)
    yield cluster
    cluster.delete_topic(NAMES.topic)
    cluster.delete_topic("other")


def configure(sandbox: Sandbox, *words: str) -> None:
    sandbox.tool("configs", "--alter", *words)


def replicas_told(sandbox: Sandbox) -> list[tuple[int, ...]]:
    text = sandbox.tool("topics", "--describe", "--topic", NAMES.topic)
    return [tuple(map(int, replicas.split(","))) for _, _, _, replicas, _ in LINE.findall(text)]


def handle_of(sandbox: Sandbox) -> ClusterHandle:
    return ClusterHandle("test", sandbox.bootstrap_servers, timeout=20)


def write_plan(
    sandbox: Sandbox, path: Path, limits: MoveLimits | None = None, target: Sequence[Sequence[int]] = AFTER
) -> None:
    snapshot = read_snapshot(handle_of(sandbox), Facet.TOPIC_CONFIGS | Facet.LOG_DIRS)
    targets = {(NAMES.topic, number): replicas for number, replicas in enumerate(map(tuple, target))}
    request = PlanRequest(targets, limits=limits or MoveLimits(moves=2))
    plan, left_out = plan_replicas(snapshot, request, "2026-03-01T12:00:00+00:00")
    assert (left_out, len(plan.changes)) == ((), 4)
    write_replica_plan(replace(plan, drained=(3,)), path)


def cordon(sandbox: Sandbox) -> list[str]:
    """Broker 3's own setting that cordons, as kafka-configs tells it."""
    text = sandbox.tool("configs", "--describe", "--entity-type", "brokers", "--entity-name", "3")
    return re.findall(r"^ *cordoned.log.dirs=(\S*) ", text, re.MULTILINE)


def options(rate: int, **more: Any) -> CarryOutOptions:
    return CarryOutOptions(MoveOptions(throttle=rate, poll=0.5, tell=print, **more))


class Load:
    """Producers and consumers beside a test, and the smallest ISR that any broker has told meanwhile."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self._ended = sandbox, threading.Event()
        self._results: list[LoadResult] = []
        self.smallest = 99
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._watch)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        time.sleep(2)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @property
    def result(self) -> LoadResult:
        (found,) = self._results
        return found

    def _produce(self) -> None:
        client = {"bootstrap.servers": self._sandbox.bootstrap_servers}
        settings = LoadSettings(topic=NAMES.topic, rate=100, seconds=300)
        self._results.append(run_load(client, settings, self._ended))

    def _watch(self) -> None:
        while not self._ended.wait(0.3):
            sizes = [len(one.isrs) for one in partitions(self._sandbox, NAMES.topic)]
            self.smallest = min(self.smallest, *sizes)


def states(outcome: MoveOutcome) -> list[str]:
    return sorted(row.state for row in outcome.rows)


def test_a_drain_under_load_loses_nothing_and_leaves_every_throttle_as_it_was(orders: Sandbox, tmp_path: Path) -> None:
    before = throttles(orders)
    assert_told_by_kafka_configs(orders, before)
    write_plan(orders, tmp_path / "plan.json")
    seen: list[list[str]] = []
    told = replace(options(2_000_000).run, tell=lambda _: seen.append(cordon(orders)) if not seen else None)
    with Load(orders) as load:
        outcome = moves_apply(handle_of(orders), tmp_path / "plan.json", CarryOutOptions(told), execute=True)
    assert (seen[0], cordon(orders)) == (["*"] if orders.mode is Mode.KRAFT else [], [])
    assert (states(outcome), outcome.exit_code) == (["done"] * 4, 0)
    told_by_kafka = LINE.findall(orders.tool("topics", "--describe"))
    others = [one for one in told_by_kafka if one[0] != NAMES.topic and "3" in one[3].split(",")]
    assert others, "the load's consumers commit to a topic that stands on each broker"
    (remark,) = outcome.remarks
    assert remark.startswith(f"broker 3 has {len(others)} replicas that the plan does not move: __consumer_offsets-")
    assert replicas_told(orders) == AFTER
    wait_for_leaders(orders, NAMES.topic, [replicas[0] for replicas in AFTER])
    assert throttles(orders) == before
    assert_told_by_kafka_configs(orders, before)
    assert load.result.total("acknowledged")
    assert load.result.total("lost") == 0
    assert load.smallest >= 2, "min.insync.replicas was kept"
    back = moves_rollback(handle_of(orders), tmp_path / "plan.json", options(50_000_000), execute=True)
    assert ([row.rollback for row in back.rows], back.exit_code) == (["done"] * 4, 0)
    assert replicas_told(orders) == [tuple(replicas) for replicas in BEFORE]
    assert throttles(orders) == before
    assert moves_status(handle_of(orders), tmp_path / "plan.json").exit_code == 0


def begun(sandbox: Sandbox, path: Path, then: Callable[[], None]) -> MoveOutcome:
    """Applies a plan so slowly that something can happen to it, which stops it as soon as it is noticed."""
    found: list[MoveOutcome] = []
    write_plan(sandbox, path)
    slow = options(20_000, max_wait=15.0)
    thread = threading.Thread(target=lambda: found.append(moves_apply(handle_of(sandbox), path, slow, execute=True)))
    thread.start()
    until(lambda: any(4 in one.replicas for one in partitions(sandbox, NAMES.topic)), "a move to begin")
    then()
    thread.join()
    return found[0]


def test_a_destination_dies_in_the_middle_and_the_plan_is_resumed(orders: Sandbox, tmp_path: Path) -> None:
    before, path = throttles(orders), tmp_path / "plan.json"
    outcome = begun(orders, path, lambda: orders.kill(4))
    assert outcome.exit_code == 4
    assert "broker 4, which gets a replica, is down" in outcome.state.progress.message
    assert "under-way" in states(outcome)  # on a busy machine one of the moves may end before the broker dies
    assert set(states(outcome)) <= {"done", "under-way", "waiting"}
    told = moves_status(handle_of(orders), path)
    assert (told.exit_code, told.remarks[0][:24]) == (1, "throttles of brokers 1, ")
    assert {row.reason for row in told.rows if row.state == "under-way"} == {"broker 4, which gets a replica, is down"}
    orders.start_broker(4)
    outcome = moves_resume(handle_of(orders), path, options(50_000_000), execute=True)
    assert (states(outcome), outcome.exit_code) == (["done"] * 4, 0), outcome
    assert replicas_told(orders) == AFTER
    assert throttles(orders) == before


def test_a_move_is_taken_back_in_flight_in_its_old_order(orders: Sandbox, tmp_path: Path) -> None:
    before, path = throttles(orders), tmp_path / "plan.json"
    begun(orders, path, lambda: orders.kill(4))
    outcome = moves_cancel(handle_of(orders), path, options(50_000_000), in_flight=True, execute=True)
    cancelled = [row.partition for row in outcome.rows if row.state == "cancelled"]
    assert cancelled  # on a busy machine one of the moves may end before the broker dies
    assert set(states(outcome)) <= {"cancelled", "done", "dropped"}
    told = replicas_told(orders)
    assert [told[number] for number in cancelled] == [tuple(BEFORE[number]) for number in cancelled]
    assert "broker 4 is down: its throttle is put back by resume, when it is back" in outcome.remarks
    in_kraft = orders.mode is Mode.KRAFT
    told = moves_status(handle_of(orders), path)
    assert told.exit_code == 1
    assert told.remarks == (
        "throttles of brokers 4 are still to be put back",
        "broker 4 is down: resume puts its throttle back when it is back"
        + ", or now with --through-controllers" * in_kraft,
    )
    if not in_kraft:
        reasons = {row.reason for row in outcome.rows if row.state == "cancelled"}
        assert reasons == {"taken back in flight; broker 4 is down: the copy stays on the disk there"}
        orders.start_broker(4)
    paying = options(50_000_000, through_controllers=in_kraft)
    paid = moves_resume(handle_of(orders), path, paying, execute=True)
    assert (paid.remarks, paid.exit_code) == ((), 0)
    if in_kraft:
        orders.start_broker(4)
    assert throttles(orders) == before


def test_a_move_is_not_taken_back_where_too_few_would_be_in_sync(orders: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(orders, path)
    stop = threading.Event()
    slow = options(20_000, stopping=stop.is_set, max_wait=8.0)
    found: list[MoveOutcome] = []
    thread = threading.Thread(target=lambda: found.append(moves_apply(handle_of(orders), path, slow, execute=True)))
    thread.start()
    until(lambda: any(4 in one.replicas for one in partitions(orders, NAMES.topic)), "a move to begin")
    orders.kill(3)
    orders.kill(2)
    thread.join()
    wait_until_out_of_isrs(orders, 2)
    said: list[str] = []
    told = replace(options(50_000_000, max_wait=1.0).run, tell=said.append)
    outcome = moves_cancel(handle_of(orders), path, CarryOutOptions(told), in_flight=True, execute=True)
    assert "cancelled" not in states(outcome)
    assert any("of its replicas before only 1 would be in sync" in text for text in said), said
    orders.start_broker(2)
    orders.start_broker(3)
    outcome = moves_resume(handle_of(orders), path, options(50_000_000), execute=True)
    assert outcome.exit_code == 0, outcome
    wanted: Sequence[Sequence[int]] = replicas_told(orders)
    wait_for_replicas(orders, NAMES.topic, wanted)


def rebalance(sandbox: Sandbox, *words: str | Path) -> list[str]:
    program = [sys.executable, "-m", "kreplica", "rebalance", *map(str, words)]
    return [*program, "--bootstrap-server", sandbox.bootstrap_servers]


def test_a_run_that_is_killed_is_resumed_and_one_that_is_interrupted_waits(orders: Sandbox, tmp_path: Path) -> None:
    before, path = throttles(orders), tmp_path / "plan.json"
    write_plan(orders, path)
    killed = subprocess.Popen(rebalance(orders, "apply", path, "--throttle", "20KB", "--execute"))
    until(lambda: any(4 in one.replicas for one in partitions(orders, NAMES.topic)), "a move to begin")
    killed.kill()
    killed.wait()
    assert throttles(orders) != before
    line = rebalance(orders, "resume", path, "--throttle", "50MB", "--execute")
    resumed = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert replicas_told(orders) == AFTER
    assert throttles(orders) == before

    line = rebalance(orders, "rollback", path, "--throttle", "100KB", "--execute")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as interrupted:
        until(lambda: any(3 in one.replicas for one in partitions(orders, NAMES.topic)), "a move to begin")
        interrupted.send_signal(signal.SIGINT)
        _, err = interrupted.communicate(timeout=120)
    assert interrupted.returncode == 4, err
    assert "nothing more begins; what is in flight finishes, then the throttles are put back" in err
    assert sum(3 in replicas for replicas in replicas_told(orders)) == 2, "two were in flight"
    assert throttles(orders) == before


def rate_told(sandbox: Sandbox, broker: int, kind: str) -> str:
    """The broker's own rate as kafka-configs tells it; empty where it has none."""
    text = sandbox.tool("configs", "--describe", "--entity-type", "brokers", "--entity-name", str(broker))
    found = re.search(rf"\b{kind}\.replication\.throttled\.rate=(\d+)", text)
    return found[1] if found else ""


def test_the_rate_of_a_run_is_changed_from_beside_it(orders: Sandbox, tmp_path: Path) -> None:
    before, path = throttles(orders), tmp_path / "plan.json"
    write_plan(orders, path)
    line = rebalance(orders, "apply", path, "--throttle", "20KB", "--execute")
    change = ["rebalance", "throttle", str(path), "--rate"]
    code, _, err = printed(*change, "30KB")
    assert (code, "begin it: kreplica rebalance apply" in err) == (4, True), err
    with (tmp_path / "run.txt").open("w+") as said, subprocess.Popen(line, stdout=said, stderr=said) as running:
        until(lambda: any(4 in one.replicas for one in partitions(orders, NAMES.topic)), "a move to begin")
        assert rate_told(orders, 4, "follower") == "20000"
        code, out, err = printed(*change, "30KB")
        assert code == 0, out + err
        assert out.splitlines()[-1] == "the run sets 30 KB/s for 4 brokers"

        def wanted() -> str:
            return f"the rate to be changed: {throttles(orders)}\n{(tmp_path / 'run.txt').read_text()}"

        until(lambda: (BROKER_4, FOLLOWERS_RATE, "30000") in throttles(orders), wanted, 150)
        assert rate_told(orders, 4, "follower") == "30000"
        assert rate_told(orders, 1, "leader") == "30000", "in place of an operator's own"
        code, out, err = printed(*change, "50MB")
        assert code == 0, out + err
        running.wait(timeout=240)
    out = (tmp_path / "run.txt").read_text()
    assert running.returncode == 0, out
    assert "somebody else changed it" not in out
    assert replicas_told(orders) == AFTER
    assert throttles(orders) == before


@pytest.mark.parametrize("running", [Mode.KRAFT], indirect=True)  # the rule knows no modes
def test_an_automatic_rate_is_halved_where_a_follower_is_held_back(orders: Sandbox, tmp_path: Path) -> None:
    before, path = throttles(orders), tmp_path / "plan.json"
    write_plan(orders, path)
    said: list[str] = []
    found: list[MoveOutcome] = []
    run = MoveOptions(throttle=RateBounds(10_000, 40_000), poll=0.5, tell=said.append, max_wait=300.0)

    def apply() -> None:
        found.append(moves_apply(handle_of(orders), path, CarryOutOptions(run), execute=True))

    def halved() -> bool:
        return any(text.startswith("throttle 20 KB/s -> 10 KB/s: broker 2 left the ISR") for text in said)

    thread = threading.Thread(target=apply)
    with Load(orders) as load:
        thread.start()
        until(lambda: any(4 in one.replicas for one in partitions(orders, NAMES.topic)), "a move to begin")
        assert rate_told(orders, 4, "follower") == "20000", "in between"
        orders.pause(2)
        until(halved, lambda: f"the rate to be halved: {said}", 180)
        orders.resume(2)
        until(lambda: (BROKER_4, FOLLOWERS_RATE, "10000") in throttles(orders), "the rate to be halved")
        rebalance_throttle(path, 50_000_000, wait=120)
        thread.join(240)
    assert [(states(one), one.exit_code) for one in found] == [(["done"] * 4, 0)], said
    assert all("that the plan does not move" in remark for remark in found[0].remarks), "groups' offsets lie there, too"
    assert replicas_told(orders) == AFTER
    assert throttles(orders) == before
    assert load.result.total("acknowledged")
    assert load.result.total("lost") == 0
    assert load.smallest >= 2, "min.insync.replicas was kept"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("running", [Mode.KRAFT], indirect=True)
def test_a_kill_right_after_a_line_of_the_journal_is_resumed(orders: Sandbox, tmp_path: Path) -> None:
    """The line is on disk before its request: the kill hits between the two, or while the request is under way."""
    before = throttles(orders)
    kills = [("throttling", 1), ("intended", 1), ("finished", 1), ("intended", 3), ("released", 2)]
    for number, (event, lines) in enumerate(kills):
        target = BEFORE if number % 2 else AFTER
        path = tmp_path / f"{number}.json"
        write_plan(orders, path, MoveLimits(moves=1), target)
        kill_after(rebalance(orders, "apply", path, "--throttle", "300KB", "--execute", "--yes"), path, event, lines)
        line = rebalance(orders, "resume", path, "--throttle", "50MB", "--execute", "--yes")
        code, out, err = printed(*line[3:])
        assert code == 0, out + err
        wait_for_replicas(orders, NAMES.topic, target)
        assert throttles(orders) == before, event
    assert replicas_told(orders) == [tuple(replicas) for replicas in target]


def kill_after(line: list[str], path: Path, event: str, lines: int) -> None:
    """Runs a command until its journal has so many lines of the event, then kills it."""
    journal = path.with_name(f"{path.name}.journal")

    def noted(kind: str) -> int:
        return journal.read_bytes().count(f'"event":"{kind}"'.encode()) if journal.exists() else 0

    with subprocess.Popen(line) as killed:
        until(lambda: noted(event) >= lines, f"{event} in the journal", pause=0.002)
        assert killed.poll() is None, "it ended before it was killed"
        killed.kill()
    assert noted("completed") == 0
