"""The search for the parts of a setup that a failure does not need: more is left out as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from msgspec.structs import replace

from kreplica.engine.fuzzing.shrinking import fewest
from kreplica.engine.plans.omissions import (
    LeaveOut,
    partitions_of,
    producers_of,
    settings_of,
    speaks_of,
    topics_of,
    without,
)
from kreplica.engine.setup import KAFKAS_OWN, Setup
from kreplica.errors import UsageError

MOST_RUNS = 120
"""Largest number of plays of a setup while it is made smaller."""

Fails = Callable[[LeaveOut], bool]
Name = TypeVar("Name", str, int)


def leave_out(setup: Setup, fails: Fails, most_runs: int = MOST_RUNS, stays: Collection[str] = ()) -> LeaveOut:
    """Returns the parts that a failure does not need: with any one thing more left out it would not be the same.

    The partitions that are left keep their replicas: a loss with a single copy proves nothing about three.

    Args:
        setup: A setup with which something fails.
        fails: Plays the setup without those parts and tells whether the same failure occurs. It may raise a UsageError.
        most_runs: Largest number of plays; after them the largest omission so far is returned.
        stays: Settings that are not left out, whatever their values.
    """
    trial = _Trial(setup, fails, most_runs, stays)
    found, before = LeaveOut(), None
    while found != before:
        before = found
        for less in (_fewer_clients, _fewer_topics, _fewer_records, _fewer_partitions, _fewer_brokers, _fewer_settings):
            found = less(found, trial)
    return found


class _Trial:
    """Plays setups, each once; once no plays are left, nothing fails any more."""

    __slots__ = ("_fails", "_known", "_left", "setup", "stays")

    def __init__(self, setup: Setup, fails: Fails, left: int, stays: Collection[str]) -> None:
        self.setup = setup
        self.stays = frozenset(stays)
        self._fails = fails
        self._left = left
        self._known: dict[str, bool] = {}

    def fails(self, left_out: LeaveOut) -> bool:
        told = repr(left_out)
        if told not in self._known:
            if self._left <= 0:
                return False
            self._known[told] = self._play(left_out)
        return self._known[told]

    def _play(self, left_out: LeaveOut) -> bool:
        try:
            without(self.setup, left_out)
            self._left -= 1
            return self._fails(left_out)
        except UsageError:
            return False


def _gone(every: tuple[Name, ...], kept: tuple[Name, ...]) -> tuple[Name, ...]:
    return tuple(name for name in every if name not in kept)


def _fewer(every: tuple[Name, ...], left_out: Callable[[tuple[Name, ...]], LeaveOut], trial: _Trial) -> LeaveOut:
    """Keeps as few of them as the failure needs; ``left_out`` makes the omission of the names given to it."""
    kept = fewest(every, lambda kept: trial.fails(left_out(_gone(every, kept))))
    return left_out(_gone(every, kept))


def _fewer_clients(found: LeaveOut, trial: _Trial) -> LeaveOut:
    there = _gone(tuple(client.name for client in trial.setup.clients), found.clients)

    def left_out(names: tuple[str, ...]) -> LeaveOut:
        records = {name: places for name, places in found.records.items() if name not in names}
        return replace(found, clients=(*found.clients, *names), records=records)

    return _fewer(there, left_out, trial)


def _fewer_topics(found: LeaveOut, trial: _Trial) -> LeaveOut:
    setup = without(trial.setup, found)
    spoken = {name for client in setup.clients for name in topics_of(client)}
    idle = tuple(
        topic.name for topic in setup.topics if topic.name not in spoken and not topic.name.startswith(KAFKAS_OWN)
    )
    idle = idle if len(idle) < len(setup.topics) else idle[1:]
    return _fewer(idle, lambda names: replace(found, topics=(*found.topics, *names)), trial)


def _fewer_partitions(found: LeaveOut, trial: _Trial) -> LeaveOut:
    setup = without(trial.setup, found)
    idle = tuple(
        name
        for name in partitions_of(setup)
        if not name.startswith(KAFKAS_OWN) and not any(speaks_of(client, name) for client in setup.clients)
    )
    idle = idle if len(idle) < len(partitions_of(setup)) else idle[1:]
    return _fewer(idle, lambda names: replace(found, partitions=(*found.partitions, *names)), trial)


def _fewer_brokers(found: LeaveOut, trial: _Trial) -> LeaveOut:
    """Leaves out brokers without a replica: one replica less is another replication factor, and another promise."""
    setup = without(trial.setup, found)
    holders = {broker for topic in setup.topics for replicas in topic.assignment for broker in replicas}
    idle = tuple(broker.id for broker in setup.brokers if broker.id not in holders)
    return _fewer(idle, lambda ids: replace(found, brokers=(*found.brokers, *ids)), trial)


def _fewer_settings(found: LeaveOut, trial: _Trial) -> LeaveOut:
    there = tuple(name for name in settings_of(without(trial.setup, found)) if name not in trial.stays)
    return _fewer(there, lambda names: replace(found, settings=(*found.settings, *names)), trial)


def _fewer_records(found: LeaveOut, trial: _Trial) -> LeaveOut:
    for name, number in producers_of(trial.setup).items():
        if name not in found.clients:
            found = _narrowed(found, name, number, trial)
    return found


def _narrowed(found: LeaveOut, name: str, number: int, trial: _Trial) -> LeaveOut:
    """Keeps as few consecutive records of one producer as the failure needs."""
    smaller: LeaveOut | None = found
    while smaller is not None:
        found = smaller
        places = _shorter(*found.records.get(name, (0, number)))
        candidates = (replace(found, records={**found.records, name: place}) for place in places)
        smaller = next((one for one in candidates if trial.fails(one)), None)
    return found


def _shorter(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """One half, the other half, one record less at either end."""
    middle = (begin + end) // 2
    if end - begin > 3:
        yield begin, middle
        yield middle, end
    if end - begin > 1:
        yield begin, end - 1
        yield begin + 1, end
