"""Throttles of a cluster that nothing needs: left behind by moves that have ended, or halves that do nothing.

orphaned   a list with a rate, and none of the partitions that it names is moving: it slows what only catches up
no-rate    a list whose replicas stand on brokers without a rate: it does nothing until somebody sets one
no-list    a rate of a broker of which no list names a replica: it does nothing until somebody writes a list
in-use     a partition that it names is moving

The rate of moves between log directories needs no list: in-use while a replica of the broker is on its way to another
one, or where that is not known; otherwise orphaned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, structs

from kreplica.control.boundary import require_brokers, require_writable
from kreplica.control.settings import EntityType, Operation, SettingChange, SettingResult, alter_settings
from kreplica.errors import ExitCode, UsageError
from kreplica.model.tables.rows import Meaning
from kreplica.model.throttles import (
    DIRECTORY_RATE,
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    THROTTLE_RATES,
    parse_throttle_list,
)
from kreplica.model.wording.words import counted
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.sources import Facet
from kreplica.sources.kafka.log_dirs import BrokerLogs, read_broker_logs
from kreplica.sources.kafka.throttles import Throttles, read_throttles

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

RATE_OF = {LEADER_LIST: LEADER_RATE, FOLLOWER_LIST: FOLLOWER_RATE}
ORPHANED, NO_RATE, NO_LIST, IN_USE = "orphaned", "no-rate", "no-list", "in-use"
_REASONS = {
    ORPHANED: "no partition that it names is moving: it slows replicas that only catch up",
    NO_RATE: "it names no replica of a broker that has a rate: it does nothing",
    NO_LIST: "no list names a replica that it holds for: it does nothing",
    IN_USE: "a partition that it names is moving",
}


_IDLE = "no replica is on its way to another log directory: it does nothing until one is"
_COPYING = "a replica is on its way to another log directory"


class ThrottleRow(Struct, frozen=True):
    """A rate or a list that throttles replication."""

    scope: Annotated[str, Meaning("topic, broker, or broker-default, which holds for brokers without an own value")]
    entity: Annotated[str, Meaning("topic name or broker id; empty for broker-default")]
    setting: Annotated[str, Meaning("name of the setting")]
    value: Annotated[str, Meaning("bytes a second, or the replicas that a list names", fold=True)]
    state: Annotated[
        str, Meaning("in-use, orphaned (nothing that it names moves), no-rate or no-list (it does nothing)")
    ]
    reason: Annotated[str, Meaning("what that means", fold=True)]
    cleared: Annotated[bool | None, Meaning("whether it was deleted; null where that was not asked for")] = None


@dataclass(frozen=True, slots=True)
class ThrottleChoice:
    """Throttles to clear.

    Args:
        brokers: Brokers whose own rates are named.
        topics: Topics whose lists are named.
        default: Whether the rates of the cluster's default are named.
    """

    brokers: Collection[int] = ()
    topics: Collection[str] = ()
    default: bool = False

    def names(self, row: ThrottleRow) -> bool:
        """True if a row is one of those named."""
        if row.scope == EntityType.TOPIC:
            return row.entity in self.topics
        if row.scope == EntityType.BROKER:
            return int(row.entity) in self.brokers
        return self.default


@dataclass(frozen=True, slots=True)
class FoundThrottles:
    """The throttles of a cluster.

    Args:
        reading: The cluster as it was read.
        rows: Rates and lists.
        unread: Brokers that could not be asked, each with why.
        executed: Whether any were cleared.
        failed: Clauses on those that were named and are not cleared.
    """

    reading: Reading
    rows: Sequence[ThrottleRow]
    unread: Sequence[str] = ()
    executed: bool = False
    failed: Sequence[str] = ()

    @property
    def exit_code(self) -> ExitCode:
        """4 where one that was named is left, 1 where there is one that nothing needs, 5 where not all was seen."""
        if self.failed:
            return ExitCode.CHANGE_REFUSED
        if any(row.state != IN_USE and not row.cleared for row in self.rows):
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.reading.incomplete or self.unread else ExitCode.OK


def judge_throttles(
    snapshot: ClusterSnapshot, throttles: Throttles, logs: Mapping[int, BrokerLogs | str]
) -> list[ThrottleRow]:
    """Rows of the rates and lists that are set, lists first.

    Args:
        snapshot: The cluster, with its reassignments.
        throttles: Its throttles.
        logs: Log directories of the brokers that have a rate for moves between these, or why a broker does not tell.
    """
    lists = {key: _replicas_in(snapshot, key[0], value) for key, value in throttles.lists.items()}
    moving = _moving(snapshot)
    rows = [_list_row(key, throttles, lists[key], moving) for key in sorted(lists)]
    own = sorted(key for key in throttles.rates if throttles.own_rate(*key) is not None and key[1] in THROTTLE_RATES)
    for broker, name in own:
        users = {entry for entry in _users(lists, name) if entry[2] == broker}
        value = throttles.own_rate(broker, name) or ""
        rows.append(_rate_row(EntityType.BROKER, str(broker), name, value, users, moving))
    for name in THROTTLE_RATES:
        if name in throttles.defaults:
            users = {one for one in _users(lists, name) if throttles.own_rate(one[2], name) is None}
            rows.append(_rate_row(EntityType.BROKER_DEFAULT, "", name, throttles.defaults[name], users, moving))
    return [*rows, *_directory_rows(throttles, logs)]


def _directory_rows(throttles: Throttles, logs: Mapping[int, BrokerLogs | str]) -> Iterator[ThrottleRow]:
    """Rows of the rates of moves between log directories: of brokers, then the cluster's default."""
    limited = sorted(broker for broker, name in throttles.rates if name == DIRECTORY_RATE)
    own = {broker: value for broker in limited if (value := throttles.own_rate(broker, DIRECTORY_RATE)) is not None}
    for broker, value in own.items():
        yield _directory_row(EntityType.BROKER, str(broker), value, [logs.get(broker, _UNASKED)])
    if DIRECTORY_RATE in throttles.defaults:
        others = [logs.get(broker, _UNASKED) for broker in limited if broker not in own]
        yield _directory_row(EntityType.BROKER_DEFAULT, "", throttles.defaults[DIRECTORY_RATE], others)


