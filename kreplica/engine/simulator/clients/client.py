"""Metadata of producers and consumers: they ask a broker for the leaders, and ask again after an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kreplica.engine.rules.replication.fetching import ANY_EPOCH, READ_TO_HIGH_WATERMARK, READ_TO_LAST_STABLE_OFFSET
from kreplica.engine.settings import MICROSECONDS, Value
from kreplica.engine.setup import SECOND
from kreplica.engine.simulator.broker.broker import Broker, Brokers
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.node import Node

Described = tuple[str, int, int, tuple[int, ...]]
"""Metadata of a partition: its name, the leader's broker id, -1 for none, leader epoch, replicas online."""

METADATA_TIMEOUT = 10 * SECOND
"""Time a client waits for metadata before it asks another broker; a third of the other requests' timeout."""


class Client(Node):
    """A client process with settings of its own.

    ``leaders`` is the metadata it last received: partition to broker id (-1 for none) and leader epoch; ``online``
    the brokers of the partition's replicas that live and have it.
    """

    __slots__ = ("_asking_metadata", "_bootstrap", "_waiting_metadata", "brokers", "leaders", "online", "settings")

    def __init__(self, cluster: Cluster, brokers: Brokers, name: str, settings: Mapping[str, Value]) -> None:
        super().__init__(cluster, name)
        self.brokers = brokers
        self.settings: dict[str, Value] = {**cluster.settings, **settings}
        self.leaders: dict[str, tuple[int, int]] = {}
        self.online: dict[str, tuple[int, ...]] = {}
        self._asking_metadata = False
        self._bootstrap = 0
        self._waiting_metadata: list[Callable[[], object]] = []

    def integer(self, name: str) -> int:
        """A setting of this client."""
        return int(self.settings[name])

    def microseconds(self, name: str) -> int:
        """A setting in milliseconds, converted to microseconds of virtual time."""
        return int(self.settings[name]) * MICROSECONDS

    @property
    def isolation(self) -> int:
        """isolation.level: the limit up to which it reads."""
        committed_only = self.settings["isolation.level"] == "read_committed"
        return READ_TO_LAST_STABLE_OFFSET if committed_only else READ_TO_HIGH_WATERMARK

    def leader_epoch(self, partition: str) -> int:
        """The epoch of the leader that it knows, ANY_EPOCH if it knows none."""
        return self.leaders[partition][1] if partition in self.leaders else ANY_EPOCH

    def leader(self, partition: str) -> Broker | None:
        """The partition's leader, as far as the client knows."""
        known = self.leaders.get(partition)
        return self.brokers[known[0]] if known is not None and known[0] >= 0 else None

    def on_end(self) -> None:
        """Forgets the leaders."""
        self.leaders, self.online = {}, {}
        self._asking_metadata = False
        self._waiting_metadata = []

    def refresh(self, then: Callable[[], object]) -> None:
        """Asks for metadata, and goes on with ``then``; one request at a time serves all callers."""
        self._waiting_metadata.append(then)
        if not self._asking_metadata:
            self._asking_metadata = True
            self._ask_metadata()

    def refresh_later(self, then: Callable[..., object], *arguments: Any) -> None:
        """Waits for retry.backoff.ms, asks for metadata, and goes on with ``then``."""
        self.after(self.microseconds("retry.backoff.ms"), self.refresh, lambda: then(*arguments))

    def _ask_metadata(self) -> None:
        brokers = list(self.brokers.values())
        broker = brokers[self._bootstrap % len(brokers)]
        self.cluster.transport.call(
            self, broker, "Metadata", broker.metadata, (), self._heard, self._ask_another, METADATA_TIMEOUT
        )

    def _ask_another(self, _reason: str) -> None:
        self._bootstrap += 1
        self.after(self.microseconds("retry.backoff.ms"), self._ask_metadata)

    def _heard(self, partitions: tuple[Described, ...]) -> None:
        if not partitions:  # a broker that has just started has no metadata yet
            self._ask_another("")
            return
        for partition, leader, epoch, online in partitions:
            if epoch >= self.leader_epoch(partition):
                self.leaders[partition], self.online[partition] = (leader, epoch), online
        self._asking_metadata = False
        waiting, self._waiting_metadata = self._waiting_metadata, []
        for then in waiting:
            then()
