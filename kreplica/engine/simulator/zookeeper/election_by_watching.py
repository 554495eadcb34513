"""Leaders without a controller: every replica watches its leader's znode and stands for election itself.

Not Kafka: the controller (0.8, KAFKA-369) was made to avoid it; it is here to be compared with the controller. The
leader is the broker that created the partition's ephemeral znode; all others hold a watch on it. When it goes, each
of them is notified and tries. Only the leader knows its ISR, so that any replica that is first may win.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kreplica.engine.rules.replication.replica_set import everybody
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.leadership import Leadership
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper.client import ZooKeeperClient
from kreplica.engine.simulator.zookeeper.service import OK, Operation, Result, ZooKeeper

LEADERS = "/leaders"


class WatchingLink:
    """See ``ControllerLink``; the leader epoch is the transaction that created the leader's znode."""

    __slots__ = ("broker", "client", "zookeeper")

    def __init__(self, broker: Broker, zookeeper: ZooKeeper) -> None:
        self.broker = broker
        self.zookeeper = zookeeper
        timeout = broker.integer("zookeeper.session.timeout.ms") * MICROSECONDS
        self.client = ZooKeeperClient(broker, zookeeper, timeout, self._watched, self._connect)

    def joined(self, clean: bool) -> None:  # noqa: ARG002 - how the last life ended does not matter
        """Stands for election for every replica."""
        self._connect()

    def ended(self) -> None:
        """Closes the session after a clean stop."""
        if self.broker.clean:
            self.client.close()
        self.client.forget()

    def ask_isr(self, leadership: Leadership) -> None:
        """Takes the ISR that the leader wants: no other broker is told of it."""
        state = leadership.replica.state
        leadership.replica.state = state._replace(isr=leadership.pending)
        leadership.committed(leadership.replica.state)

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Stops at once: without a controller leaders move when the session ends."""
        then()

    def directory_failed(self, partitions: tuple[str, ...]) -> None:
        """Gives up the leaderships in the directory."""
        mine = [one for one in partitions if self.zookeeper.data(f"{LEADERS}/{one}") == (self.broker.id,)]
        deletes = tuple((Operation("delete", f"{LEADERS}/{partition}"),) for partition in mine)
        self.client.request(deletes, lambda _results: None)

    def _connect(self) -> None:
        assignments = self.broker.cluster.assignments
        self.broker.know_alive(dict.fromkeys(self.broker.brokers, 0))
        here = [partition for partition, replicas in assignments.items() if self.broker.id in replicas]
        self.client.connect(lambda: self._stand(here))

    def _watched(self, _what: str, path: str) -> None:
        self._stand([path.removeprefix(f"{LEADERS}/")])

    def _stand(self, partitions: Sequence[str]) -> None:
        """Tries to become the leader of each partition, and watches the leader's znode."""
        transactions = [
            (operation,)
            for partition in partitions
            for operation in (
                Operation("create", f"{LEADERS}/{partition}", (self.broker.id,), ephemeral=True),
                Operation("get", f"{LEADERS}/{partition}", watch=True),
            )
        ]
        self.client.request(tuple(transactions), self._stood, partitions)

    def _stood(self, results: tuple[tuple[Result, ...], ...], partitions: Sequence[str]) -> None:
        for partition, (found,) in zip(partitions, results[1::2], strict=True):
            if found.code == OK:
                replicas = self.broker.cluster.assignments[partition]
                leader, isr = replicas.index(found.data[0]), everybody(len(replicas))
                epoch = found.created
                self.broker.apply(PartitionState(partition, replicas, leader, epoch, isr, epoch))