_UNASKED = "it was not asked"


def _directory_row(scope: EntityType, entity: str, value: str, told: Sequence[BrokerLogs | str]) -> ThrottleRow:
    known = [one for one in told if isinstance(one, BrokerLogs) and not one.refused]
    state, reason = ORPHANED, _IDLE
    if any(copy.future for one in known for copy in one.replicas):
        state, reason = IN_USE, _COPYING
    elif len(known) < len(told):
        state, reason = IN_USE, "whether a replica is on its way to another log directory is not known"
    return ThrottleRow(scope, entity, DIRECTORY_RATE, value, state, reason)


_Replica = tuple[str, int, int]


def _replicas_in(snapshot: ClusterSnapshot, topic: str, value: str) -> set[_Replica]:
    """Replicas that a list names, each of the topic where it is ``*``."""
    found = parse_throttle_list(value)
    if not found.every:
        return {(topic, *one) for one in found.replicas}
    topics, numbers, replicas = snapshot.strings("topic"), snapshot.integers("partition"), snapshot.lists("replicas")
    rows = (row for row in range(len(topics)) if topics[row] == topic)
    return {(topic, int(numbers[row] or 0), broker) for row in rows for broker in replicas[row] or ()}


def _moving(snapshot: ClusterSnapshot) -> set[tuple[str, int]]:
    topics, numbers = snapshot.strings("topic"), snapshot.integers("partition")
    adding, removing = snapshot.lists("adding"), snapshot.lists("removing")
    return {(str(topics[row]), int(numbers[row] or 0)) for row in range(len(topics)) if adding[row] or removing[row]}


def _users(lists: dict[tuple[str, str], set[_Replica]], rate: str) -> Iterator[_Replica]:
    for (_, name), some in lists.items():
        if RATE_OF[name] == rate:
            yield from some


