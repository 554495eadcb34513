"""The brokers' side: does the steps of a row to a sandbox, and reads until the brokers show what is predicted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from real_clusters.moved_replicas import handle_of
from waiting import until

from conformance import script
from conformance.reading import Difference, Reading, differences
from conformance.real_clients import Transactions, consume, join, produce
from conformance.supervisor import start_again
from conformance.sweep import Cast, connection_to, sweep
from kreplica.control.log_directories import alter_log_directories
from kreplica.sandbox import Links, Listener, Mode, ProcessState, Sandbox
from kreplica.sandbox.admin import admin_client
from kreplica.sources.kafka.connections.failures import BrokerFailure
from kreplica.sources.kafka.quorum import read_quorum

OBSTACLE = "replication-offset-checkpoint.tmp"
"""The file that a broker writes before each checkpoint of high watermarks."""
NOT_CONTROLLER = 41
"""Kafka's error code (Errors)."""
PAUSE = 0.4
"""Seconds between two sweeps."""
MOVED_SECONDS = 1.0
"""Seconds that a broker is left alone after a replica's files are in another directory: it takes them over then."""
LIMIT, START_LIMIT = 60.0, 240.0
"""Seconds until brokers that show something else are taken at their word; after a start a busy machine takes longer."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the brokers showed after a step.

    Args:
        reading: The last of the two sweeps that agree.
        differences: From the engine's prediction.
        seconds: Seconds from the end of the action to the first of two sweeps that agree.
    """

    reading: Reading
    differences: tuple[Difference, ...]
    seconds: float


