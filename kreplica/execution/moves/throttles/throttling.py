"""Throttles of a run of moves: set for what is in flight, put back by where their values came from.

    rates    a broker's own value, on brokers that send or receive; before it another own one, or the cluster's default;
             of changes of log directories the rate that Kafka has for these, which needs no list
    lists    the topic's entries for the replicas of moves in flight, added to those that stand there; ``*`` is left

Every value is in the journal, with what was there before, before it is set. What is put back is what still stands as it
was set: an own rate of before is set again, where there was none the broker's own one is deleted, so that the default
holds again. A rate that somebody else has changed meanwhile is left and told. A broker that is down keeps what it is
owed, in the journal, until it is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kreplica.control.settings import SettingResult
from kreplica.control.throttle import Entry as ListEntry
from kreplica.control.throttle import ListKey, ListResult
from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.execution.moves.cluster import MoveCluster, RateKey
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import Entry, Event, ListNote, RateNote, entry
from kreplica.execution.moves.plans.progress import Ledger, Owed
from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import Operation
from kreplica.model.throttles import (
    DIRECTORY_RATE,
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    parse_throttle_list,
)
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.sources.kafka.throttles import Throttles

SETTLE_SECONDS = 10.0
"""Seconds that a broker may take to make a rate its own."""

PAUSE_SECONDS = 0.2


class Throttling:
    """The throttles of one run.

    Args:
        cluster: The cluster.
        write: Writes a line of the journal.
        operation: The operation, for the journal.
        owed: What earlier runs set and have not put back.
        rate: Bytes a second for each broker; None for no throttle.
        tell: Called with each event, as one clause.
    """

    def __init__(
        self,
        cluster: MoveCluster,
        write: Callable[[Entry], None],
        operation: Operation,
        owed: Owed,
        rate: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._cluster, self._write, self._operation = cluster, write, operation
        self._ledger = Ledger(owed)
        self._rate, self._tell = rate, tell
        self._set: set[RateKey] = set()

    @property
    def owed(self) -> Owed:
        """Throttles that have to be put back."""
        return self._ledger.owed

    @property
    def rate(self) -> int | None:
        """Bytes a second for each broker that the run sets; None for no throttle."""
        return self._rate

    def cover(self, changes: Sequence[ReplicaChange]) -> dict[PartitionKey, str]:
        """Throttles moves that are about to begin.

        Returns:
            Those that cannot be throttled now, each with why.

        Raises:
            ChangeRefusedError: The credentials may not set throttles.
            UnreachableError: The cluster did not answer.
        """
        copying = [change for change in changes if change.adding]
        if self._rate is None or not copying:
            return {}
        rates, lists = rates_of(copying), entries_of(copying)
        before = self._cluster.throttles({broker for broker, _ in rates}, {topic for topic, _ in lists})
        notes = [
            self._rate_note(key, before) for key in rates if key[0] not in before.unread and self._is_new(key, before)
        ]
        added = [note for key, some in lists.items() if (note := _list_note(key, some, before)) is not None]
        if notes or added:
            self._note(Event.THROTTLING, notes, added)
        # A broker that is down sends nothing; one that is to receive has to be throttled.
        failed_rates = self._cover_rates(rates, before, notes)
        failed_lists = self._extend(added)
        return _uncovered(copying, failed_rates, failed_lists)

    def cover_directories(self, changes: Sequence[ChangedDirectory]) -> dict[int, str]:
        """Throttles changes of log directories that are about to begin.

        Returns:
            Brokers on which they cannot be throttled now, each with why.

        Raises:
            ChangeRefusedError, UnreachableError: As ``cover``.
        """
        if self._rate is None or not changes:
            return {}
        rates = tuple((broker, DIRECTORY_RATE) for broker in sorted({change.broker for change in changes}))
        before = self._cluster.throttles({broker for broker, _ in rates}, ())
        notes = [
            self._rate_note(key, before) for key in rates if key[0] not in before.unread and self._is_new(key, before)
        ]
        if notes:
            self._note(Event.THROTTLING, notes, [])
        return self._cover_rates(rates, before, notes)

    def _cover_rates(self, rates: Iterable[RateKey], before: Throttles, notes: Sequence[RateNote]) -> dict[int, str]:
        """Sets the rates that are noted; returns the brokers that have none now, each with why."""
        failed = {**before.unread, **self._set_rates(notes)}
        self._set |= {key for key in rates if key[0] not in failed and key in self.owed.rates}
        return failed

    def _is_new(self, key: RateKey, before: Throttles) -> bool:
        known, own = self.owed.rates.get(key), before.own_rate(*key)
        if known is None:
            return True
        # Somebody else's value is left alone; the one before stands there where a run died before it set its own.
        return own != str(self._rate) and (own == known.before or self.owed.is_ours(key, own))

    def _rate_note(self, key: RateKey, before: Throttles) -> RateNote:
        assert self._rate is not None, "there is a throttle"
        found = before.rates.get(key)
        return RateNote(*key, self._rate, before.own_rate(*key), found.origin if found is not None else "")

    def _set_rates(self, notes: Sequence[RateNote]) -> dict[int, str]:
        """Sets rates and waits until brokers tell them; returns the brokers that do not, each with why."""
        wanted = {(note.broker, note.name): note.value for note in notes}
        results = self._cluster.set_rates(wanted)
        failed = {key[0]: _refused(result) for key, result in results.items() if not result.made}
        wanted = {key: value for key, value in wanted.items() if key[0] not in failed}
        deadline = time.monotonic() + SETTLE_SECONDS
        while wanted and (late := self._not_yet(wanted)):
            if time.monotonic() > deadline:
                return failed | dict.fromkeys(late, "it was set, and the broker does not tell it")
            time.sleep(PAUSE_SECONDS)
        return failed

    def _not_yet(self, wanted: Mapping[RateKey, int]) -> list[int]:
        now = self._cluster.throttles({broker for broker, _ in wanted}, ())
        return [key[0] for key, value in wanted.items() if now.own_rate(*key) != str(value)]

    def _extend(self, notes: Sequence[ListNote]) -> dict[str, str]:
        """Adds entries; returns the topics whose list does not take them, each with why."""
        wanted = {(note.topic, note.name): frozenset(note.entries) for note in notes}
        results = self._cluster.extend_lists(wanted)
        failed = {topic: _refused(result) for (topic, _), result in results.items() if result.error}
        wanted = {key: some for key, some in wanted.items() if key[0] not in failed and not results[key].every}
        deadline = time.monotonic() + SETTLE_SECONDS
        while wanted and (late := self._not_listed(wanted)):
            if time.monotonic() > deadline:
                return failed | dict.fromkeys(late, "it was set, and no broker tells it")
            time.sleep(PAUSE_SECONDS)
        return failed

    def _not_listed(self, wanted: Mapping[ListKey, frozenset[ListEntry]]) -> list[str]:
        lists = self._cluster.throttles((), {topic for topic, _ in wanted}).lists
        return [key[0] for key, some in wanted.items() if not some <= parse_throttle_list(lists.get(key)).replicas]

    def change_rate(
        self,
        rate: int,
        in_flight: Sequence[ReplicaChange],
        within: Sequence[ChangedDirectory] = (),
        message: str = "",
    ) -> dict[int, str]:
        """Sets another rate wherever this run has set one; what somebody else has changed meanwhile is left.

        Args:
            rate: Bytes a second for each broker.
            in_flight: Moves in flight, which get a throttle where the run had none.
            within: Changes of log directories in flight, which get one, too.
            message: Message of the journal's line, which is written even if no rate changes.

        Returns:
            Brokers that still have the rate of before, each with why: asked again they may take it.

        Raises:
            ChangeRefusedError: The credentials may not set throttles.
            UnreachableError: The cluster did not answer.
        """
        self._rate = rate
        now = self._cluster.throttles({broker for broker, _ in self._set}, ())
        notes = [self._rate_note(key, now) for key in sorted(self._set) if key[0] not in now.unread]
        owed = self.owed
        notes = [note for note in notes if note.before != str(rate) and owed.is_ours(_key(note), note.before)]
        if notes or message:
            self._note(Event.THROTTLING, notes, [], message)
        behind = {**now.unread, **self._set_rates(notes)}
        self.cover(in_flight)
        self.cover_directories(within)
        return behind

    def vanished(self) -> str:
        """Says which of the rates that were set is not there any more; empty if none."""
        if not self._set:
            return ""
        now = self._cluster.throttles({broker for broker, _ in self._set}, ())
        gone = sorted({key[0] for key in self._set if key[0] not in now.unread and now.own_rate(*key) is None})
        return f"somebody took the throttle of broker {gone[0]} away" if gone else ""

    def release(self, changes: Sequence[ReplicaChange]) -> None:
        """Takes the entries of moves that have ended out of the lists, as far as they were added.

        Where the cluster is silent they stay, and ``release_all`` takes them out.
        """
        owed, notes = self.owed.lists, []
        for key, some in entries_of(changes).items():
            known = owed.get(key)
            ours = tuple(sorted({*some} & {*known.entries})) if known is not None else ()
            if known is not None and ours:
                notes.append(ListNote(*key, ours, known.before))
        try:
            self._shrink(notes)
        except UnreachableError as error:
            if not error.may_pass:
                raise
            self._tell(f"moves that have ended are still in the lists of throttles: {error}")

    def release_all(self, *, through_controllers: bool = False) -> tuple[str, ...]:
        """Puts back every throttle that is owed; returns clauses on what is left, or was left to somebody else.

        Args:
            through_controllers: Whether the cluster sets rates of brokers that are down, which nobody can read first.
        """
        owed = self.owed
        self._shrink(list(owed.lists.values()))
        remarks = [f"the list {name} of topic {topic} is not put back" for topic, name in self.owed.lists]
        if not owed.rates:
            return tuple(remarks)
        now = self._cluster.throttles({broker for broker, _ in owed.rates}, ())
        seen = [note for note in owed.rates.values() if note.broker not in now.unread]
        ours = [note for note in seen if owed.is_ours((note.broker, note.name), now.own_rate(note.broker, note.name))]
        remarks += self._put_back(ours)
        others = [note for note in seen if note not in ours]
        for note in others:
            value = now.own_rate(note.broker, note.name)
            if value != note.before:
                told = f"is {value}" if value is not None else "is gone"
                remarks.append(f"{note.name} of broker {note.broker} {told}: somebody else changed it, it is left")
        if others:
            self._note(Event.RELEASED, others, [])
        unread = [note for note in owed.rates.values() if note.broker in now.unread]
        if through_controllers and unread:
            remarks += self._put_back(unread)
            unread = []
        down = sorted({note.broker for note in unread})
        remarks += [f"broker {broker} is down: its throttle is put back by resume, when it is back" for broker in down]
        return tuple(remarks)

    def _put_back(self, notes: Sequence[RateNote]) -> list[str]:
        wanted = {(note.broker, note.name): _number(note.before) for note in notes}
        results = self._cluster.set_rates(wanted)
        made = [note for note in notes if results[note.broker, note.name].made]
        if made:
            self._note(Event.RELEASED, made, [])
        failed = [note for note in notes if note not in made]
        return [
            f"{one.name} of broker {one.broker} is not put back: {results[one.broker, one.name].error}"
            for one in failed
        ]

    def _shrink(self, notes: Sequence[ListNote]) -> None:
        if not notes:
            return
        results = self._cluster.shrink_lists({(note.topic, note.name): note.entries for note in notes})
        done = [note for note in notes if not results[note.topic, note.name].error]
        if done:
            self._note(Event.RELEASED, [], done)
        for note in notes:
            if note not in done:
                error = results[note.topic, note.name].error
                self._tell(f"{note.name} of topic {note.topic} is not put back: {error}")

    def _note(self, event: Event, rates: Iterable[RateNote], lists: Iterable[ListNote], message: str = "") -> None:
        line = entry(event, self._operation, rates=tuple(rates), lists=tuple(lists), message=message)
        self._write(line)
        self._ledger.count(line)


def rates_of(changes: Collection[ReplicaChange]) -> tuple[RateKey, ...]:
    """Rates that moves need: of the brokers that may send, each that has a replica, and of those that receive."""
    senders = {broker for change in changes for broker in change.from_replicas}
    receivers = {broker for change in changes for broker in change.adding}
    return (
        *((broker, LEADER_RATE) for broker in sorted(senders)),
        *((broker, FOLLOWER_RATE) for broker in sorted(receivers)),
    )


def entries_of(changes: Iterable[ReplicaChange]) -> dict[ListKey, set[ListEntry]]:
    """Entries that moves need, by topic and list: leaders are all replicas before, followers those added."""
    entries: dict[ListKey, set[ListEntry]] = {}
    for change in changes:
        if change.adding:
            leaders = {(change.partition, broker) for broker in change.from_replicas}
            followers = {(change.partition, broker) for broker in change.adding}
            entries.setdefault((change.topic, LEADER_LIST), set()).update(leaders)
            entries.setdefault((change.topic, FOLLOWER_LIST), set()).update(followers)
    return entries


def _list_note(key: ListKey, some: Collection[ListEntry], before: Throttles) -> ListNote | None:
    """The entries that are not there yet; None if none: those that stand there are somebody else's."""
    value = before.lists.get(key)
    found = parse_throttle_list(value)
    new = tuple(sorted({*some} - found.replicas))
    return None if found.every or not new else ListNote(*key, new, value)


def _refused(result: SettingResult | ListResult) -> str:
    """Reason why a setting was not made.

    Raises:
        ChangeRefusedError: The credentials may not make it, nor any other.
    """
    why = f"{result.error}: {result.message}" if result.message else result.error
    if result.error.endswith("AUTHORIZATION_FAILED"):
        raise ChangeRefusedError("throttles cannot be set", why)
    return why


def _uncovered(
    changes: Iterable[ReplicaChange], brokers: Mapping[int, str], topics: Mapping[str, str]
) -> dict[PartitionKey, str]:
    found: dict[PartitionKey, str] = {}
    for change in changes:
        why = [f"broker {broker}, {brokers[broker]}" for broker in change.adding if broker in brokers]
        why += [f"topic {change.topic}, {topics[change.topic]}"] if change.topic in topics else []
        if why:
            found[change.key] = why[0]
    return found


def _key(note: RateNote) -> RateKey:
    return note.broker, note.name


def _number(value: str | None) -> int | None:
    return None if value is None else int(value)
