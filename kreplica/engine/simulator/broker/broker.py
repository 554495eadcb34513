"""A broker: its replicas, its image of the cluster, and the requests it answers.

kafka.server.ReplicaManager and kafka.server.KafkaApis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.follower_lag import time_between_looks
from kreplica.engine.rules.replication.high_watermark import TO_HIGH_WATERMARK
from kreplica.engine.rules.replication.log_directory import broker_stops
from kreplica.engine.rules.replication.replica_set import everybody, without
from kreplica.engine.rules.transactions.transaction_append import NO_GUARD
from kreplica.engine.settings import MICROSECONDS, Value
from kreplica.engine.setup import SECOND, BrokerSetup
from kreplica.engine.simulator.broker.controller_link import ControllerLink
from kreplica.engine.simulator.broker.fetcher import ReplicaFetcher
from kreplica.engine.simulator.broker.host import ReplicaHost
from kreplica.engine.simulator.broker.leadership import Answer
from kreplica.engine.simulator.broker.parked_fetch import LEADER_CHANGED
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.broker.reads import BrokerReads
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.trace import Kind, Record
from kreplica.engine.versions.supported import NEVER

DELETE_RECORDS_TIMEOUT = 30 * SECOND
"""request.timeout.ms of an AdminClient, which it sends with DeleteRecords."""

EXPIRY_INTERVAL = 600 * SECOND
"""producer.id.expiration.check.interval.ms: the interval of the search for producers that no longer write."""

Reply = Callable[..., object]

Brokers = Mapping[int, "Broker"]
"""All brokers of a cluster, by id."""


class PartitionCoordinator(Protocol):
    """A coordinator of groups or transactions, as its broker knows it."""

    def ended(self) -> None:
        """Forgets everything when the process ends."""

    def leads(self, replica: Replica) -> None:
        """Starts to coordinate a partition that the broker leads in a new epoch."""

    def resigned(self, replica: Replica) -> None:
        """Stops coordinating a partition that the broker no longer leads."""


class Broker(ReplicaHost):
    """One broker. Its replicas outlive its process; everything else starts anew with the process.

    ``image`` is its knowledge of the partitions, ``alive`` of the brokers (id to broker epoch), as the controller last
    reported them.

    Args:
        cluster: Its cluster.
        setup: Its id, rack and settings.
        brokers: All brokers by id, this one included.
        link: Makes its side of the link to the controller.
    """

    __slots__ = (
        "alive",
        "broker_epoch",
        "brokers",
        "clean",
        "controller_link",
        "coordinators",
        "disk",
        "disk_delay",
        "fetchers",
        "id",
        "image",
        "kept_unflushed",
        "lag_time_max",
        "leaving",
        "power_lost",
        "rack",
        "reads",
        "replicas",
        "settings",
    )

    def __init__(
        self,
        cluster: Cluster,
        setup: BrokerSetup,
        brokers: Brokers,
        link: Callable[[Broker], ControllerLink],
    ) -> None:
        super().__init__(cluster, f"broker-{setup.id}")
        self.brokers = brokers
        self.id = setup.id
        self.rack = setup.rack
        self.settings: dict[str, Value] = {**cluster.settings, **setup.settings}
        self.replicas: dict[str, Replica] = {}
        self.image: dict[str, PartitionState] = {}
        self.alive: dict[int, int] = {}
        self.leaving: frozenset[int] = frozenset()
        self.fetchers: dict[int, ReplicaFetcher] = {}
        self.broker_epoch = -1
        self.disk_delay = 0
        self.disk = 0
        self.clean = True
        self.power_lost = False
        self.kept_unflushed = 0
        self.lag_time_max = self.integer("replica.lag.time.max.ms") * MICROSECONDS
        self.controller_link = link(self)
        self.coordinators: list[PartitionCoordinator] = []
        self.reads = BrokerReads(self, self.replicas)

    def integer(self, name: str) -> int:
        """A setting of this broker."""
        return int(self.settings[name])

    # -- life

    def on_start(self) -> None:
        """Recovers the logs, registers with the controller, begins the periodic tasks."""
        for replica in self.replicas.values():
            replica.recover(self.clean, self.power_lost, self.kept_unflushed)
        self.power_lost = False
        self.controller_link.joined(self.clean)
        self.clean = False
        self._look_again()
        self._every("replica.high.watermark.checkpoint.interval.ms", Replica.checkpoint)
        self._every("log.flush.offset.checkpoint.interval.ms", Replica.checkpoint_recovery_point)
        self._every("log.flush.scheduler.interval.ms", Replica.flush_if_overdue)
        self.after(EXPIRY_INTERVAL, self._expire_producers)

    def on_end(self) -> None:
        """Forgets the state that only the process held."""
        self.fetchers = {}
        self.image = {}
        self.alive, self.leaving = {}, frozenset()
        self.broker_epoch = -1
        for replica in self.replicas.values():
            replica.leadership = None
            replica.parked = []
        self.controller_link.ended()
        for coordinator in self.coordinators:
            coordinator.ended()

    def lose_power(self, keep: int) -> None:
        """Ends at once, if it runs; the page cache is lost, of a process that was killed before, too."""
        if not self.power_lost:
            self.power_lost = True
            self.kept_unflushed = keep
        if self.up:
            self.kill(power=True)
        else:
            self.emit(Kind.CRASHED, True)

    def lose_disk(self) -> None:
        """Ends at once; its logs are lost."""
        self.kill()
        self.replicas.clear()
        self.clean = False
        self.disk += 1
        self.emit(Kind.DISK_LOST)

    def stop(self) -> None:
        """Stops cleanly: by controlled shutdown where that is on, then with everything flushed."""
        if not self.up:
            return
        if self.cluster.boolean("controlled.shutdown.enable"):
            self.controller_link.controlled_shutdown(self._stop_now)
        else:
            self._stop_now()

    def halt(self) -> None:
        """Ends by itself: at once, or by System.exit and with it as a clean stop (since 0.10.0.1).

        Where System.exit hangs, the process is still there once its leaders have moved and its sockets are closed; here
        it ends then, as if somebody had killed it.
        """
        version = self.cluster.version
        if version.exit_hangs and self.cluster.boolean("controlled.shutdown.enable"):
            self.controller_link.controlled_shutdown(self.kill)
        elif version.halts_by_exit and not version.exit_hangs:
            self.stop()
        else:
            self.kill()

    def write_all(self) -> None:
        """Brings logs, checkpoints and snapshots to the disk: LogManager.shutdown."""
        for replica in self.replicas.values():
            replica.flush()
            replica.checkpoint()
            replica.checkpoint_recovery_point()
            replica.producers.snapshot(replica.log.end)

    def _stop_now(self) -> None:
        self.write_all()
        self.clean = True
        super().stop()

    def _every(self, setting: str, task: Callable[[Replica], object]) -> None:
        """Does something with each replica at an interval."""
        interval = self.integer(setting)

        def run() -> None:
            for replica in self.replicas.values():
                task(replica)
            self.after(interval * MICROSECONDS, run)

        if interval < NEVER:
            self.after(interval * MICROSECONDS, run)

    def _expire_producers(self) -> None:
        expiration = self.integer("producer.id.expiration.ms") * MICROSECONDS
        for replica in self.replicas.values():
            for producer_id in replica.producers.expire(self.clock.now, expiration):
                self.emit(Kind.PRODUCER_EXPIRED, replica.partition, producer_id)
        self.after(EXPIRY_INTERVAL, self._expire_producers)

    def _look_for_failed(self) -> None:
        for replica in self.replicas.values():
            if replica.leadership is not None:
                replica.leadership.look_for_failed()
        self._look_again()

    def _look_again(self) -> None:
        twice = self.cluster.version.looks_twice
        self.after(time_between_looks(self.lag_time_max, twice), self._look_for_failed)

    # -- reports of the controller

    def apply(self, state: PartitionState) -> None:
        """Takes a controller's decision on a partition into the image, and acts on it if it has a replica."""
        self.image[state.partition] = state
        self.obey(state)

    def obey(self, state: PartitionState) -> None:
        """Acts on a controller's decision if it has a replica of the partition."""
        replica = self.host(state)
        if replica is not None:
            replica.apply(state)

    def host(self, state: PartitionState) -> Replica | None:
        """Returns the replica of a partition, if need be a new one; None if assignment or disk have no place for it."""
        replica = self.replicas.get(state.partition)
        if self.id not in state.replicas or state.partition in self.cluster.offline_directories.get(self.id, ()):
            if replica is not None:
                self.drop(replica)
            return None
        if replica is None:
            replica = self.replicas[state.partition] = Replica(self, state._replace(partition_epoch=-1))
            replica.state = replica.state._replace(leader_epoch=-1)
        return replica

    def know_alive(self, alive: dict[int, int], leaving: frozenset[int] = frozenset()) -> None:
        """Takes over the live brokers with their epochs, and those of them that shut down (KRaft)."""
        self.alive, self.leaving = alive, leaving

    def directory_fails(self, partitions: tuple[str, ...]) -> None:
        """Loses the log directory with these partitions, or with all of its partitions if none is named.

        It lives on if the version tolerates that and another directory is left. A version that then tells nobody has
        partitions whose leader, as everybody knows it, serves nothing until its broker ends.
        """
        names = tuple(name for name in self.replicas if not partitions or name in partitions)
        self.cluster.offline_directories.setdefault(self.id, set()).update(names)
        for name in names:
            self.drop(self.replicas[name])
        directories = 2 if partitions else 1  # partitions that are not named are in another directory
        version = self.cluster.version
        if broker_stops(1, directories, version.failed_directories_tolerated, False):
            self.kill()
        elif self.up and version.failed_directories_told:
            self.controller_link.directory_failed(names)

    def drop(self, replica: Replica) -> None:
        """Removes the replica: it is deleted, or its log directory has failed."""
        self.stop_following(replica.partition)
        if replica.leadership is not None:
            replica.leadership.resign()
        replica.wake(True, LEADER_CHANGED)
        del self.replicas[replica.partition]

    def eligible(self, replicas: tuple[int, ...], broker_epochs: list[int]) -> int:
        """The replicas that may be in the ISR as far as this broker knows: alive, not stopping, not restarted since.

        kafka.cluster.Partition.isReplicaIsrEligible, since 3.3.
        """
        version = self.cluster.version
        if not version.ineligible_refused:
            return everybody(len(replicas))
        compare = version.broker_epoch_in_isr
        found = 0
        for place, broker in enumerate(replicas):
            epoch = None if broker in self.leaving else self.alive.get(broker)
            if epoch is not None and (not compare or broker_epochs[place] in (-1, epoch)):
                found |= 1 << place
        return found

    # -- leading and following

    def ask_isr(self, partition: str) -> None:
        """Requests the pending ISR of a partition that it leads."""
        leadership = self.replicas[partition].leadership
        assert leadership is not None, partition
        self.controller_link.ask_isr(leadership)

    def leads(self, partition: str) -> None:
        """Tells the coordinators of a partition that this broker now leads it."""
        for coordinator in self.coordinators:
            coordinator.leads(self.replicas[partition])

    def resigned(self, partition: str) -> None:
        """Tells the coordinators of a partition that this broker no longer leads it."""
        for coordinator in self.coordinators:
            coordinator.resigned(self.replicas[partition])

    def follow(self, partition: str) -> None:
        """Starts to fetch from the partition's leader."""
        replica = self.replicas[partition]
        leader = replica.state.leader_id
        if leader not in self.fetchers:
            self.fetchers[leader] = ReplicaFetcher(self, self.brokers[leader])
        self.fetchers[leader].add(replica)

    def follows(self, replica: Replica, leader: int) -> bool:
        """True if it fetches the partition from that leader already."""
        return leader in self.fetchers and replica.partition in self.fetchers[leader].following

    def stop_following(self, partition: str) -> None:
        """Stops fetching the partition; a fetcher without partitions ends, and with it the connection it waits on.

        kafka.server.AbstractFetcherManager.shutdownIdleFetcherThreads.
        """
        for leader, fetcher in tuple(self.fetchers.items()):
            fetcher.remove(partition)
            if not fetcher.following:
                del self.fetchers[leader]

    # -- requests

    def produce(self, partition: str, records: tuple[Record, ...], acks: int, timeout: int, reply: Reply) -> None:
        """Answers a producer: the error, and the offset of the first record."""
        if self.disk_delay:
            self.after(self.disk_delay, self._produce, partition, records, acks, timeout, reply)
        else:
            self._produce(partition, records, acks, timeout, reply)

    def _produce(self, partition: str, records: tuple[Record, ...], acks: int, timeout: int, reply: Reply) -> None:
        self.append_as_leader(partition, records, acks, timeout, lambda error, base: reply(partition, error, base))

    def delete_records(self, partition: str, before: int) -> None:
        """Answers an operator who wants the records before an offset gone. ReplicaManager.deleteRecords."""
        replica = self.replicas[partition]
        assert replica.leadership is not None, partition
        offset = replica.high_watermark if before == TO_HIGH_WATERMARK else before

        def answer(error: ErrorCode, low_watermark: int) -> None:
            self.emit(Kind.RECORDS_DELETED, partition, offset, low_watermark, error.name)

        replica.leadership.delete_records(offset, DELETE_RECORDS_TIMEOUT, answer)

    def init_producer_id(self, reply: Reply) -> None:
        """Answers an idempotent producer: the error, an id that nobody has, and epoch 0."""
        reply(ErrorCode.NONE, self.cluster.new_producer_id(), 0)

    def append_as_leader(
        self, partition: str, records: Sequence[Record], acks: int, timeout: int, answer: Answer, guard: int = NO_GUARD
    ) -> None:
        """Appends a batch if this broker leads the partition; epoch and time are the leader's."""
        replica = self.replicas.get(partition)
        if replica is None or replica.leadership is None:
            answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
            return
        epoch, now = replica.leadership.epoch, self.clock.now
        stamped = [record._replace(epoch=epoch, timestamp=now) for record in records]
        replica.leadership.produce(stamped, acks, timeout, answer, guard)

    def metadata(self, reply: Reply) -> None:
        """Answers a client: of each partition what ``client.Described`` says, as this broker knows it."""
        reply(
            tuple(
                (state.partition, state.leader_id, state.leader_epoch, self._online(state))
                for state in self.image.values()
            )
        )

    def _online(self, state: PartitionState) -> tuple[int, ...]:
        gone = self.cluster.offline_places(state.partition, state.replicas)
        return state.ids(without(state.places(tuple(self.alive)), gone))
