"""A setup without the parts that a failure does not need: clients, records, topics, partitions, brokers, settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import msgspec

from kreplica.engine.setup import (
    Client,
    ConsumerSetup,
    ProducerSetup,
    Setup,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    TransformSetup,
    topic_of,
)
from kreplica.errors import UsageError


class LeaveOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parts left out of a setup.

    Args:
        clients: Clients by name.
        topics: Topics by name; no remaining client may name them.
        records: By producer, the range of its records that are sent, as begin and end counted from 0; of one with
            transactions through all of them.
        partitions: Partitions as ``topic-0``; the others keep their numbers. No remaining client may name them.
        brokers: Brokers by id; partitions have fewer replicas without them, but at least one.
        settings: Settings by name, of the cluster, its topics and its clients: they have their defaults.
    """

    clients: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    records: dict[str, tuple[int, int]] = {}
    partitions: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """True if anything is left out."""
        return self != LeaveOut()


def without(setup: Setup, left_out: LeaveOut) -> Setup:
    """Returns the setup without these parts.

    Raises:
        UsageError: It has nothing of that name, a client still names the topic or partition, or nothing would be
            left.
    """
    _check_names(setup, left_out)
    _check_records(setup, left_out)
    brokers = tuple(broker for broker in setup.brokers if broker.id not in left_out.brokers)
    clients = tuple(_client(one, left_out) for one in setup.clients if one.name not in left_out.clients)
    topics = tuple(_topic(topic, left_out) for topic in setup.topics if topic.name not in left_out.topics)
    settings = _other_than(setup.settings, left_out.settings)
    _check_spoken_of(clients, left_out)
    _check_replicas(topics, left_out)
    down = tuple(name for name in setup.down if name not in {f"broker-{broker}" for broker in left_out.brokers})
    return replace(setup, brokers=brokers, clients=clients, topics=topics, settings=settings, down=down)


def producers_of(setup: Setup) -> dict[str, int]:
    """Numbers of records of the producers, by name."""
    return {client.name: len(client.sends) for client in setup.clients if isinstance(client, ProducerSetup)}


def _records_of(setup: Setup) -> dict[str, int]:
    """Numbers of records of everything that sends, by name."""
    transactional = (client for client in setup.clients if isinstance(client, TransactionalSetup))
    counts = {one.name: sum(len(each.sends) for each in one.transactions) for one in transactional}
    return {**producers_of(setup), **counts}


def partitions_of(setup: Setup) -> tuple[str, ...]:
    """Every partition, as ``topic-0``."""
    return tuple(name for topic in setup.topics for name in topic.partitions)


def settings_of(setup: Setup) -> tuple[str, ...]:
    """Settings of the cluster, its topics and its clients, each name once."""
    holders = (setup.settings, *(topic.settings for topic in setup.topics), *(one.settings for one in setup.clients))
    return tuple(dict.fromkeys(name for settings in holders for name in settings))


def topics_of(client: Client) -> set[str]:
    """The topics that a client names; Kafka's internal topics belong to the cluster and always stay."""
    subscribed = client.topics if isinstance(client, ConsumerSetup) else ()
    return {topic_of(partition) for partition in named_by(client)} | set(subscribed)


def speaks_of(client: Client, partition: str) -> bool:
    """True if the client names the partition, or subscribes to its topic."""
    subscribed = client.topics if isinstance(client, ConsumerSetup) else ()
    return partition in named_by(client) or topic_of(partition) in subscribed


def named_by(client: Client) -> set[str]:
    """The partitions that a client names."""
    if isinstance(client, ConsumerSetup):
        told = client.application
        return {told.dead_letters, told.writes_to, *(partition for _, partition, _ in told.seeks)} - {""}
    if isinstance(client, ProducerSetup):
        return {send.partition for send in client.sends}
    if isinstance(client, TransactionalSetup):
        sent = {send.partition for one in client.transactions for send in one.sends}
        return sent | {partition for one in client.transactions for partition, _ in one.offsets}
    if isinstance(client, TransformSetup):
        return {client.source, client.target}
    return set(client.partitions)


