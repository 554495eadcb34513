"""Both sides of a row on an old release: links that are cut, disks that are lost, and what old brokers do not tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from real_clusters.lost_disks import lose_disk

from conformance import script
from conformance.engine_side import EngineSide
from conformance.old.rows import LoseDisk
from conformance.reading import Disk, Position, Reading, Told
from conformance.real_side import START_LIMIT, RealSide
from conformance.sweep import Cast
from kreplica.engine import fault_plan
from kreplica.engine.simulator.plan_player import act
from kreplica.engine.trace import Kind
from kreplica.sandbox import Links, Sandbox

Number = tuple[int, ...]


def number_of(release: str) -> Number:
    """A release to compare by."""
    return tuple(map(int, release.split(".")))


def told_by(reading: Reading, release: Number) -> Reading:
    """The reading without what brokers of that release do not tell, or do not write, yet."""
    told = {broker: _told(one, release) for broker, one in reading.told.items()}
    positions = {broker: _position(one) for broker, one in reading.positions.items()}
    disks = {broker: _disk(one, release) for broker, one in reading.disks.items()}
    return Reading(told, positions, disks, reading.client)


def _told(one: Told | str, release: Number) -> Told | str:
    if isinstance(one, str):
        return one
    # MetadataResponse has leader epochs from version 7 on, which came with 2.1.
    epoch = one.epoch if release >= (2, 1) else -1
    # MetadataCache.getPartitionMetadata: brokers up to 2.1 tell no ISR (an empty list) of a partition without a leader.
    isr = one.isr if release >= (2, 8) or one.leader >= 0 else ()
    return replace(one, epoch=epoch, isr=isr)


def _position(one: Position | str) -> Position | str:
    # Rows have no transactions, and a Fetch with the debugging id is told no last stable offset by old brokers.
    return one if isinstance(one, str) else replace(one, last_stable=one.high_watermark)


def _disk(one: Disk | str, release: Number) -> Disk | str:
    if isinstance(one, str):
        return one
    # Messages of format 1 have no leader epoch, and there is no checkpoint of them.
    if release >= (0, 11):
        return one
    return replace(one, records=tuple((offset, -1, value) for offset, _, value in one.records), epochs=())


class OldEngine(EngineSide):
    """The engine's side of a row on an old release.

    Args:
        watched: As of ``OldRow``.
    """

    def __init__(
        self, row: script.Row, topic: str, kafka_version: str, server_settings: Mapping[str, str], *, watched: int
    ) -> None:
        super().__init__(row, topic, kafka_version, server_settings)
        self._watched = watched
        self._read_to: int | None = None

    def _do(self, action: script.Action, client: str) -> None:
        if isinstance(action, LoseDisk):
            assert act(self.world, fault_plan.DiskLoss(f"broker-{action.broker}"))
        else:
            super()._do(action, client)

    def _read(self, client: tuple[str, ...]) -> Reading:
        return told_by(super()._read((*client, *self._began())), self._version.number)

    def _began(self) -> tuple[str, ...]:
        """How often the watched broker began to follow since the reading before; nothing at the first one."""
        before, self._read_to = self._read_to, len(self._trace.events)
        if not self._watched or before is None:
            return ()
        mine = [one.kind for one in self._trace.events[before:] if one.node == f"broker-{self._watched}"]
        return (followed(self._watched, mine.count(Kind.BECAME_FOLLOWER)),)


class OldReal(RealSide):
    """The brokers' side of a row on an old release.

    Args:
        links: The proxies between its brokers.
        watched: As of ``OldRow``.
    """

    limit = START_LIMIT

    def __init__(self, sandbox: Sandbox, row: script.Row, topic: str, cast: Cast, links: Links, watched: int) -> None:
        self._watched = watched
        self._log_from: int | None = None
        super().__init__(sandbox, row, topic, cast, links)

    def do(self, action: script.Action) -> None:
        """Does one action; returns when it is done, not when it has its effect."""
        self._log_from = len(self._log_lines())
        super().do(action)

    def _sweep(self) -> Reading:
        found = told_by(super()._sweep(), number_of(self._sandbox.kafka_version))
        if not self._watched or self._log_from is None:
            return found
        began = [line for line in self._log_lines()[self._log_from :] if self._begins_to_follow(line)]
        return replace(found, client=(*found.client, followed(self._watched, len(began))))

    def _log_lines(self) -> list[str]:
        if not self._watched:
            return []
        log = self._sandbox.log_file(self._cast.real[self._watched])
        return log.read_text(encoding="utf-8", errors="replace").splitlines()

    def _begins_to_follow(self, line: str) -> bool:
        """A line of AbstractFetcherManager.addFetcherForPartitions that names the row's partition."""
        return "Added fetcher" in line and f"{self._topic}-0" in line

    def _losedisk(self, action: LoseDisk) -> None:
        lose_disk(self._sandbox, self._cast.real[action.broker])

    def _elect(self, kind: str) -> None:
        """Asks as kafka-preferred-replica-election.sh did before 2.4, through ZooKeeper."""
        from kazoo.client import KazooClient

        assert kind == "PREFERRED", kind
        client = KazooClient(self._sandbox.zookeeper_connect)
        client.start(timeout=30)
        try:
            asked = {"version": 1, "partitions": [{"topic": self._topic, "partition": 0}]}
            client.create("/admin/preferred_replica_election", json.dumps(asked).encode())
        finally:
            client.stop()
            client.close()


def followed(broker: int, times: int) -> str:
    """A broker that has begun to follow a leader anew."""
    return f"broker {broker} began to follow {times} times"
