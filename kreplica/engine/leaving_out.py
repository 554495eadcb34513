"""A setup without what a failure does not need: clients, records, topics; and the search for what that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec

from kreplica.engine.setup import Client, ConsumerSetup, ProducerSetup, Setup, TransactionalSetup, TransformSetup
from kreplica.errors import UsageError

MOST_RUNS = 60
"""How often a setup is played at most while it is made smaller."""


class LeaveOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is left out of a setup.

    Args:
        clients: By name.
        topics: By name; no client that is left may speak of them.
        records: Of each of these producers only the records from one place up to another are sent, counted from 0.
    """

    clients: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    records: dict[str, tuple[int, int]] = {}

    @property
    def any(self) -> bool:
        """Whether anything is left out."""
        return self != LeaveOut()


Fails = Callable[[LeaveOut], bool]


def without(setup: Setup, left_out: LeaveOut) -> Setup:
    """The setup without that.

    Raises:
        UsageError: It has no such client, producer or topic, or a client still speaks of the topic.
    """
    _check(setup, left_out)
    clients = tuple(_with_records(one, left_out) for one in setup.clients if one.name not in left_out.clients)
    topics = tuple(topic for topic in setup.topics if topic.name not in left_out.topics)
    needed = {name for client in clients for name in _topics_of(client)} & set(left_out.topics)
    if needed:
        raise UsageError(f"the topic {', '.join(sorted(needed))} cannot be left out", "clients speak of it")
    return replace(setup, clients=clients, topics=topics)


def _check(setup: Setup, left_out: LeaveOut) -> None:
    clients, producers = {client.name for client in setup.clients}, set(_producers(setup))
    known = {"client": clients, "topic": {topic.name for topic in setup.topics}, "producer": producers}
    named = {"client": left_out.clients, "topic": left_out.topics, "producer": left_out.records}
    for what, names in named.items():
        unknown = sorted(set(names) - known[what])
        if unknown:
            there = ", ".join(sorted(known[what])) or "none"
            raise UsageError(
                f"the plan leaves out of the {what} {unknown[0]!r}, which is not there", "", f"one of {there}"
            )


def _producers(setup: Setup) -> dict[str, int]:
    """Producers with their numbers of records."""
    return {client.name: len(client.sends) for client in setup.clients if isinstance(client, ProducerSetup)}


def _with_records(client: Client, left_out: LeaveOut) -> Client:
    places = left_out.records.get(client.name)
    if places is None or not isinstance(client, ProducerSetup):
        return client
    return replace(client, sends=client.sends[slice(*places)])


def _topics_of(client: Client) -> set[str]:
    """The topics that a client speaks of; Kafka's own are those of the cluster and stay in any case."""
    partitions: list[str] = []
    if isinstance(client, ConsumerSetup):
        told = client.application
        partitions = [told.dead_letters, told.writes_to, *(partition for _, partition, _ in told.seeks)]
        return {_topic(partition) for partition in partitions} | set(client.topics)
    if isinstance(client, ProducerSetup):
        partitions = [send.partition for send in client.sends]
    elif isinstance(client, TransactionalSetup):
        partitions = [send.partition for one in client.transactions for send in one.sends]
        partitions += [partition for one in client.transactions for partition, _ in one.offsets]
    elif isinstance(client, TransformSetup):
        partitions = [client.source, client.target]
    else:
        partitions = list(client.partitions)
    return {_topic(partition) for partition in partitions}


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]


def leave_out(setup: Setup, fails: Fails, most_runs: int = MOST_RUNS) -> LeaveOut:
    """What a failure does not need: with less it would not be the same.

    Args:
        setup: With which something fails.
        fails: Plays the setup without that: does the same thing go wrong? It may refuse by a UsageError, too.
        most_runs: After so many plays the most that was left out so far is given.
    """
    found, known, more = LeaveOut(), dict[str, bool](), True
    while more:
        more = False
        for one in _more(setup, found):
            if len(known) < most_runs and _fails(one, fails, known):
                found, more = one, True
                break
    return found


def _fails(left_out: LeaveOut, fails: Fails, known: dict[str, bool]) -> bool:
    told = repr(left_out)
    if told not in known:
        try:
            known[told] = fails(left_out)
        except UsageError:
            known[told] = False
    return known[told]


def _more(setup: Setup, found: LeaveOut) -> Iterator[LeaveOut]:
    """Everything that leaves one thing more out, the greatest first."""
    for client in setup.clients:
        if client.name not in found.clients:
            records = {name: places for name, places in found.records.items() if name != client.name}
            yield msgspec.structs.replace(found, clients=(*found.clients, client.name), records=records)
    idle = _unspoken_of(without(setup, found))
    if idle:
        yield msgspec.structs.replace(found, topics=(*found.topics, *idle))
    for name, number in _producers(setup).items():
        if name not in found.clients:
            for places in _fewer(*found.records.get(name, (0, number))):
                yield msgspec.structs.replace(found, records={**found.records, name: places})


def _unspoken_of(setup: Setup) -> tuple[str, ...]:
    spoken = {name for client in setup.clients for name in _topics_of(client)}
    idle = tuple(topic.name for topic in setup.topics if topic.name not in spoken and not topic.name.startswith("__"))
    return idle if len(idle) < len(setup.topics) else idle[1:]


def _fewer(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """One half, the other, one record less at either end."""
    middle = (begin + end) // 2
    if end - begin > 3:
        yield begin, middle
        yield middle, end
    if end - begin > 1:
        yield begin, end - 1
        yield begin + 1, end
