"""What operators ask of ZooKeeper mode: written into ZooKeeper (/admin), so that the next controller does it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.controller.unclean_election import zookeeper_reacts_to_setting
from kreplica.engine.setup import MILLISECOND, topic_of
from kreplica.engine.simulator.zookeeper.link import ZooKeeperLink
from kreplica.model.settings import UNCLEAN

if TYPE_CHECKING:
    from collections.abc import Callable

    from kreplica.engine.simulator.simulation import Simulation
    from kreplica.engine.simulator.zookeeper.controller import ZooKeeperController

LOOK_AGAIN_AFTER = 100 * MILLISECOND
"""Until it is looked again whether there is a controller."""


def zookeeper_controller(simulation: Simulation) -> ZooKeeperController | None:
    """The controller that runs and was elected last; one that does not know yet that it is deposed comes after it."""
    active = [
        link.controller
        for broker in simulation.brokers.values()
        if isinstance(link := broker.controller_link, ZooKeeperLink) and broker.up and link.controller.active
    ]
    return max(active, key=lambda controller: controller.epoch, default=None)


class ZooKeeperOperations:
    """See ``ControllerOperations``."""

    __slots__ = ("simulation",)

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation

    def elect_preferred(self, partition: str) -> None:
        """A preferred leader election."""
        self._ask(lambda controller: controller.requests.elect_preferred(partition))

    def elect_unclean(self, partition: str) -> None:
        """An unclean election."""
        self._ask(lambda controller: controller.requests.elect_unclean(partition))

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Other replicas."""
        self._ask(lambda controller: controller.moves.reassign(partition, target))

    def cancel_reassignment(self, partition: str) -> None:
        """The replicas there were."""
        self._ask(lambda controller: controller.moves.cancel(partition))

    def topic_changed(self, topic: str, setting: str) -> None:
        """A topic has another setting: unclean elections are acted on at once."""
        if setting == UNCLEAN:
            self._ask(lambda controller: self._unclean_changed(controller, topic))

    def _unclean_changed(self, controller: ZooKeeperController, topic: str) -> None:
        enabled = self.simulation.topic_boolean(topic, UNCLEAN)
        offline = [one for one in controller.known.unled if topic_of(one) == topic]
        if offline and zookeeper_reacts_to_setting(False, enabled):
            controller.requests.unclean_enabled(offline)

    def _ask(self, request: Callable[[ZooKeeperController], object]) -> None:
        controller = zookeeper_controller(self.simulation)
        if controller is not None:
            request(controller)
        else:
            scheduler = self.simulation.scheduler
            scheduler.at(scheduler.now + LOOK_AGAIN_AFTER, self._ask, request)
