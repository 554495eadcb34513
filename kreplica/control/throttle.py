"""Throttles of moves: rates of brokers, lists of topics, set, put back and taken away.

A rate does nothing without a list that names the replica, a list nothing without a rate (``model.throttles``); only a
list's replicas that are out of sync are slowed. A rate is a broker's own here, never the cluster's default, so that
deleting it brings back what held before; where the broker had one of its own already, set that again.

Lists are changed entry by entry, so that what others add meanwhile stays: an operator's ``*`` names every replica
already and is left alone, entries that stood there before are not said to be added, and a list of which nothing is left
is deleted, because Kafka keeps an empty one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kreplica.control.settings import (
    LONGEST_VALUE,
    TOO_LONG,
    EntityType,
    Operation,
    SettingChange,
    SettingResult,
    alter_settings,
)
from kreplica.model.throttles import parse_throttle_list
from kreplica.sources.kafka.throttles import read_throttles
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

SETTLE_SECONDS = 5.0
"""Seconds that brokers may take to show a change of a list."""

PAUSE_SECONDS = 0.1

ListKey: TypeAlias = tuple[str, str]
"""Topic, and LEADER_LIST or FOLLOWER_LIST."""

Entry: TypeAlias = tuple[int, int]
"""Partition and broker."""


@dataclass(frozen=True, slots=True)
class ListResult:
    """The change of one list.

    Args:
        changed: Entries that it added or took away: those added before are what has to be taken away again.
        every: The list is ``*`` and was left alone.
        error, message: As of ``SettingResult``; empty where nothing failed.
    """

    changed: frozenset[Entry] = frozenset()
    every: bool = False
    error: str = ""
    message: str = ""


def set_rates(
    handle: ClusterHandle, rates: Mapping[tuple[int, str], int | None], *, through_controllers: bool = False
) -> dict[tuple[int, str], SettingResult]:
    """Sets rates of brokers, or deletes their own ones.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds the whole call.
        rates: Bytes a second by broker and name of the setting; None deletes the broker's own value.
        through_controllers: As ``alter_settings``: for brokers that are down.

    Raises:
        ChangeRefusedError, UnreachableError, AuthenticationError, ConfigurationError: As ``alter_settings``.
    """
    changes = {key: _rate_change(*key, rate) for key, rate in rates.items()}
    made = alter_settings(handle, changes.values(), through_controllers=through_controllers)
    return dict(zip(changes, made, strict=True))


def extend_lists(handle: ClusterHandle, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
    """Adds replicas to lists of throttled replicas; a list that would get longer than Kafka takes is left as it is.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds each read and each change.
        entries: Partition and broker of each replica, by topic and list.

    Raises:
        ChangeRefusedError, UnreachableError, AuthenticationError, ConfigurationError: As ``alter_settings``.
    """
    before = read_throttles(handle, (), {topic for topic, _ in entries}).lists
    results: dict[ListKey, ListResult] = {}
    wanted: dict[ListKey, frozenset[Entry]] = {}
    for key, some in entries.items():
        found = parse_throttle_list(before.get(key))
        new = frozenset(some) - found.replicas
        if found.every or not new:
            results[key] = ListResult(every=found.every)
        elif len(",".join(filter(None, (before.get(key), list_text(new)))).encode()) > LONGEST_VALUE:
            results[key] = ListResult(error=TOO_LONG, message=f"Kafka takes {LONGEST_VALUE} bytes")
        else:
            wanted[key] = new
    return results | _change(handle, wanted, Operation.APPEND)


def shrink_lists(handle: ClusterHandle, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
    """Takes replicas out of lists of throttled replicas, and deletes lists of which nothing is left.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds each read and each change.
        entries: Partition and broker of each replica, by topic and list; those that are not there any more are no
            error.

    Raises:
        ChangeRefusedError, UnreachableError, AuthenticationError, ConfigurationError: As ``alter_settings``.
    """
    before = read_throttles(handle, (), {topic for topic, _ in entries}).lists
    present = {key: frozenset(some) & parse_throttle_list(before.get(key)).replicas for key, some in entries.items()}
    results = {key: ListResult(every=parse_throttle_list(before.get(key)).every) for key in entries}
    results |= _change(handle, {key: some for key, some in present.items() if some}, Operation.SUBTRACT)
    left = _lists_without(handle, {key: results[key].changed for key in entries if results[key].changed}, entries)
    empty = [key for key in entries if not results[key].error and left.get(key, "*") == ""]
    deleted = alter_settings(handle, [_list_change(key, Operation.DELETE, None) for key in empty])
    for key, one in zip(empty, deleted, strict=True):
        if not one.made:
            results[key] = ListResult(results[key].changed, error=one.error, message=one.message)
    return results


def _lists_without(
    handle: ClusterHandle, gone: Mapping[ListKey, Collection[Entry]], entries: Mapping[ListKey, Collection[Entry]]
) -> Mapping[ListKey, str]:
    """The lists, read until the broker that is asked shows them without what was taken away, or the time is up.

    A broker hears of a change a moment after it is accepted; a list that looks full then would stay, empty, for ever.
    """
    topics, deadline = {topic for topic, _ in entries}, Deadline(SETTLE_SECONDS)
    while True:
        left = read_throttles(handle, (), topics).lists
        late = [key for key, some in gone.items() if parse_throttle_list(left.get(key)).replicas & frozenset(some)]
        if not late or not deadline.remaining():
            return left
        time.sleep(PAUSE_SECONDS)


def list_text(entries: Iterable[Entry]) -> str:
    """A list of throttled replicas as Kafka writes it."""
    return ",".join(f"{partition}:{broker}" for partition, broker in sorted(entries))


def _change(
    handle: ClusterHandle, entries: Mapping[ListKey, frozenset[Entry]], operation: Operation
) -> dict[ListKey, ListResult]:
    made = alter_settings(handle, [_list_change(key, operation, list_text(some)) for key, some in entries.items()])
    return {
        key: ListResult(entries[key] if one.made else frozenset(), error=one.error, message=one.message)
        for key, one in zip(entries, made, strict=True)
    }


def _list_change(key: ListKey, operation: Operation, value: str | None) -> SettingChange:
    topic, name = key
    return SettingChange(EntityType.TOPIC, topic, name, operation, value)


def _rate_change(broker: int, name: str, rate: int | None) -> SettingChange:
    operation = Operation.DELETE if rate is None else Operation.SET
    return SettingChange(EntityType.BROKER, str(broker), name, operation, None if rate is None else str(rate))