def _client(client: Client, left_out: LeaveOut) -> Client:
    settings = _other_than(client.settings, left_out.settings)
    places = left_out.records.get(client.name)
    if places is not None and isinstance(client, ProducerSetup):
        return replace(client, settings=settings, sends=client.sends[slice(*places)])
    if places is not None and isinstance(client, TransactionalSetup):
        return replace(client, settings=settings, transactions=_sending(client.transactions, *places))
    return replace(client, settings=settings)


def _sending(transactions: tuple[Transaction, ...], begin: int, end: int) -> tuple[Transaction, ...]:
    """The transactions with these records, counted through all of them; those without any are left out."""
    found, first = [], 0
    for each in transactions:
        kept = each.sends[max(begin - first, 0) : max(end - first, 0)]
        first += len(each.sends)
        found += [replace(each, sends=kept)] if kept else []
    return tuple(found)


def _topic(topic: TopicSetup, left_out: LeaveOut) -> TopicSetup:
    assignment = tuple(
        ()
        if f"{topic.name}-{number}" in left_out.partitions
        else tuple(broker for broker in replicas if broker not in left_out.brokers)
        for number, replicas in enumerate(topic.assignment)
    )
    starts = {number: start.without(left_out.brokers) for number, start in topic.starts.items()}
    settings = _other_than(topic.settings, left_out.settings)
    return replace(topic, assignment=assignment, settings=settings, starts=starts)


def _other_than(settings: Mapping[str, str | int | bool], names: Collection[str]) -> dict[str, str | int | bool]:
    return {name: value for name, value in settings.items() if name not in names}


def _check_names(setup: Setup, left_out: LeaveOut) -> None:
    named: dict[str, tuple[Iterable[str], Iterable[str]]] = {
        "client": (left_out.clients, (client.name for client in setup.clients)),
        "topic": (left_out.topics, (topic.name for topic in setup.topics)),
        "producer": (left_out.records, _records_of(setup)),
        "partition": (left_out.partitions, partitions_of(setup)),
        "broker": (map(str, left_out.brokers), (str(broker.id) for broker in setup.brokers)),
        "setting": (left_out.settings, settings_of(setup)),
    }
    for what, (names, known) in named.items():
        there = sorted(known)
        unknown = sorted(set(names) - set(there))
        if unknown:
            told = f"the plan leaves out of the {what} {unknown[0]!r}, which is not there"
            raise UsageError(told, "", f"one of {', '.join(there) or 'none'}")


def _check_records(setup: Setup, left_out: LeaveOut) -> None:
    producers = _records_of(setup)
    for name, (begin, end) in left_out.records.items():
        if not 0 <= begin < end <= producers[name]:
            told = f"the plan keeps the records of {name} from place {begin} up to {end}"
            raise UsageError(told, f"{name} sends {producers[name]}", "count from 0, and keep one at least")


def _check_spoken_of(clients: Iterable[Client], left_out: LeaveOut) -> None:
    for client in clients:
        topics = topics_of(client) & set(left_out.topics)
        partitions = {name for name in left_out.partitions if speaks_of(client, name)}
        for what, names in (("topic", topics), ("partition", partitions)):
            if names:
                told = f"the {what} {', '.join(sorted(names))} cannot be left out"
                raise UsageError(told, f"{client.name} speaks of it")


def _check_replicas(topics: Iterable[TopicSetup], left_out: LeaveOut) -> None:
    """Checks that only a partition that is left out has no replicas."""
    for topic in topics:
        for number, replicas in enumerate(topic.assignment):
            name = f"{topic.name}-{number}"
            if not replicas and name not in left_out.partitions:
                raise UsageError(f"the brokers of {name} cannot all be left out", "it would have no replica")
