"""Replicas moved between log directories of real brokers, two each: under load, after kills, back again.

Where replicas are, and on their way to, is told by kafka-log-dirs, throttles through librdkafka, once by kafka-configs.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import printed
from real_clusters.moved_replicas import fill
from real_clusters.throttle_settings import assert_told_by_kafka_configs, throttles
from real_clusters.views import partitions
from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.execution.moves.carrying_out import (
    CarryOutOptions,
    MoveOutcome,
    moves_apply,
    moves_cancel,
    moves_rollback,
    moves_status,
)
from kreplica.execution.moves.rate_request import rebalance_throttle
from kreplica.execution.moves.session import MoveOptions
from kreplica.model.throttles import DIRECTORY_RATE
from kreplica.sandbox import Mode, Sandbox
from kreplica.sandbox.load.load import LoadResult, LoadSettings, run_load

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

BEFORE = [[1, 2, 3]] * 2 + [[2, 1, 3]] * 2 + [[3, 2, 1]] * 2
FAST = {
    "replica.lag.time.max.ms": "6000",
    "replica.fetch.max.bytes": "10000",  # a throttle of little data holds
    "replica.fetch.response.max.bytes": "20000",
}
NUMBERS = itertools.count()
SLOW = "2KB"
"""A rate at which nothing ends."""


@pytest.fixture(scope="module", params=[Mode.KRAFT, Mode.ZOOKEEPER])
def running(request: pytest.FixtureRequest, module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    more = {"broker.session.timeout.ms": "6000"} if request.param is Mode.KRAFT else {}
    name = f"directories-{request.param}"
    return module_sandbox_factory(
        name=name, mode=request.param, brokers=3, controllers=1 if request.param is Mode.KRAFT else 0, log_dirs=2,
        broker_settings=FAST | more,
    )  # fmt: skip


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[str]:
    """A topic with data, another one in each test, and an operator's throttles of directory moves."""
    name = f"orders{next(NUMBERS)}"
    cluster.create_topic(name, assignment=BEFORE, configs={"min.insync.replicas": "2"})
    for number in range(len(BEFORE)):
        fill(cluster, name, 300, number)  # in small batches: a large one goes through whatever the throttle
    own = ("--entity-name", "1", "--add-config", f"{DIRECTORY_RATE}=900000000")
    cluster.tool("configs", "--alter", "--entity-type", "brokers", *own)
    default = ("--entity-default", "--add-config", f"{DIRECTORY_RATE}=910000000")
    cluster.tool("configs", "--alter", "--entity-type", "brokers", *default)
    yield name
    cluster.delete_topic(name)


def places(sandbox: Sandbox, topic: str, broker: int = 1, *, future: bool = False) -> dict[int, str]:
    """Log directory of each replica of a broker, or of those on their way, as kafka-log-dirs tells it."""
    words = ("--describe", "--broker-list", str(broker), "--topic-list", topic)
    (line,) = (one for one in sandbox.tool("log-dirs", *words).splitlines() if one.startswith("{"))
    (found,) = json.loads(line)["brokers"]
    return {
        int(one["partition"].rpartition("-")[2]): entry["logDir"]
        for entry in found["logDirs"]
        for one in entry["partitions"]
        if one["isFuture"] is future
    }


def handle_of(sandbox: Sandbox) -> ClusterHandle:
    return ClusterHandle("test", sandbox.bootstrap_servers, timeout=20)


def rebalance(sandbox: Sandbox, *words: str | Path) -> list[str]:
    program = [sys.executable, "-m", "kreplica", "rebalance", *map(str, words)]
    return [*program, "--bootstrap-server", sandbox.bootstrap_servers]


def done(line: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, capture_output=True, text=True, timeout=240, check=False)


def write_plan(sandbox: Sandbox, topic: str, folder: Path) -> tuple[Path, dict[int, str], dict[int, str]]:
    """A plan by which every replica of broker 1 changes its directory; where they are, and where they will be."""
    before = places(sandbox, topic)
    one, other = sorted({entry.path for entry in log_dirs(sandbox)})
    after = {number: other if path == one else one for number, path in before.items()}
    wanted = [
        {
            "topic": topic, "partition": number, "replicas": replicas,
            "log_dirs": [after[number] if broker == 1 else "any" for broker in replicas],
        }
        for number, replicas in enumerate(BEFORE)
    ]  # fmt: skip
    (folder / "wanted.json").write_text(json.dumps({"version": 1, "partitions": wanted}))
    words = ("replicas", "--from-reassignment-json", folder / "wanted.json", "--out", folder / "plan.json")
    code, out, err = printed(*rebalance(sandbox, *words)[3:])
    assert code == 0, out + err
    assert out.startswith("PLANNED 6 replicas would change their log directory")
    return folder / "plan.json", before, after


def log_dirs(sandbox: Sandbox) -> Any:
    from kreplica.sources.kafka.log_dirs import BrokerLogs, read_broker_logs

    told = read_broker_logs(handle_of(sandbox), [1], [])[1]
    assert isinstance(told, BrokerLogs)
    return told.log_dirs


