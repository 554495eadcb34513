"""Random clusters with clients, and settings that promise safety: the setups of the safety tests.

Small and quick on purpose: timeouts of seconds instead of half minutes, some dozen records, so that a run of a few
virtual seconds has elections, shrinking ISRs and retries, and a thousand runs take a minute. Some runs last until
everything has settled after the faults: those are judged for liveness, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from kreplica.engine.checkers.liveness import recovery_bound
from kreplica.engine.fault_plan import Plan
from kreplica.engine.fuzzing.plans import DEFAULT_PROFILE, Profile, random_plan
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    Client,
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    Send,
    Setup,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    cluster,
)
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.model.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kreplica.model.settings import MIN_ISR, UNCLEAN

TOPIC = "t"

PROMISES: dict[str, Value] = {"acks": ACKS_ALL, MIN_ISR: 2, UNCLEAN: False}
"""With these, three replicas and disks that keep their contents, nothing acknowledged is lost."""

DURATION = 16 * SECOND
"""Duration of a run; its faults end with the first half."""

SETTLING = 10
"""One run in so many goes on until everything must have settled."""

AFTERWARDS = 4 * SECOND
"""Time that such a run goes on from then, with records that have to be acknowledged."""


def random_setup(chance: Random, version: Version) -> Setup:
    """A cluster of three to five brokers, one or two partitions with three replicas, and clients.

    Besides producers and a reader of the topic there may be a producer with acks=1, one with transactions, a group, and
    racks whose consumers read from followers.
    """
    brokers = chance.choice((3, 3, 4, 5))
    partitions = chance.choice((1, 1, 2))
    settings = {**_timing(chance, version), **PROMISES, "enable.idempotence": chance.random() < 0.5}
    topics = [TopicSetup(TOPIC, tuple(_replicas(chance, brokers) for _ in range(partitions)))]
    clients = list(_clients(chance, partitions))
    if version.transaction_version and chance.random() < 0.25:
        topics.append(TopicSetup(TRANSACTIONS_TOPIC, (_replicas(chance, brokers),)))
        clients.append(_transactional(chance, partitions))
    if chance.random() < 0.25:
        topics.append(TopicSetup(OFFSETS_TOPIC, (_replicas(chance, brokers),)))
        clients.extend(_members(chance))
    racks = ("r1", "r2", "r3") if version.follower_reads and chance.random() < 0.3 else ()
    if racks:
        settings |= {"replica.selector.class": "RackAwareReplicaSelector", "client.rack": chance.choice(racks)}
    return cluster(
        brokers,
        *topics,
        racks=racks,
        clients=tuple(clients),
        settings=settings,
        duration=DURATION,
        controllers=chance.choice((1, 3)),
    )


def _replicas(chance: Random, brokers: int) -> tuple[int, ...]:
    return tuple(chance.sample(range(1, brokers + 1), 3))


def _timing(chance: Random, version: Version) -> dict[str, Value]:
    session = chance.choice((1500, 3000))
    timing: dict[str, Value] = {
        "replica.lag.time.max.ms": chance.choice((400, 1000, 4000)),
        "replica.fetch.wait.max.ms": chance.choice((20, 100, 500)),
        "replica.fetch.backoff.ms": chance.choice((50, 500)),
        "replica.fetch.max.records": chance.choice((1, 3, 1000)),
        "replica.socket.timeout.ms": chance.choice((600, 3000)),
        "replica.high.watermark.checkpoint.interval.ms": chance.choice((200, 1000)),
        "request.timeout.ms": chance.choice((300, 2000)),
        "delivery.timeout.ms": chance.choice((3000, 9000)),
        "retries": chance.choice((1, 3, 1000)),
        "max.in.flight.requests.per.connection": chance.choice((1, 5)) if version.cached_batches > 1 else 1,
        "metadata.max.age.ms": 2000,
        "latency.us": chance.choice((200, 2000)),
        "jitter.us": chance.choice((0, 500, 8000)),
    }
    if version.controller is ControllerKind.KRAFT:
        return timing | {"broker.session.timeout.ms": session, "broker.heartbeat.interval.ms": session // 5}
    return timing | {"zookeeper.session.timeout.ms": session}


def _names(partitions: int) -> tuple[str, ...]:
    return tuple(f"{TOPIC}-{number}" for number in range(partitions))


def _clients(chance: Random, partitions: int) -> tuple[Client, ...]:
    names = _names(partitions)
    producers = [_producer(chance, f"p{number}", names) for number in range(chance.choice((1, 2)))]
    if chance.random() < 0.3:
        quick: dict[str, Value] = {"acks": 1, "enable.idempotence": False}
        producers.append(replace(_producer(chance, "q", names), settings=quick))
    isolation = chance.choice(("read_uncommitted", "read_committed"))
    return (*producers, ReaderSetup("reader", names, settings={"isolation.level": isolation}))


def _producer(chance: Random, name: str, partitions: tuple[str, ...]) -> ProducerSetup:
    every = chance.choice((50, 150)) * MILLISECOND
    records = DURATION * 6 // 10 // every
    sends = (
        Send(SECOND // 2 + place * every, f"{name}r{place}", chance.choice(partitions)) for place in range(records)
    )
    return ProducerSetup(f"producer-{name}", tuple(sends), sync=chance.random() < 0.3)


def _transactional(chance: Random, partitions: int) -> TransactionalSetup:
    """One transaction a second, some of which are aborted."""
    names = _names(partitions)
    transactions = []
    for number in range(8):
        begin = SECOND + number * SECOND
        sends = tuple(
            Send(begin + place * 100 * MILLISECOND, f"x{number}r{place}", chance.choice(names)) for place in range(3)
        )
        transactions.append(Transaction(sends, begin + 500 * MILLISECOND, commit=chance.random() < 0.7))
    own: dict[str, Value] = {
        "transactional.id": "x",
        "enable.idempotence": True,
        "acks": ACKS_ALL,
        "transaction.timeout.ms": chance.choice((1500, 60_000)),
    }
    return TransactionalSetup("producer-x", tuple(transactions), own)


def _members(chance: Random) -> list[ConsumerSetup]:
    """One or two members of a group that starts at the earliest offset."""
    settings: dict[str, Value] = {
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": chance.choice((1500, 6000)),
        "heartbeat.interval.ms": 300,
        "auto.commit.interval.ms": 500,
    }
    application = Application(processing=MILLISECOND)
    numbers = range(chance.choice((1, 2)))
    return [
        ConsumerSetup(f"member-{number}", (TOPIC,), settings=settings, application=application) for number in numbers
    ]


def random_run(seed: int, version: Version, profile: Profile = DEFAULT_PROFILE) -> tuple[Setup, Plan]:
    """Returns the cluster and the plan of a seed."""
    chance = Random(f"setup {seed}")
    setup = random_setup(chance, version)
    if chance.randrange(SETTLING) == 0:
        setup = _until_settled(setup, version)
        profile = replace(profile, quiet=100 - 50 * DURATION // setup.duration, lasting=chance.random() < 0.6)
    return setup, random_plan(setup, version, profile, Random(f"plan {seed}"))


def _until_settled(setup: Setup, version: Version) -> Setup:
    """The same setup, lasting until liveness can be judged, with records sent at that time."""
    lag = int(setup.settings["replica.lag.time.max.ms"])
    # below the lag, as Kafka requires: an idle follower would leave the ISR and rejoin it again and again
    settings: dict[str, Value] = {**setup.settings, "replica.fetch.wait.max.ms": min(500, lag // 2)}
    settled = DURATION + recovery_bound({**version.defaults, **settings}, version)
    names = _names(len(setup.topics[0].assignment))
    late = tuple(
        Send(settled + place * 100 * MILLISECOND, f"late{place}", names[place % len(names)]) for place in range(4)
    )
    client = ProducerSetup("producer-late", late)
    return replace(setup, settings=settings, clients=(*setup.clients, client), duration=settled + AFTERWARDS)


def with_settings(setup: Setup, settings: Mapping[str, Value]) -> Setup:
    """Returns the setup with other settings; transactional producers keep the settings that transactions need."""
    changed = setup.with_settings(settings)
    clients = zip(setup.clients, changed.clients, strict=True)
    kept = (own if isinstance(own, TransactionalSetup) else other for own, other in clients)
    return replace(changed, clients=tuple(kept))