class RealSide:
    """One row on real brokers.

    Args:
        sandbox: The cluster: every broker alive.
        topic: Name of the row's topic, which is made.
        cast: Brokers that play those of the row.
        links: The proxies between its brokers.
        group: Of the row's consumers.
    """

    def __init__(
        self, sandbox: Sandbox, row: script.Row, topic: str, cast: Cast, links: Links | None = None, group: str = ""
    ) -> None:
        self._sandbox = sandbox
        self._topic = topic
        self._cast = cast
        self._links = links
        self._group = group
        self._client: tuple[str, ...] = ()
        self._starts = False
        self._wanted: set[int] = set()
        self._cut_off: list[tuple[int, int]] = []
        self._transactions = Transactions(sandbox, topic)
        replicas = [cast.real[number] for number in row.replicas]
        sandbox.create_topic(topic, assignment=[replicas], configs=dict(row.settings))

    limit = LIMIT

    def do(self, action: script.Action) -> None:
        """Does one action; returns when it is done, not when it has its effect."""
        self._client = ()
        self._starts = any(isinstance(one, script.Start | script.StartController) for one in script.parts(action))
        for one in script.parts(action):
            handler = getattr(self, f"_{type(one).__name__.lower()}")
            handler(one)

    def read(self, predicted: Reading, holds: float = 0) -> Seen:
        """Sweeps until two sweeps one after the other agree and are as predicted, or until the limit is over.

        Args:
            predicted: The engine's reading.
            holds: Seconds to wait before.
        """
        limit = START_LIMIT if self._starts else self.limit
        begun, before, first = time.monotonic(), None, 0.0
        time.sleep(holds)
        while True:
            start_again(self._sandbox, self._wanted)
            at = time.monotonic() - begun
            found = self._sweep()
            if found != before:
                before, first = found, at
            else:
                unlike = differences(predicted, found)
                if not unlike or at > limit:
                    return Seen(found, unlike, first)
            assert at < 2 * limit, f"two sweeps of {self._topic} never agree: {found}"
            time.sleep(PAUSE)

    def _sweep(self) -> Reading:
        return replace(sweep(self._sandbox, self._topic, self._cast), client=self._client)

    # -- servers

    def _kill(self, action: script.Kill) -> None:
        self._wanted.discard(self._cast.real[action.broker])
        self._sandbox.kill(self._cast.real[action.broker])

    def _shutdown(self, action: script.ShutDown) -> None:
        self._wanted.discard(self._cast.real[action.broker])
        self._sandbox.shut_down(self._cast.real[action.broker])

    def _start(self, action: script.Start) -> None:
        self._wanted.add(self._cast.real[action.broker])
        self._sandbox.start_broker(self._cast.real[action.broker], wait=False)

    def _pause(self, action: script.Pause) -> None:
        self._sandbox.pause(self._cast.real[action.broker])

    def _resume(self, action: script.Resume) -> None:
        self._sandbox.resume(self._cast.real[action.broker])

    def _faildisk(self, action: script.FailDisk) -> None:
        """A directory stands where the next checkpoint is to be written: whoever writes there fails, root as well."""
        broker = self._cast.real[action.broker]
        folder = self._sandbox.folder / f"broker-{broker}"
        if self._sandbox.mode is Mode.KRAFT:
            self._move_off_metadata(broker, folder / "data-2")
        (held,) = folder.glob(f"data-*/{self._topic}-0")
        until(partial(_obstruct, held.parent / OBSTACLE), f"a moment in which {OBSTACLE} is not there", pause=0.01)

    def _move_off_metadata(self, broker: int, directory: Path) -> None:
        """Moves a replica off the metadata log, which is in the first directory: a KRaft broker ends if that fails."""
        found = alter_log_directories(handle_of(self._sandbox), {(self._topic, 0, broker): str(directory)})
        assert all(one.accepted for one in found.values()), found
        wanted = [directory / f"{self._topic}-0"]
        until(lambda: sorted(directory.parent.glob(f"data-*/{self._topic}-0")) == wanted, "the replica to have moved")
        time.sleep(MOVED_SECONDS)

    def _active_controller(self) -> int:
        """The active controller, as the first broker that reaches it tells."""
        told: list[int] = []

        def is_told() -> bool:
            told.extend(self._told_controllers())
            return bool(told)

        until(is_told, "a broker that tells which controller is active", LIMIT)
        return told[0]

    def _told_controllers(self) -> Iterator[int]:
        for broker in self._sandbox.running_brokers():
            with suppress(BrokerFailure), connection_to(self._sandbox, broker) as connection:
                yield from (node.node for node in read_quorum(connection)[0] if node.leader)

    def _killcontroller(self, _action: script.KillController) -> None:
        self._sandbox.kill(self._active_controller())

    def _startcontroller(self, _action: script.StartController) -> None:
        for controller in self._sandbox.controller_ids:
            if self._sandbox.process_state(controller) is ProcessState.ENDED:
                self._sandbox.start_broker(controller, wait=False)

    def _cutcontroller(self, action: script.CutController) -> None:
        assert self._links is not None
        active = self._active_controller()
        brokers = [self._cast.real[broker] for broker in action.brokers]
        for other in brokers or set(self._sandbox.controller_ids) - {active}:
            self._links.cut(active, other)
            self._cut_off.append((active, other))

    def _restorecontroller(self, _action: script.RestoreController) -> None:
        assert self._links is not None
        for pair in self._cut_off:
            self._links.restore(*pair)
        self._cut_off = []

    def _cut(self, action: script.Cut) -> None:
        assert self._links is not None
        self._links.cut(self._cast.real[action.source], self._cast.real[action.target], one_way=True)

    def _restore(self, action: script.Restore) -> None:
        assert self._links is not None
        self._links.restore(self._cast.real[action.source], self._cast.real[action.target], one_way=True)

    # -- clients

    def _servers(self) -> str:
        """The first of the row's brokers that runs: one that a cut link keeps from the news is not asked for a leader.

        The engine's clients begin with the same one.
        """
        running = self._sandbox.running_brokers()
        first = next(
            self._cast.real[number] for number in sorted(self._cast.real) if self._cast.real[number] in running
        )
        return self._sandbox.bootstrap_servers_of(Listener.PLAINTEXT, [first])

    def _produce(self, action: script.Produce) -> None:
        self._client += produce(self._servers(), self._topic, action)

    def _consume(self, action: script.Consume) -> None:
        self._client += consume(self._servers(), self._topic, action)

    def _join(self, action: script.Join) -> None:
        self._client += join(self._servers(), self._topic, self._group, action)

    def _begin(self, action: script.Begin) -> None:
        self._client += self._transactions.begin(action)

    def _end(self, action: script.End) -> None:
        self._client += self._transactions.end(action)

    def _wait(self, action: script.Wait) -> None:
        time.sleep(action.seconds)

    # -- an operator

    def _electpreferred(self, _action: script.ElectPreferred) -> None:
        self._elect("PREFERRED")

    def _electunclean(self, _action: script.ElectUnclean) -> None:
        self._elect("UNCLEAN")

    def _elect(self, kind: str) -> None:
        from confluent_kafka import ElectionType, TopicPartition

        client = admin_client(self._sandbox.live_bootstrap_servers())
        client.elect_leaders(ElectionType[kind], [TopicPartition(self._topic, 0)]).result(timeout=30)

    def _settopic(self, action: script.SetTopic) -> None:
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        entry = ConfigEntry(action.setting, action.value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self._topic, incremental_configs=[entry])
        client = admin_client(self._sandbox.live_bootstrap_servers())
        client.incremental_alter_configs([resource])[resource].result(timeout=30)

    def _reassign(self, action: script.Reassign) -> None:
        self._move([self._cast.real[number] for number in action.replicas])

    def _cancelmove(self, _action: script.CancelMove) -> None:
        self._move(None)

    def _move(self, replicas: list[int] | None) -> None:
        from kafka.protocol.admin.topics import AlterPartitionReassignmentsRequest as Request
        from kafka.protocol.admin.topics import AlterPartitionReassignmentsResponse as Response

        partition = Request.ReassignableTopic.ReassignablePartition(partition_index=0, replicas=replicas)
        topics = [Request.ReassignableTopic(name=self._topic, partitions=[partition])]
        refused = []
        for running in self._sandbox.running_brokers():
            with connection_to(self._sandbox, running) as broker:
                answer: Any = broker.send(Request(timeout_ms=10_000, topics=topics), Response)
            if answer.error_code == NOT_CONTROLLER:  # in ZooKeeper mode brokers do not hand it on
                refused.append(running)
                continue
            errors = [one.error_code for found in answer.responses for one in found.partitions]
            assert (answer.error_code, errors) == (0, [0])
            return
        raise AssertionError(f"no broker takes a reassignment, not one of {refused} is the controller")


def _obstruct(obstacle: Path) -> bool:
    """Puts a folder that is not empty where a file is to be written; the broker's own file is there now and then."""
    with suppress(FileExistsError):
        obstacle.mkdir()
        (obstacle / "full").touch()
        return True
    return False