def _list_row(
    key: tuple[str, str], throttles: Throttles, replicas: set[_Replica], moving: set[tuple[str, int]]
) -> ThrottleRow:
    topic, name = key
    state = ORPHANED
    if not any((broker, RATE_OF[name]) in throttles.rates for _, _, broker in replicas):
        state = NO_RATE
    elif any((one, number) in moving for one, number, _ in replicas):
        state = IN_USE
    return ThrottleRow(EntityType.TOPIC, topic, name, throttles.lists[key], state, _REASONS[state])


def _rate_row(
    scope: EntityType, entity: str, name: str, value: str, users: set[_Replica], moving: set[tuple[str, int]]
) -> ThrottleRow:
    state = NO_LIST if not users else ORPHANED
    if any((topic, number) in moving for topic, number, _ in users):
        state = IN_USE
    return ThrottleRow(scope, entity, name, value, state, _REASONS[state])


def _ask_nobody(_label: str, _change: str) -> None:
    """Takes the question where nobody is asked."""


def rebalance_throttles(
    handle: ClusterHandle,
    choice: ThrottleChoice | None = None,
    *,
    execute: bool = False,
    confirm: Callable[[str, str], None] = _ask_nobody,
) -> FoundThrottles:
    """Tells the throttles of a cluster, and clears those that are named and that nothing needs.

    Args:
        handle: A live cluster whose brokers are named.
        choice: Throttles to clear; None for none.
        execute: Whether to change the cluster.
        confirm: Called before the first change with the cluster's id and the change, an imperative; refuses it by a
            ``ChangeRefusedError``.

    Raises:
        UsageError: It is a dump.
        ChangeRefusedError: The cluster may not be changed, or only its ZooKeeper is named.
        UnreachableError: The cluster did not answer.
    """
    if handle.dump is not None:
        raise UsageError(
            "a dump does not tell throttles", "brokers tell where a value comes from", "name a live cluster"
        )
    reading = read_clusters((handle,), Facet.PARTITIONS)
    require_brokers(handle)
    snapshot = reading.snapshots[0]
    brokers = [int(str(broker)) for broker in snapshot.brokers["broker"].to_list()]
    throttles = read_throttles(handle, brokers, set(map(str, snapshot.strings("topic").to_list())))
    limited = {broker for broker, name in throttles.rates if name == DIRECTORY_RATE}
    logs = read_broker_logs(handle, sorted(limited)) if limited else {}
    rows = judge_throttles(snapshot, throttles, logs)
    unread = [f"broker {broker}: {why}" for broker, why in sorted(throttles.unread.items())]
    found = FoundThrottles(reading, rows, unread)
    named = [row for row in rows if choice is not None and choice.names(row)]
    if not execute or not named:
        return found
    require_writable(handle)
    confirm(snapshot.label, f"delete {counted(len(named), 'throttling setting')}")
    return _cleared(handle, found, named)


def _cleared(handle: ClusterHandle, found: FoundThrottles, named: Sequence[ThrottleRow]) -> FoundThrottles:
    free = [row for row in named if row.state != IN_USE]
    results = alter_settings(
        handle, [SettingChange(EntityType(row.scope), row.entity, row.setting, Operation.DELETE) for row in free]
    )
    made = {id(row): result.made for row, result in zip(free, results, strict=True)}
    failed = [f"{_place(row)} is in use: it is left" for row in named if row.state == IN_USE]
    failed += [f"{_place(row)}: {_why(result)}" for row, result in zip(free, results, strict=True) if not result.made]
    rows = [structs.replace(row, cleared=made.get(id(row), False)) if row in named else row for row in found.rows]
    return replace(found, rows=rows, executed=True, failed=failed)


def _why(result: SettingResult) -> str:
    return f"{result.error}: {result.message}" if result.message else result.error


def _place(row: ThrottleRow) -> str:
    of = {EntityType.TOPIC: f" of topic {row.entity}", EntityType.BROKER: f" of broker {row.entity}"}
    return row.setting + of.get(EntityType(row.scope), ", the cluster's default")
