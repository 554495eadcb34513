"""A real cluster under random faults, and then its controllers' decisions held against the engine's rules: make traces.

    python tests/support/real_clusters/random_faults.py --mode kraft --minutes 30 --seed 1

The trace is the metadata log in KRaft mode, and ZooKeeper's transaction logs in its mode: each has every decision.

Brokers are killed, paused beyond their session, shut down and started again; links between them, and to ZooKeeper, are
cut in one direction and restored; leaders are elected, cleanly and not; replicas are moved and moves cancelled;
min.insync.replicas and unclean.leader.election.enable change. Disks are lost; in KRaft brokers that are down are
unregistered. The faults are those of the seed; what comes of them depends on the machine. Exits 0 if every decision is
explained.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from conformance.supervisor import wait_for_all

import kreplica
from kreplica.errors import KreplicaError, SandboxError
from kreplica.sandbox import Links, Mode, ProcessState, Sandbox, SandboxSettings, start
from kreplica.sandbox.servers.nodes import ZOOKEEPER_ID
from kreplica.sources.kafka.connections.failures import BrokerFailure
from real_clusters.lost_disks import lose_disk
from real_clusters.moves import connection_to, start_move

LAG = {"replica.lag.time.max.ms": "4000"}
SESSIONS = {
    Mode.KRAFT: {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"},
    Mode.ZOOKEEPER: {"zookeeper.session.timeout.ms": "4000"},
}
TRACES = {Mode.KRAFT: "controller-*/**/__cluster_metadata-0", Mode.ZOOKEEPER: "zookeeper/**/version-2"}
"""Folders of the decisions, in that of a sandbox."""
BROKERS = (1, 2, 3, 4)
TOPICS = {
    "orders": [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]],
    "pairs": [[1, 2], [3, 4], [2, 3]],
    "single": [[1], [4]],
    "loose": [[1, 2], [2, 3]],
}
PAUSE = 6.0
"""Seconds for which a broker is stopped: longer than its session."""
BACK_SECONDS = 240.0
MOST_CUT = 3
"""Links that are cut at once."""


class Faults:
    """Does random things to a cluster; at least one broker runs."""

    def __init__(self, sandbox: Sandbox, links: Links, seed: int) -> None:
        self.sandbox, self.links, self.random = sandbox, links, Random(seed)
        self.done: Counter[str] = Counter()
        self.down: set[int] = set()
        self.cut: list[tuple[int, int]] = []
        self.refusals = _refusals()

    def one(self) -> None:
        """Does one of them; one that the cluster refuses is counted as refused."""
        name, fault = self.random.choice(
            [
                ("kill", self._kill),
                ("shut down", self._shut_down),
                ("lose a disk", self._lose_disk),
                ("unregister", self._unregister),
                ("pause", self._pause),
                ("start", self._start),
                ("start", self._start),
                ("cut", self._cut),
                ("restore", self._restore),
                ("elect preferred", lambda: self._elect(unclean=False)),
                ("elect uncleanly", lambda: self._elect(unclean=True)),
                ("move", self._move),
                ("min.insync.replicas", self._min_isr),
                ("unclean.leader.election.enable", self._unclean),
            ]
        )
        try:
            self.done[name if fault() else "nothing to do"] += 1
        except self.refusals as error:
            print(f"  {name} refused: {type(error).__name__} {str(error)[:100]}", flush=True)
            self.done["refused"] += 1

    def end(self) -> None:
        """Restores every link, starts what is down, and waits until all are alive."""
        self.links.restore_all()
        for broker in BROKERS:
            if self.sandbox.process_state(broker) is ProcessState.ENDED:
                self.sandbox.start_broker(broker, wait=False)
        wait_for_all(self.sandbox, BROKERS, BACK_SECONDS)

    def _running(self) -> list[int]:
        self._bring_back()
        return [broker for broker in self.sandbox.running_brokers() if broker not in self.down]

    def _bring_back(self) -> None:
        """Starts brokers that have ended by themselves, as systemd would, and restores their links to ZooKeeper first.

        One that finds the znode of its earlier session ends, and so does one that does not reach ZooKeeper in time
        (zookeeper.connection.timeout.ms); with its link cut for long it would end again and again.
        """
        for broker in BROKERS:
            if broker not in self.down and self.sandbox.process_state(broker) is ProcessState.ENDED:
                self._reach_zookeeper(broker)
                self.sandbox.start_broker(broker, wait=False)
                self.done["brought back"] += 1

    def _reach_zookeeper(self, broker: int) -> None:
        """Restores what is cut between a broker and ZooKeeper."""
        for way in [way for way in self.cut if set(way) == {broker, ZOOKEEPER_ID}]:
            self.links.restore(*way, one_way=True)
            self.cut.remove(way)

    def _taken_down(self, end: Callable[[int], None]) -> bool:
        running = self._running()
        if len(running) < 2:
            return False
        broker = self.random.choice(running)
        end(broker)
        self.down.add(broker)
        return True

    def _kill(self) -> bool:
        return self._taken_down(self.sandbox.kill)

    def _shut_down(self) -> bool:
        return self._taken_down(self.sandbox.shut_down)

    def _lose_disk(self) -> bool:
        return self._taken_down(partial(lose_disk, self.sandbox))

    def _unregister(self) -> bool:
        """An operator gives up a broker that is down; it registers anew when it starts."""
        if not self.down or self.sandbox.mode is Mode.ZOOKEEPER:
            return False
        broker = self.random.choice(sorted(self.down))
        result = self.sandbox.tool("cluster", "unregister", "--id", str(broker))
        if "no longer registered" not in result:
            raise SandboxError(f"broker {broker} was not unregistered", result)
        return True

    def _pause(self) -> bool:
        broker = self.random.choice(self._running())
        self.sandbox.pause(broker)
        time.sleep(PAUSE)
        self.sandbox.resume(broker)
        return True

    def _start(self) -> bool:
        if not self.down:
            return False
        broker = self.random.choice(sorted(self.down))
        self._reach_zookeeper(broker)
        self.sandbox.start_broker(broker, wait=False)
        self.down.discard(broker)
        return True

    def _cut(self) -> bool:
        ways = [(source, target) for source in self.links.ports for target in self.links.ports if source != target]
        way = self.random.choice(ways)
        if len(self.cut) == MOST_CUT or way in self.cut:
            return False
        self.links.cut(*way, one_way=True)
        self.cut.append(way)
        return True

    def _restore(self) -> bool:
        if not self.cut:
            return False
        self.links.restore(*self.cut.pop(0), one_way=True)
        return True

    def _partition(self) -> tuple[str, int]:
        topic = self.random.choice(sorted(TOPICS))
        return topic, self.random.randrange(len(TOPICS[topic]))

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.sandbox.live_bootstrap_servers(), "log_level": 0})

    def _elect(self, *, unclean: bool) -> bool:
        from confluent_kafka import ElectionType, TopicPartition

        kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        places = [TopicPartition(*place) for place in sorted({self._partition() for _ in range(4)})]
        client = self._admin()
        client.elect_leaders(kind, places).result(timeout=10)  # with a request_timeout it raises SystemError
        return True

    def _move(self) -> bool:
        topic, partition = self._partition()
        target = self.random.sample(BROKERS, len(TOPICS[topic][partition]))
        refused: Exception = AssertionError("no broker runs")
        for broker in self._running():  # in ZooKeeper mode only the controller takes it
            try:
                with connection_to(self.sandbox, broker) as connection:
                    start_move(connection, topic, partition, target)
                return True
            except self.refusals as error:
                refused = error
        raise refused

    def _set(self, name: str, value: str) -> bool:
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        topic, _ = self._partition()
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        client = self._admin()  # held: one that nobody holds ends with its requests
        for done in client.incremental_alter_configs([resource], request_timeout=10).values():
            done.result()
        return True

    def _min_isr(self) -> bool:
        return self._set("min.insync.replicas", self.random.choice("123"))

    def _unclean(self) -> bool:
        return self._set("unclean.leader.election.enable", self.random.choice(("true", "false")))


def _refusals() -> tuple[type[Exception], ...]:
    from confluent_kafka import KafkaException

    return (KreplicaError, BrokerFailure, KafkaException, AssertionError, OSError)


def main() -> int:
    """Runs the cluster and judges its decisions."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--mode", choices=[*Mode], default=Mode.KRAFT)
    asked.add_argument("--minutes", type=float, default=30)
    asked.add_argument("--seed", type=int, default=int(time.time()))
    asked.add_argument("--kafka-version", default="", help="a release of the sandbox")
    given = asked.parse_args()
    mode = Mode(given.mode)
    print(f"{mode}, seed {given.seed}, {given.minutes} minutes", flush=True)
    settings = SandboxSettings(
        name="traces",
        mode=mode,
        release=given.kafka_version,
        brokers=len(BROKERS),
        controllers=1 if mode is Mode.KRAFT else 0,
        broker_settings=LAG | SESSIONS[mode],
    )
    with (
        tempfile.TemporaryDirectory() as home,
        Links(settings.name, len(BROKERS), zookeeper=mode is Mode.ZOOKEEPER, home=Path(home)) as links,
        start(replace(settings, advertised_ports=links.ports), Path(home)) as sandbox,
    ):
        _run(sandbox, links, given.minutes, given.seed)
        (trace,) = sandbox.folder.glob(TRACES[mode])
        return judge(Path(shutil.copytree(trace, Path(home) / "trace" / trace.name)))


def _run(sandbox: Sandbox, links: Links, minutes: float, seed: int) -> None:
    for topic, assignment in TOPICS.items():
        sandbox.create_topic(topic, assignment=assignment)
    faults, end = Faults(sandbox, links, seed), time.monotonic() + minutes * 60
    while time.monotonic() < end:
        faults.one()
        time.sleep(faults.random.uniform(0.5, 6.0))
    faults.end()
    time.sleep(PAUSE)
    print(f"faults: {dict(faults.done)}", flush=True)


def judge(log: Path) -> int:
    """Holds the decisions against the rules, and keeps their log where one is refused."""
    found = kreplica.whatif_validate([str(log)])
    print(f"explained: { {rule.value: number for rule, number in found.counts.items()} }")
    for row in found.refused[:20]:
        print(f"REFUSED offset {row.offset} {row.topic}-{row.partition}: {row.refused}")
    print(f"{sum(found.counts.values())} changes explained, {len(found.refused)} refused, by {found.version}")
    if found.refused:
        kept = Path(tempfile.mkdtemp(prefix="kreplica-trace-")) / log.name
        shutil.copytree(log, kept)
        print(f"the log is kept: {kept}")
    return int(found.exit_code)


if __name__ == "__main__":
    sys.exit(main())
