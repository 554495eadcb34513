"""A consumer as a member of its group: it finds the coordinator, joins, sends heartbeats and leaves.

org.apache.kafka.clients.consumer.internals.AbstractCoordinator and ConsumerCoordinator, of the classic protocol.

A consumer as a member of a group of KIP-848's protocol: heartbeats carry everything, and no member waits for others.

org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager and ConsumerHeartbeatRequestManager, since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kreplica.engine.rules.groups import assignors, group_epochs, member_heartbeats
from kreplica.engine.rules.groups.group_membership import NO_MEMBER, UNKNOWN_GENERATION, expired
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import SECOND, topic_and_number
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.clients.poll_loop import PollLoop
from kreplica.engine.simulator.clients.positions import Positions
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.engine.simulator.environment import REQUEST_TIMEOUT
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import NEVER

Told = tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]
"""Member id, instance id, topics and owned partitions of each member, as the coordinator sends them to the leader."""

JOIN_GROUP_TIMEOUT_LAPSE = 5 * SECOND
"""Time beyond the rebalance timeout that a member waits for the answer to JoinGroup (AbstractCoordinator)."""


_ASSIGNORS = {
    "range": "assignors.range_assignor",
    "roundrobin": "assignors.round_robin_assignor",
    "sticky": "assignors.sticky_assignor",
    "cooperative-sticky": "assignors.cooperative_adjustment",
}
"""The rule by which each value of partition.assignment.strategy assigns."""


class Membership:
    """A member's state in its group.

    ``needs_join`` is true until it has an assignment, and after it loses it; ``leads`` while it assigns for the group.
    """

    __slots__ = (
        "_attempt",
        "_beating",
        "_consumer",
        "_coordinator",
        "_heard_at",
        "_positions",
        "assigned",
        "generation",
        "joining",
        "leads",
        "member_id",
        "needs_join",
    )

    commit_rule = "offset_commit.commit_to_classic_group"
    """The rule by which its commits are accepted or refused."""

    def __init__(self, consumer: PollLoop, positions: Positions) -> None:
        self._consumer = consumer
        self._positions = positions
        self._coordinator: Broker | None = None
        self.member_id = NO_MEMBER
        self.generation = UNKNOWN_GENERATION
        self.assigned: tuple[str, ...] = ()
        self.needs_join = True
        self.leads = False
        self.joining = False
        self._beating = False
        self._attempt = 0
        self._heard_at = 0

    # -- settings

    @property
    def group(self) -> str:
        """group.id."""
        return str(self._consumer.settings["group.id"])

    @property
    def member(self) -> tuple[str, str]:
        """Member id and instance id."""
        return self.member_id, str(self._consumer.settings["group.instance.id"])

    @property
    def cooperative(self) -> bool:
        """True if it keeps its partitions while it joins."""
        return self._consumer.settings["partition.assignment.strategy"] == "cooperative-sticky"

    @property
    def beats_by_itself(self) -> bool:
        """True if heartbeats are sent while the application processes: since 0.10.1 (KIP-62)."""
        return self._consumer.integer("max.poll.interval.ms") != NEVER

    def _timeouts(self) -> tuple[int, int]:
        session = self._consumer.microseconds("session.timeout.ms")
        return session, self._consumer.microseconds("max.poll.interval.ms") if self.beats_by_itself else session

    # -- asking the coordinator

    def ask(
        self,
        name: str,
        handler: Callable[[GroupCoordinator], Callable[..., object]],
        arguments: tuple[Any, ...],
        on_reply: Callable[..., object],
        timeout: int = REQUEST_TIMEOUT,
        attempt: int = 0,
        anew: Callable[[], object] | None = None,
    ) -> None:
        """Sends the coordinator a request of the group; finds it first, and again if it does not answer.

        A request with an ``attempt`` to join is dropped once there is a later attempt. Where another is to be sent in
        place of one that failed, ``anew`` sends it.
        """
        consumer, broker = self._consumer, self._coordinator
        once_more = anew or partial(self.ask, name, handler, arguments, on_reply, timeout, attempt)
        if self._is_over(attempt):
            return
        if broker is None:
            self._find(once_more)
            return

        def again(_reason: str = "") -> None:
            if not self._is_over(attempt):
                self._coordinator = None
                consumer.after(consumer.microseconds("retry.backoff.ms"), once_more)

        def answered(*values: Any) -> None:
            if self._is_over(attempt):
                return
            if _first_error(values) in {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}:
                again()
            else:
                on_reply(*values)

        target = handler(GroupCoordinator.of(broker))
        consumer.cluster.transport.call(
            consumer, broker, name, target, (self.group, *arguments), answered, again, timeout
        )

    def _is_over(self, attempt: int) -> bool:
        """True if a later attempt to join has begun; 0 is no attempt."""
        return attempt not in (0, self._attempt)

    def _find(self, then: Callable[[], object]) -> None:
        consumer = self._consumer
        brokers = list(consumer.brokers.values())
        broker = brokers[consumer.next_bootstrap() % len(brokers)]

        def heard(coordinator: int) -> None:
            self._coordinator = None if coordinator < 0 else consumer.brokers[coordinator]
            if self._coordinator is None:
                again()
            else:
                then()

        def again(_reason: str = "") -> None:
            consumer.after(consumer.microseconds("retry.backoff.ms"), self._find, then)

        find = GroupCoordinator.of(broker).find
        consumer.cluster.transport.call(consumer, broker, "FindCoordinator", find, (self.group,), heard, again)

    # -- joining

    def join(self) -> None:
        """Joins and syncs; ``Consumer.assigned_now`` is called at the end.

        Partitions are revoked first: of a cooperative member only if it has lost its generation, since others may have
        them by now (ConsumerCoordinator.onJoinPrepare).
        """
        self.joining = True
        self.needs_join = False
        if not self.cooperative or self.generation == UNKNOWN_GENERATION:
            self.assigned = ()
            self._positions.keep(())
        consumer = self._consumer
        arguments = (consumer.name, self.member, self._timeouts(), consumer.setup.topics, self._owned())
        longest = self._timeouts()[1] + JOIN_GROUP_TIMEOUT_LAPSE
        self._attempt += 1
        self.ask("JoinGroup", lambda one: one.join, arguments, self._joined, longest, self._attempt)

    def _owned(self) -> tuple[str, ...]:
        return self.assigned if self.cooperative else ()

    def _joined(self, error: ErrorCode, generation: int, member_id: str, leader: str, members: Told) -> None:
        if error is ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394: it has its id now, and joins with it
            self.member_id = member_id
            self.join()
            return
        if error:
            self._join_again(error)
            return
        self.member_id, self.generation = member_id, generation
        self.leads = member_id == leader
        self._heard_at = self._consumer.clock.now
        assigned = self._assign(members) if self.leads and members else ()
        self._beat_from_now_on()
        arguments = (self.member, generation, assigned)
        self.ask("SyncGroup", lambda one: one.sync, arguments, self._synced, attempt=self._attempt)

    def _synced(self, error: ErrorCode, partitions: tuple[str, ...]) -> None:
        if error:
            self._join_again(error)
            return
        lost = [partition for partition in self.assigned if partition not in partitions]
        self.joining = False
        self.assigned = partitions
        self._positions.keep(partitions)
        strategy = str(self._consumer.settings["partition.assignment.strategy"])
        self._consumer.emit(Kind.ASSIGNED, self.group, self.generation, partitions, _ASSIGNORS[strategy])
        # a member that had partitions revoked joins again: the next generation assigns them (KIP-429)
        self.needs_join = self.needs_join or (self.cooperative and bool(lost))
        self._consumer.assigned_now()

    def reconciles(self) -> bool:
        """True if the poll has to wait for revocations; in this protocol members revoke partitions as they join."""
        return False

    def _join_again(self, error: ErrorCode) -> None:
        self.refused(error)
        if not self._consumer.failed:
            self.join()

    def refused(self, error: ErrorCode) -> None:
        """Updates the membership after an error."""
        if error in {ErrorCode.FENCED_INSTANCE_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL}:
            self._consumer.fail(error.name)
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.lose()
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self.generation = UNKNOWN_GENERATION
            self.needs_join = True
        elif error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.needs_join = True

    def lose(self) -> None:
        """Ends the membership."""
        self.member_id = NO_MEMBER
        self.generation = UNKNOWN_GENERATION
        self.needs_join = True

    # -- assigning, as the group's leader

    def _assign(self, members: Told) -> tuple[tuple[str, tuple[str, ...]], ...]:
        partitions = self._consumer.partition_counts(tuple(topic for _, _, topics, _ in members for topic in topics))
        subscriptions = {member: topics for member, _, topics, _ in members}
        instances = {member: instance for member, instance, _, _ in members if instance}
        owned = {member: tuple(topic_and_number(one) for one in has) for member, _, _, has in members}
        strategy = self._consumer.settings["partition.assignment.strategy"]
        if strategy == "roundrobin":
            assigned = assignors.round_robin_assignor(subscriptions, partitions, instances)
        elif strategy == "range":
            assigned = assignors.range_assignor(subscriptions, partitions, instances)
        else:
            assigned = assignors.even_assignment(assignors.sticky_assignor, owned, subscriptions, partitions)
        if self.cooperative:
            assigned = assignors.cooperative_adjustment(owned, assigned)
        return tuple((member, tuple(f"{topic}-{number}" for topic, number in has)) for member, has in assigned.items())

    # -- heartbeats

    def _beat_from_now_on(self) -> None:
        if not self._beating:
            self._beating = True
            self._later()

    def _later(self) -> None:
        self._consumer.after(self._consumer.microseconds("heartbeat.interval.ms"), self._beat)

    def _beat(self) -> None:
        consumer = self._consumer
        if self.generation == UNKNOWN_GENERATION or consumer.failed:
            self._beating = False
            return
        longest = consumer.microseconds("max.poll.interval.ms")
        if self.beats_by_itself and expired(consumer.clock.now, consumer.last_poll, longest) and not self.joining:
            self._beating = False
            self.leave()
            return
        session = consumer.microseconds("session.timeout.ms")
        if self.joining and expired(consumer.clock.now, self._heard_at, session):
            # it gives up the coordinator, and its connection with the requests waiting on it (HeartbeatThread.run)
            self._coordinator = None
            self.join()
        if self.beats_by_itself or not consumer.processing:
            self._beat_once()
        self._later()

    def _beat_once(self) -> None:
        generation = self.generation
        self.ask(
            "Heartbeat",
            lambda one: one.heartbeat,
            (self.member, generation),
            lambda error: self._heard(error, generation),
        )

    def _heard(self, error: ErrorCode, generation: int) -> None:
        self._heard_at = self._consumer.clock.now
        if generation != self.generation or self.joining or not error:
            return
        self.refused(error)
        self._consumer.poke()

    def leave(self) -> None:
        """Sends LeaveGroup; a static member does not, and gets its partitions back within its session."""
        if self.member_id != NO_MEMBER and not self.member[1]:
            self.ask("LeaveGroup", lambda one: one.leave, (self.member_id,), lambda _error: None)
        self.lose()


def _first_error(values: tuple[Any, ...]) -> ErrorCode:
    """The error of an answer: its first value, or that of the first partition in it."""
    first = values[0]
    if isinstance(first, tuple):
        first = first[0][1] if first else ErrorCode.NONE
    return first if isinstance(first, ErrorCode) else ErrorCode.NONE


class ModernMembership(Membership):
    """A member by KIP-848's protocol: ``generation`` is the member epoch, ``_wanted`` its latest assignment.

    ``_settled`` is false while an assignment that it was told waits for the poll that takes it over; ``_told`` is true
    once it has any. ``_has_named`` is true once a heartbeat has named the partitions that it has, ``_forgot``
    after a heartbeat that failed: the next one says everything. ``_overdue`` is true if the time for another heartbeat
    came while one was under way; ``_timed`` once an answer has told the interval, which begins then.
    """

    __slots__ = ("_asking", "_forgot", "_has_named", "_lives", "_overdue", "_settled", "_timed", "_told", "_wanted")

    commit_rule = "offset_commit.commit_to_consumer_group"

    def __init__(self, consumer: PollLoop, positions: Positions) -> None:
        super().__init__(consumer, positions)
        self._wanted: tuple[str, ...] = ()
        self._settled = True
        self._asking = self._overdue = self._timed = False
        self._has_named = self._forgot = self._told = False
        self._lives = 0

    @property
    def cooperative(self) -> bool:
        """True: members of this protocol always keep their partitions."""
        return True

    def join(self) -> None:
        """Starts to send heartbeats, with epoch 0; the poll goes on meanwhile."""
        self._enter()
        self._consumer.assigned_now()

    def _enter(self) -> None:
        self.needs_join = False
        self._lives += 1
        consumer = self._consumer
        # the process chooses the member id once, and keeps it when it is fenced (AbstractMembershipManager, KIP-1082)
        self.member_id = f"{consumer.name}.{consumer.incarnation}"
        self.generation = group_epochs.JOIN_EPOCH
        self._asking = False
        self._send()
        self._beat_from_now_on()

    def _interval(self) -> int:
        return self._consumer.cluster.integer("group.consumer.heartbeat.interval.ms") * MICROSECONDS

    def _later(self) -> None:
        self._consumer.after(self._interval(), self._beat)

    def _beat_once(self) -> None:
        self._overdue = self._asking
        self._send()

    def _send(self) -> None:
        if self._asking or self.generation == UNKNOWN_GENERATION:
            return
        self._asking, self._overdue = True, False
        life = self._lives

        def answered(error: ErrorCode, epoch: int, partitions: tuple[str, ...] | None) -> None:
            if life == self._lives:
                self._asking = False
                self._answered(error, epoch, partitions)

        def anew() -> None:
            if life == self._lives:
                self._asking = self._has_named = False
                self._forgot = True
                self._send()

        self.ask("ConsumerGroupHeartbeat", lambda one: one.consumer_heartbeat, self._said(), answered, anew=anew)

    def _said(self) -> tuple[Any, ...]:
        """The words of a heartbeat: what has not changed since another one is left out."""
        joins = self.generation == group_epochs.JOIN_EPOCH
        names = member_heartbeats.names_partitions(joins, self._has_named)
        owned = self.assigned if names else None
        rebalance, topics = group_epochs.UNSAID_TIMEOUT, None
        if joins or self._forgot:
            rebalance, topics = self._timeouts()[1], self._consumer.setup.topics
        self._has_named, self._forgot = True, False
        return self.member, self.generation, rebalance, topics, owned

    def _answered(self, error: ErrorCode, epoch: int, partitions: tuple[str, ...] | None) -> None:
        if error:
            self.refused(error)
            if self.needs_join and not self._consumer.failed:
                self._enter()  # whether the application polls or not (AbstractMembershipManager.transitionToFenced)
            self._consumer.poke()
            return
        self.generation = epoch
        if partitions is not None and not (self._told and partitions == self._wanted):
            self._wanted, self._told, self._settled = partitions, True, False
        if self._overdue and self._timed:
            # the heartbeat manager has its turn before the application polls (RequestManagers.entries)
            self._send()
        self._overdue, self._timed = False, True
        if not self._settled:
            self._consumer.poke()
        elif not self._has_named:
            self._send()  # it has taken over an assignment: it says so at once

    def reconciles(self) -> bool:
        """Revokes and takes over partitions as the coordinator assigned them; True while it commits before that."""
        if self._settled or self.needs_join:
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
        self._settled = wanted == self._wanted
        self._has_named = False
        if wanted != self.assigned:
            self.assigned = wanted
            self._positions.keep(wanted)
            self._consumer.emit(Kind.ASSIGNED, self.group, self.generation, wanted, "group_epochs.reconcile")
        self._send()  # its present partitions, so that others may have the rest

    def refused(self, error: ErrorCode) -> None:
        """Once fenced, gives up every partition and joins anew."""
        if error in {ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.GROUP_ID_NOT_FOUND}:
            self._consumer.fail(error.name)
        elif error in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}:
            self.lose()

    def lose(self) -> None:
        """Ends the membership and gives up every partition."""
        super().lose()
        self._wanted = ()
        self.assigned = ()
        self._settled = True
        self._has_named = self._told = False
        self._positions.keep(())

    def leave(self) -> None:
        """Leaves by a heartbeat: for good, or for a while as a static member does."""
        if self.generation != UNKNOWN_GENERATION:
            epoch = group_epochs.LEAVE_STATIC_EPOCH if self.member[1] else group_epochs.LEAVE_EPOCH
            arguments = (self.member, epoch, group_epochs.UNSAID_TIMEOUT, None, None)
            self.ask("ConsumerGroupHeartbeat", lambda one: one.consumer_heartbeat, arguments, lambda *_: None)
        self.lose()