def options(rate: int, **more: Any) -> CarryOutOptions:
    return CarryOutOptions(MoveOptions(throttle=rate, poll=0.5, tell=print, **more))


def states(outcome: MoveOutcome) -> list[str]:
    return sorted(row.state for row in outcome.rows)


class Load:
    """Producers and consumers beside a test, and the smallest ISR that any broker has told meanwhile."""

    def __init__(self, sandbox: Sandbox, topic: str) -> None:
        self._sandbox, self._topic, self._ended = sandbox, topic, threading.Event()
        self.results: list[LoadResult] = []
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

    def _produce(self) -> None:
        client = {"bootstrap.servers": self._sandbox.bootstrap_servers}
        self.results.append(run_load(client, LoadSettings(topic=self._topic, rate=100, seconds=300), self._ended))

    def _watch(self) -> None:
        while not self._ended.wait(0.3):
            self.smallest = min(self.smallest, *(len(one.isrs) for one in partitions(self._sandbox, self._topic)))


def test_a_directory_is_left_under_load_and_nothing_is_lost(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    throttled = throttles(cluster)
    assert_told_by_kafka_configs(cluster, throttled)
    path, before, after = write_plan(cluster, topic, tmp_path)
    with Load(cluster, topic) as load:
        outcome = moves_apply(handle_of(cluster), path, options(500_000), execute=True)
    assert (states(outcome), outcome.exit_code, outcome.remarks) == (["done"] * 6, 0, ())
    assert (places(cluster, topic), places(cluster, topic, future=True)) == (after, {})
    assert throttles(cluster) == throttled
    assert_told_by_kafka_configs(cluster, throttled)
    (result,) = load.results
    assert result.total("acknowledged")
    assert result.total("lost") == 0
    assert load.smallest == 3, "no replica left an ISR"
    back = moves_rollback(handle_of(cluster), path, options(50_000_000), execute=True)
    assert ([row.rollback for row in back.rows], back.exit_code) == (["done"] * 6, 0)
    assert places(cluster, topic) == before
    assert throttles(cluster) == throttled


def test_a_run_that_is_killed_is_resumed(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    throttled = throttles(cluster)
    path, _, after = write_plan(cluster, topic, tmp_path)
    killed = subprocess.Popen(rebalance(cluster, "apply", path, "--throttle", SLOW, "--execute"))
    until(lambda: bool(places(cluster, topic, future=True)), "a replica to be on its way", 60)
    killed.kill()
    killed.wait()
    assert throttles(cluster) != throttled
    told = moves_status(handle_of(cluster), path)
    assert (told.counts, told.exit_code) == ({"under-way": 2, "pending": 4}, 1), "two at a time"
    lacking = [(row.bytes_left, row.offset_lag) for row in told.rows if row.state == "under-way"]
    assert all(left and lag for left, lag in lacking), lacking
    resumed = done(rebalance(cluster, "resume", path, "--throttle", "50MB", "--execute"))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert places(cluster, topic) == after
    assert throttles(cluster) == throttled


def test_what_is_in_flight_is_taken_back(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    throttled = throttles(cluster)
    path, before, _ = write_plan(cluster, topic, tmp_path)
    killed = subprocess.Popen(rebalance(cluster, "apply", path, "--throttle", SLOW, "--execute"))
    until(lambda: bool(places(cluster, topic, future=True)), "a replica to be on its way", 60)
    killed.kill()
    killed.wait()
    outcome = moves_cancel(handle_of(cluster), path, options(50_000_000), in_flight=True, execute=True)
    said = path.with_name("plan.json.journal").read_text(encoding="utf-8")
    assert (states(outcome), outcome.exit_code) == (["cancelled"] * 2 + ["dropped"] * 4, 0), said
    assert (places(cluster, topic), places(cluster, topic, future=True)) == (before, {})
    assert throttles(cluster) == throttled


def test_a_broker_that_restarts_goes_on_with_its_copies(cluster: Sandbox, topic: str, tmp_path: Path) -> None:
    throttled = throttles(cluster)
    path, _, after = write_plan(cluster, topic, tmp_path)
    found: list[MoveOutcome] = []
    slow = options(2000, max_wait=120.0)
    thread = threading.Thread(target=lambda: found.append(moves_apply(handle_of(cluster), path, slow, execute=True)))
    thread.start()
    until(lambda: bool(places(cluster, topic, future=True)), "a replica to be on its way", 60)
    cluster.kill(1)

    def named() -> bool:
        told = moves_status(handle_of(cluster), path)
        return [row.reason for row in told.rows if row.state == "under-way"] == ["broker 1 is down"] * 2

    until(named, "the cluster to notice that broker 1 is down, and its session to end", 60)
    cluster.start_broker(1)
    rebalance_throttle(path, 50_000_000, wait=120)
    thread.join(240)
    assert [(states(one), one.exit_code) for one in found] == [(["done"] * 6, 0)], found
    assert places(cluster, topic) == after
    assert throttles(cluster) == throttled
