"""A consumer of a group: its application polls, processes and commits; the group assigns and revokes partitions.

org.apache.kafka.clients.consumer.KafkaConsumer with the classic protocol.
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.rules.groups.consumer_position import auto_commit_due
from kreplica.engine.rules.groups.group_membership import NO_MEMBER, UNKNOWN_GENERATION
from kreplica.engine.rules.groups.offset_reset import BY_DURATION
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import MILLISECOND, Commit, ConsumerSetup, topic_of
from kreplica.engine.simulator.broker.broker import Brokers
from kreplica.engine.simulator.clients.client import Described
from kreplica.engine.simulator.clients.consumer_application import Handed, Work
from kreplica.engine.simulator.clients.consumer_transactions import Transactions
from kreplica.engine.simulator.clients.membership import Membership, ModernMembership
from kreplica.engine.simulator.clients.poll_loop import PollLoop
from kreplica.engine.simulator.clients.positions import Positions
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.trace import Kind, Record
from kreplica.errors import UsageError

POLL_TIMEOUT = 100 * MILLISECOND
"""Timeout of a poll that waits for records: the value that most applications give Consumer.poll."""

Offsets = tuple[tuple[str, int, int], ...]


class Consumer(PollLoop):
    """The poll loop. ``processing`` is true between two polls, ``waiting`` while a poll waits for records."""

    __slots__ = (
        "_idle_until",
        "_last_commit",
        "_owes_poll",
        "_polls",
        "_seeks",
        "_seen",
        "_stalled",
        "_worker",
        "closing",
        "failed",
        "last_poll",
        "membership",
        "positions",
        "processing",
        "setup",
        "transactions",
        "waiting",
    )

    def __init__(self, cluster: Cluster, brokers: Brokers, setup: ConsumerSetup) -> None:
        super().__init__(cluster, brokers, setup.name, setup.settings)
        if setup.application.transactional:
            self.settings["enable.auto.commit"] = False  # the offsets go with the transactions
        self._refuse_unknown()
        self.setup = setup
        self._stalled: set[str] = set()
        self._begin_anew()

    def _refuse_unknown(self) -> None:
        """Refuses options that the version does not have yet.

        Raises:
            UsageError: It is group.protocol=consumer, which may also be off by its feature, or a reset by duration.
        """
        version, fix = self.cluster.version, "it is there from 4.0 on"
        if self.settings["group.protocol"] == "consumer" and not version.group_version:
            if version.consumer_protocol:
                raise UsageError("group.protocol=consumer cannot be used", "the feature group.version is 0", "raise it")
            raise UsageError(f"group.protocol=consumer: {version.name} has no such protocol", "", fix)
        policy = str(self.settings["auto.offset.reset"])
        if policy.startswith(BY_DURATION) and not version.resets_by_duration:
            raise UsageError(f"auto.offset.reset={policy}: {version.name} has no such policy", "", fix)

    def _begin_anew(self) -> None:
        modern = self.settings["group.protocol"] == "consumer"
        self.positions = Positions(self)
        self.membership = (ModernMembership if modern else Membership)(self, self.positions)
        self.transactions = Transactions(self, self.membership, self.positions)
        self.processing = False
        self.waiting = False
        self.failed = False
        self.closing = False
        self.last_poll = 0
        self._idle_until = 0
        self._owes_poll = False
        self._last_commit = 0
        self._polls = 0
        self._worker: Work | None = None
        self._seen: tuple[tuple[str, int], ...] = ()
        self._seeks: list[tuple[int, str, int]] = list(self.setup.application.seeks)

    # -- life

    def on_start(self) -> None:
        """Subscribes and polls from its time on."""
        self.after(max(0, self.setup.start - self.clock.now), self._begin)
        if self.setup.stop > self.clock.now:
            self.after(self.setup.stop - self.clock.now, self.stop)
        for time, partition, offset in self._seeks:
            if time > self.clock.now:
                self.after(time - self.clock.now, self._seek, partition, offset)
        for time in self.setup.sees.values():
            if time > self.clock.now:
                self.after(time - self.clock.now, self.poke)

    def _begin(self) -> None:
        self.last_poll = self._last_commit = self.clock.now
        self._refresh_now_and_then()
        if self.setup.application.transactional:
            self.refresh(lambda: self.transactions.start(self.poll))
        else:
            self.refresh(self.poll)

    def _refresh_now_and_then(self) -> None:
        self.after(self.microseconds("metadata.max.age.ms"), self._refresh_now_and_then)
        if self.last_poll > self.setup.start:
            self.refresh(lambda: None)

    def on_end(self) -> None:
        """Forgets everything the process held; the group, and the application's output, remain."""
        super().on_end()
        self._begin_anew()

    def stop(self) -> None:
        """close(): commits if enable.auto.commit is set, leaves the group, ends."""
        if not self.up or self.paused or self.closing:
            return
        self.closing = True
        if self.settings["enable.auto.commit"] and self.membership.generation != UNKNOWN_GENERATION:
            self._commit(self.positions.offsets(), self._leave)
        else:
            self._leave()

    def _leave(self) -> None:
        self.membership.leave()
        self.after(self.cluster.transport.latency * 4, super().stop)

    def fail(self, error: str) -> None:
        """Ends the application after an exception of the consumer: it reads no more."""
        self.failed = True
        self.emit(Kind.CLIENT_FAILED, error)
        self.membership.lose()

    # -- metadata

    def _heard(self, partitions: tuple[Described, ...]) -> None:
        super()._heard(partitions)
        self.positions.metadata_heard()

    def partition_counts(self, topics: tuple[str, ...]) -> dict[str, int]:
        """The number of partitions of each topic in the consumer's metadata."""
        now, counts = self.clock.now, dict[str, int]()
        for partition in self.leaders:
            topic = topic_of(partition)
            if topic in topics and self.setup.sees.get(partition, 0) <= now:
                counts[topic] = counts.get(topic, 0) + 1
        return dict(sorted(counts.items()))

    def next_bootstrap(self) -> int:
        """Returns another broker to ask each time."""
        self._bootstrap += 1
        return self._bootstrap

    # -- the poll loop

    def poll(self) -> None:
        """One poll: rejoins, commits and finds positions as needed, then hands out records or waits for them."""
        if self.failed or self.closing or self.membership.joining:
            return
        if self.clock.now < self._idle_until:
            self._owes_poll = self.processing = True
            return
        self._polls += 1
        self.processing = False
        self.last_poll = self.clock.now
        self._look_for_new_partitions()
        if self.membership.needs_join:
            self._rejoin()
            return
        if self.membership.reconciles():
            return
        self._auto_commit_if_due()
        missing = self.positions.missing(self.membership.assigned)
        if missing:
            self._find_positions(missing)
        self._deliver_or_wait()

    def stop_polling(self, duration: int) -> None:
        """Has the application do something else after its present poll, for ``duration`` microseconds."""
        self._idle_until = max(self._idle_until, self.clock.now + duration)
        self.after(duration, self._poll_again)
        self.poke()

    def _poll_again(self) -> None:
        if self._owes_poll:
            self._owes_poll = False
            self.poll()

    def _look_for_new_partitions(self) -> None:
        """Looks, if it assigns for the group, for new partitions: ConsumerCoordinator.rejoinNeededOrPending."""
        seen = tuple(self.partition_counts(self.setup.topics).items())
        if self.membership.leads and self._seen and seen != self._seen:
            self.membership.needs_join = True
        self._seen = seen

    def _rejoin(self) -> None:
        """Commits the processed records before the partitions are revoked (onJoinPrepare), then joins."""
        if self.settings["enable.auto.commit"] and self.membership.generation != UNKNOWN_GENERATION:
            self.membership.joining = True
            self.commit_before_revocation(self.membership.join)
        else:
            self.membership.join()

    def commit_before_revocation(self, then: Callable[[], object]) -> None:
        """Commits the processed records before partitions are revoked."""
        self._last_commit = self.clock.now
        self._commit(self.positions.offsets(), then, revoking=True)

    def assigned_now(self) -> None:
        """Continues the poll with the partitions that the group has assigned."""
        self.last_poll = self.clock.now
        self.poll()

    def _find_positions(self, missing: tuple[str, ...]) -> None:
        generation = self.membership.generation
        stable = self.settings["isolation.level"] == "read_committed" and self.cluster.version.stable_offsets

        def heard(answers: tuple[tuple[str, ErrorCode, int, int], ...]) -> None:
            if generation != self.membership.generation:
                return
            unstable = tuple(one[0] for one in answers if one[1])
            for partition, error, offset, epoch in answers:
                if not error and partition not in self.positions.at:
                    self.positions.committed(partition, offset, epoch)
            if unstable:
                self.after(self.microseconds("retry.backoff.ms"), self._find_positions, unstable)
            self.fetch_more()

        self.membership.ask("OffsetFetch", lambda one: one.fetch, (missing, stable), heard)

    def _deliver_or_wait(self) -> None:
        if self.positions.has_records:
            self._deliver()
            return
        self.waiting = True
        self.positions.fetch()
        self.after(POLL_TIMEOUT, self._poll_over, self._polls)

    def _poll_over(self, poll: int) -> None:
        if self.waiting and poll == self._polls:
            self.waiting = False
            self.poll()

    def fetch_more(self) -> None:
        """Fetches while the application waits for records."""
        if self.waiting:
            self.positions.fetch()

    def records_came(self) -> None:
        """Returns from the waiting poll once a fetch has brought records."""
        if self.waiting:
            self._deliver()

    def poke(self) -> None:
        """Makes a waiting poll look at a change at once."""
        if self.waiting:
            self.waiting = False
            self.poll()

    def _deliver(self) -> None:
        self.waiting = False
        records = self.positions.hand_out(self.integer("max.poll.records"))
        for partition, offset, record in records:
            self.emit(Kind.CONSUMED, partition, offset, record.value, self.membership.group)
        if not records:  # control records only
            self._deliver_or_wait()
            return
        self.positions.fetch()
        self.processing = True
        self._process(records)

    # -- the application

    def _process(self, records: list[Handed]) -> None:
        application = self.setup.application
        if application.transactional:
            self.transactions.run(records, self.poll)
        elif application.hand_off:
            self._worker = self._worker or Work(self, [], lambda: None)
            self._worker.add(records)
            self._commit_as_told(application.commit)
        elif not self.settings["enable.auto.commit"] and application.commit is Commit.BEFORE:
            self._commit(self.positions.offsets(), lambda: Work(self, records, self.poll))
        else:
            Work(self, records, lambda: self._commit_as_told(application.commit))

    def _commit_as_told(self, commit: Commit) -> None:
        if self.settings["enable.auto.commit"] or commit in {Commit.NEVER, Commit.BEFORE}:
            self.poll()
        elif commit is Commit.ASYNC:
            self._commit(self.positions.offsets(), lambda: None)
            self.poll()
        else:
            self._commit(self.positions.offsets(), self.poll)

    def stall(self, value: object) -> int:
        """Additional processing time of a value, in microseconds, the first time it is processed."""
        text = str(value)
        if text in self._stalled:
            return 0
        self._stalled.add(text)
        return self.setup.application.stalls.get(text, 0)

    def tell(self, partition: str, offset: int, record: Record, result: str) -> None:
        """Writes the result of a record into the trace."""
        self.emit(Kind.PROCESSED, partition, offset, record.value, self.membership.group, result)

    def _seek(self, partition: str, offset: int) -> None:
        if partition in self.membership.assigned:
            self.positions.seek(partition, offset, -1, "the application seeks")
            self.fetch_more()

    # -- commits

    def _auto_commit_if_due(self) -> None:
        now = self.clock.now
        interval = self.microseconds("auto.commit.interval.ms")
        if self.settings["enable.auto.commit"] and auto_commit_due(now, self._last_commit, interval):
            self._last_commit = now
            self._commit(self.positions.offsets(), lambda: None)

    def _commit(self, offsets: Offsets, then: Callable[[], object], revoking: bool = False) -> None:
        """Commits; ``then`` is called after success and failure alike, as by an application that catches the exception.

        Before partitions are revoked it commits once more if its epoch has changed meanwhile (CommitRequestManager).
        """
        if not offsets:
            then()
            return
        membership = self.membership
        if membership.member_id == NO_MEMBER or membership.generation == UNKNOWN_GENERATION:
            self.emit(Kind.COMMIT_FAILED, membership.group, "CommitFailedException", membership.commit_rule)
            then()
            return
        generation = membership.generation

        def answered(error: ErrorCode) -> None:
            newer = membership.generation not in {UNKNOWN_GENERATION, generation}
            if error is ErrorCode.STALE_MEMBER_EPOCH and newer and revoking:
                self._commit(offsets, then, revoking)
                return
            if error:
                self.emit(Kind.COMMIT_FAILED, membership.group, error.name, membership.commit_rule)
                if generation == membership.generation:
                    membership.refused(error)
            if not self.failed:
                then()

        membership.ask("OffsetCommit", lambda one: one.commit, (membership.member, generation, offsets), answered)
