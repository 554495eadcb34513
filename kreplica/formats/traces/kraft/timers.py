"""Times in a metadata log that a timer has to let pass before a change, held against the timestamps of records.

Two changes need one: the fencing of a broker whose session is over, or its registration by another process until then
(broker.session.timeout.ms), and an ISR from which a leader takes a follower that lags (replica.lag.time.max.ms). A
timestamp is the controller's when it appends a batch, so times of two controllers are never compared, nor times before
and after a clock that was set back. The setting is in no record: the shortest time that was seen bounds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kreplica.engine.rules.controller.broker_registration import session_expired
from kreplica.engine.rules.replication.follower_lag import is_caught_up
from kreplica.engine.settings import Value
from kreplica.errors import UsageError
from kreplica.formats.metadata_log.image import PartitionChange
from kreplica.model.wording.words import counted

SESSION: Final = "broker.session.timeout.ms"
LAG: Final = "replica.lag.time.max.ms"
TIMERS: Final = (SESSION, LAG)

SLACK_MS: Final = 100
"""Time by which a timestamp may be early: a batch carries the time at which it was begun
(controller.quorum.append.linger.ms, 25 by default), and clocks are slewed."""


class Shortest(NamedTuple):
    """The shortest time that passed before a change that needs a timer.

    Args:
        passed: That time in milliseconds.
        offset: Offset of the change.
        reason: The change, and what the time is counted from.
    """

    passed: int
    offset: int
    reason: str


class InSync(NamedTuple):
    """Replicas that a leader takes for caught up, for its leader epoch begins.

    Args:
        since: Timestamp of the record that began it, ms.
        isr: The ISR then.
    """

    since: int
    isr: frozenset[int]


def timers_given(values: Mapping[str, Value]) -> dict[str, int]:
    """Settings of timers, as they were given for a log.

    Raises:
        UsageError: One of them is no timer of a metadata log.
    """
    for name in values:
        if name not in TIMERS:
            raise UsageError(f"{name} is no timer of a metadata log", "", f"give {' or '.join(TIMERS)}")
    return {name: int(value) for name, value in values.items()}


@dataclass(slots=True)
class Timers:
    """Bounds of timers by the timestamps of a log, up to some record.

    Args:
        given: The settings that a user has named, in milliseconds.
        shortest: The shortest time seen, by setting.
        set_back: Offsets of records whose timestamp is before that of the record before, and by how many ms.
    """

    given: Mapping[str, int] = field(default_factory=dict)
    shortest: dict[str, Shortest] = field(default_factory=dict)
    set_back: list[tuple[int, int]] = field(default_factory=list)
    _now: int | None = None
    _contacts: dict[int, int] = field(default_factory=dict)
    _in_sync: dict[tuple[str, int], InSync] = field(default_factory=dict)

    # -- what is known

    def new_controller(self, timestamp: int, brokers: Iterable[int]) -> None:
        """A controller takes over: sessions begin anew (ClusterControlManager.activate), by another clock."""
        self._now = timestamp
        self._contacts = dict.fromkeys(brokers, timestamp)
        self._in_sync.clear()

    def heard_of(self, broker: int, timestamp: int) -> None:
        """A heartbeat or a registration of a broker led to a record."""
        self._contacts[broker] = timestamp

    def changed(self, change: PartitionChange) -> None:
        """Takes a partition's new leader epoch: its leader begins with everybody in the ISR as caught up."""
        key = change.topic_id, change.partition
        if change.after is None:
            self._in_sync.pop(key, None)
        elif change.leader_changed:
            self._in_sync[key] = InSync(change.timestamp, frozenset(change.after.isr))

    def passed(self, offset: int, timestamp: int) -> None:
        """Takes the time of an entry once it is judged; what is known ends where the clock is set back."""
        if self._now is not None and timestamp < self._now:
            self.set_back.append((offset, self._now - timestamp))
            self._contacts.clear()
            self._in_sync.clear()
        self._now = timestamp

    # -- what needs a timer

    def in_sync(self, change: PartitionChange) -> InSync | None:
        """State with which the leader of a partition began its epoch; None if that is not known."""
        return self._in_sync.get((change.topic_id, change.partition))

    def shrink_fault(self, change: PartitionChange, began: InSync | None) -> str | None:
        """The fault in an ISR that a leader shrank; None if its followers had the time to lag.

        Args:
            change: The change.
            began: ``in_sync`` before it.
        """
        if began is None or change.before is None or change.after is None:
            return None
        leaving = began.isr & (frozenset(change.before.isr) - frozenset(change.after.isr))
        if not leaving:
            return None
        given = self.given.get(LAG)
        soon = given is not None and is_caught_up(0, 1, began.since, change.timestamp + SLACK_MS, given)
        named = ", ".join(map(str, sorted(leaving)))
        reason = f"{named} in sync as leader epoch {change.before.leader_epoch} began, out of the ISR"
        return self._judged(LAG, change.timestamp - began.since, change.offset, reason, soon)

    def session_fault(self, broker: int, offset: int, timestamp: int, what: str) -> str | None:
        """The fault in a record that needs a session to be over; None if it had the time to expire.

        Args:
            broker: Whose session.
            offset, timestamp: Of the record.
            what: The change, as ``is fenced``.
        """
        contact = self._contacts.get(broker)
        if contact is None:
            return None
        given = self.given.get(SESSION)
        soon = given is not None and not session_expired(timestamp + SLACK_MS, contact, given)
        return self._judged(SESSION, timestamp - contact, offset, f"broker {broker} in touch, {what}", soon)

    def _judged(self, setting: str, passed: int, offset: int, reason: str, soon: bool) -> str | None:
        before = self.shortest.get(setting)
        if before is None or passed < before.passed:
            self.shortest[setting] = Shortest(passed, offset, reason)
        return f"{reason} {passed} ms later: {setting}={self.given[setting]} is not over" if soon else None

    # -- what a user is told

    def remarks(self, defaults: Mapping[str, Value]) -> Iterator[str]:
        """Remarks on times that are shorter than Kafka's own settings, and on clocks.

        Args:
            defaults: Kafka's default of each setting.
        """
        for setting, (passed, offset, reason) in self.shortest.items():
            default = int(defaults[setting])
            if setting not in self.given and passed + SLACK_MS < default:
                yield (
                    f"offset {offset}: {reason} {passed} ms later: {setting} is less than its default of {default}"
                    f" there, or times were altered; with --set {setting}=MS what comes too soon is refused"
                )
        if self.set_back:
            offset, by = self.set_back[0]
            yield (
                f"offset {offset}: {by} ms before the record before it, {counted(len(self.set_back), 'such record')}:"
                " a clock was set back, or times were altered"
            )
