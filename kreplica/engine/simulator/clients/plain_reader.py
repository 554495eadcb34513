"""A consumer with assigned partitions and no group: fetches, follows the leader, resets its position."""

from __future__ import annotations

from kreplica.engine.rules.groups.offset_reset import BY_DURATION, NO_RESET, reset_policy, reset_position
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import ReaderSetup
from kreplica.engine.simulator.broker.broker import Brokers
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.clients.client import Client
from kreplica.engine.simulator.clients.requests import fetched_records
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.trace import Kind
from kreplica.errors import UsageError


class Reader(Client):
    """Reads every partition of its setup from the beginning; resets a position out of range by auto.offset.reset."""

    __slots__ = ("_failed", "positions", "setup")

    def __init__(self, cluster: Cluster, brokers: Brokers, setup: ReaderSetup) -> None:
        super().__init__(cluster, brokers, setup.name, setup.settings)
        if str(self.settings["auto.offset.reset"]).startswith(BY_DURATION):
            raise UsageError(
                f"{setup.name} reads without a group", "it cannot reset by duration", "set it on a consumer"
            )
        self.setup = setup
        self.positions: dict[str, int] = {}
        self._failed = False

    def on_start(self) -> None:
        """Starts at offset 0 at its start time."""
        self.positions = dict.fromkeys(self.setup.partitions, 0)
        self._failed = False
        self.after(max(0, self.setup.start - self.clock.now), self._begin)

    def _begin(self) -> None:
        self.refresh(self._fetch_all)

    def _fetch_all(self) -> None:
        for partition in self.setup.partitions:
            self._fetch(partition)

    def _fetch(self, partition: str) -> None:
        leader = self.leader(partition)
        if leader is None:
            self.refresh_later(self._fetch, partition)
            return
        self.cluster.transport.call(
            self,
            leader,
            "Fetch",
            leader.reads.for_consumer,
            (
                partition,
                self.positions[partition],
                self.isolation,
                self.integer("max.poll.records"),
                self.microseconds("fetch.max.wait.ms"),
            ),
            self._take,
            lambda _reason: self.refresh_later(self._fetch, partition),
        )

    def _take(self, given: ConsumerGiven) -> None:
        partition = given.partition
        if self._failed:
            return
        if given.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._reset(given)
            return
        if given.error:
            self.refresh_later(self._fetch, partition)
            return
        for offset, record, handed_out in fetched_records(given):
            if handed_out:
                self.emit(Kind.CONSUMED, partition, offset, record.value, "")
            self.positions[partition] = offset + 1
        self._fetch(partition)

    def _reset(self, given: ConsumerGiven) -> None:
        policy = reset_policy(str(self.settings["auto.offset.reset"]))
        assert policy is not None
        position = reset_position(policy, given.log_start, given.readable_end, None)
        if position == NO_RESET:  # OffsetOutOfRangeException: the application ends
            self._failed = True
            self.emit(Kind.CLIENT_FAILED, f"no position in {given.partition}: out of range")
            return
        self.positions[given.partition] = position
        self._fetch(given.partition)
