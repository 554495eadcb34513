"""A consumer as a member of a group of KIP-848's protocol: heartbeats carry everything, and nobody waits for others.

org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager and ConsumerHeartbeatRequestManager, since 4.0.
"""

from __future__ import annotations

from kreplica.engine.rules import group_epochs
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.group_membership import UNKNOWN_GENERATION
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.consumer_membership import Membership
from kreplica.engine.trace import Kind


class ModernMembership(Membership):
    """``generation`` is the member epoch, ``_wanted`` what the coordinator last assigned."""

    __slots__ = ("_asking", "_lives", "_wanted")

    commit_rule = "offset_commit.commit_to_consumer_group"

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._wanted: tuple[str, ...] = ()
        self._asking = False
        self._lives = 0

    @property
    def cooperative(self) -> bool:
        """It always is."""
        return True

    def join(self) -> None:
        """Begins to send heartbeats, with epoch 0; the poll goes on meanwhile."""
        self.needs_join = False
        self._lives += 1
        consumer = self._consumer
        # the member id is the process's own, and another after it was fenced
        self.member_id = f"{consumer.name}.{consumer.incarnation}.{self._lives}"
        self.generation = group_epochs.JOIN_EPOCH
        self._asking = False
        self._send()
        self._beat_from_now_on()
        consumer.assigned_now()

    def _interval(self) -> int:
        return self._consumer.simulation.integer("group.consumer.heartbeat.interval.ms") * MICROSECONDS

    def _later(self) -> None:
        self._consumer.after(self._interval(), self._beat)

    def _beat_once(self) -> None:
        self._send()

    def _send(self) -> None:
        if self._asking or self.generation == UNKNOWN_GENERATION:
            return
        self._asking = True
        life = self._lives

        def answered(error: ErrorCode, epoch: int, partitions: tuple[str, ...]) -> None:
            if life == self._lives:
                self._asking = False
                self._answered(error, epoch, partitions)

        rebalance = self._timeouts()[1]
        arguments = (self.member, self.generation, rebalance, self._consumer.setup.topics, self.assigned)
        self.ask("ConsumerGroupHeartbeat", lambda one: one.consumer_heartbeat, arguments, answered)

    def _answered(self, error: ErrorCode, epoch: int, partitions: tuple[str, ...]) -> None:
        if error:
            self.refused(error)
            self._consumer.poke()
            return
        self.generation = epoch
        self._wanted = partitions
        if partitions != self.assigned:
            self._consumer.poke()

    def reconciles(self) -> bool:
        """Gives up and takes over what the coordinator wants; true while it commits what it gives up."""
        if self._wanted == self.assigned or self.needs_join:
            return False
        wanted = self._wanted
        revoked = [partition for partition in self.assigned if partition not in wanted]
        if revoked and self._consumer.settings["enable.auto.commit"]:
            self._consumer.commit_before_revocation(lambda: self._apply(wanted))
            return True
        self._take_over(wanted)
        return False

    def _apply(self, wanted: tuple[str, ...]) -> None:
        if not self.needs_join:
            self._take_over(wanted)
        self._consumer.assigned_now()

    def _take_over(self, wanted: tuple[str, ...]) -> None:
        self.assigned = wanted
        self._consumer.positions.keep(wanted)
        self._consumer.emit(Kind.ASSIGNED, self.group, self.generation, wanted, "group_epochs.reconcile")
        self._send()  # what it owns now, so that others may have the rest

    def refused(self, error: ErrorCode) -> None:
        """Fenced, it gives everything up and joins anew."""
        if error in {ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.GROUP_ID_NOT_FOUND}:
            self._consumer.fail(error.name)
        elif error in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}:
            self.lose()

    def lose(self) -> None:
        """It is no member any more, and has no partitions."""
        super().lose()
        self._wanted = ()
        self.assigned = ()
        self._consumer.positions.keep(())

    def leave(self) -> None:
        """Says so by a heartbeat: for good, or for a while as a static member does."""
        if self.generation != UNKNOWN_GENERATION:
            epoch = group_epochs.LEAVE_STATIC_EPOCH if self.member[1] else group_epochs.LEAVE_EPOCH
            arguments = (self.member, epoch, self._timeouts()[1], self._consumer.setup.topics, self.assigned)
            self.ask("ConsumerGroupHeartbeat", lambda one: one.consumer_heartbeat, arguments, lambda *_: None)
        self.lose()
