"""Znodes by which brokers tell the controller something: changed ISRs, failed log directories.

kafka.controller.KafkaController.processIsrChangeNotification, processLogDirEventNotification. Each is read, acted on
and deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kreplica.engine.simulator.zookeeper import Operation, Result
from kreplica.engine.simulator.zookeeper_paths import ISR_CHANGES
from kreplica.engine.simulator.zookeeper_states import Change

if TYPE_CHECKING:
    from kreplica.engine.simulator.controller_zookeeper import ZooKeeperController


class ZooKeeperNotifications:
    """What one broker's controller makes of them."""

    __slots__ = ("controller",)

    def __init__(self, controller: ZooKeeperController) -> None:
        self.controller = controller

    def read(self, path: str) -> None:
        """An event: there are new ones under ``path``; watches on."""
        if self.controller.active:
            reads = ((Operation("children", path, watch=True),),)
            self.controller.client.request(reads, self._open, path)
        else:
            self.controller.finished()

    def _open(self, results: tuple[tuple[Result, ...], ...], path: str) -> None:
        names = [f"{path}/{name}" for name, _ in results[0][0].data]
        if not names:
            self.controller.finished()
            return
        reads = tuple((Operation("get", name),) for name in names)
        deletes = tuple((Operation("delete", name),) for name in names)
        self.controller.client.request(reads + deletes, self._opened, path, len(names))

    def _opened(self, results: tuple[tuple[Result, ...], ...], path: str, count: int) -> None:
        said: list[Any] = [item for (result,) in results[:count] for item in result.data]
        if path == ISR_CHANGES:
            self._isrs_changed(list(dict.fromkeys(said)))
        else:
            self._directories_failed(list(dict.fromkeys(said)))

    def _isrs_changed(self, partitions: list[str]) -> None:
        """Reads the ISRs and tells every broker."""
        change = Change(lambda _state: None, "", "", lambda _changed: self._refreshed(partitions))
        self.controller.known.change(partitions, change)

    def _refreshed(self, partitions: list[str]) -> None:
        known = self.controller.known.states
        self.controller.update_metadata([known[partition] for partition in partitions])
        self.controller.finished()

    def _directories_failed(self, brokers: list[int]) -> None:
        """Brokers say which replicas are offline when they are told to lead and follow. onBrokerLogDirFailure."""
        for broker in brokers:
            self.controller.ask_for_offline(broker)
        self.controller.finished()
