"""Operators' requests in ZooKeeper mode: written into ZooKeeper (/admin), so that the next controller has them too."""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.rules.controller.unclean_election import zookeeper_reacts_to_setting
from kreplica.engine.setup import MILLISECOND, topic_of
from kreplica.engine.simulator.broker.broker import Brokers
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.zookeeper.controller import ZooKeeperController
from kreplica.engine.simulator.zookeeper.link import ZooKeeperLink
from kreplica.model.settings import UNCLEAN

LOOK_AGAIN_AFTER = 100 * MILLISECOND
"""Time until it is checked again whether there is a controller."""


def zookeeper_controller(brokers: Brokers) -> ZooKeeperController | None:
    """The running controller that was elected last; one that does not know yet that it is deposed comes after it."""
    active = [
        link.controller
        for broker in brokers.values()
        if isinstance(link := broker.controller_link, ZooKeeperLink) and broker.up and link.controller.active
    ]
    return max(active, key=lambda controller: controller.epoch, default=None)


class ZooKeeperOperations:
    """See ``ControllerOperations``."""

    __slots__ = ("brokers", "cluster")

    def __init__(self, cluster: Cluster, brokers: Brokers) -> None:
        self.cluster = cluster
        self.brokers = brokers

    def elect_preferred(self, partition: str) -> None:
        """Elects the preferred leader."""
        self._ask(lambda controller: controller.requests.elect_preferred(partition))

    def elect_unclean(self, partition: str) -> None:
        """Elects a leader uncleanly."""
        self._ask(lambda controller: controller.requests.elect_unclean(partition))

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Moves the partition to other replicas."""
        self._ask(lambda controller: controller.moves.reassign(partition, target))

    def cancel_reassignment(self, partition: str) -> None:
        """Returns the partition to the replicas it had."""
        self._ask(lambda controller: controller.moves.cancel(partition))

    def topic_changed(self, topic: str, setting: str) -> None:
        """Reacts to a changed setting of a topic: enabled unclean elections take effect at once."""
        if setting == UNCLEAN:
            self._ask(lambda controller: self._unclean_changed(controller, topic))

    def _unclean_changed(self, controller: ZooKeeperController, topic: str) -> None:
        enabled = self.cluster.topic_boolean(topic, UNCLEAN)
        offline = [one for one in controller.known.unled if topic_of(one) == topic]
        if offline and zookeeper_reacts_to_setting(False, enabled):
            controller.requests.unclean_enabled(offline)

    def _ask(self, request: Callable[[ZooKeeperController], object]) -> None:
        controller = zookeeper_controller(self.brokers)
        if controller is not None:
            request(controller)
        else:
            clock = self.cluster.clock
            clock.at(clock.now + LOOK_AGAIN_AFTER, self._ask, request)
