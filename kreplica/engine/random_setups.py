"""Random clusters with clients, and settings that promise safety: what the safety tests play.

Small and quick on purpose: timeouts of seconds instead of half minutes, some dozen records, so that a run of a few
virtual seconds sees elections, shrinking ISRs and retries, and a thousand runs take a minute.
"""

from __future__ import annotations

from random import Random

from kreplica.engine.faults import Plan
from kreplica.engine.random_plans import DEFAULT_PROFILE, Profile, random_plan
from kreplica.engine.rules.acknowledgement import ACKS_ALL
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Client,
    ProducerSetup,
    ReaderSetup,
    Send,
    Setup,
    TopicSetup,
    cluster,
)
from kreplica.engine.versions import ControllerKind, Version
from kreplica.model.settings import MIN_ISR, UNCLEAN

TOPIC = "t"

PROMISES: dict[str, Value] = {"acks": ACKS_ALL, MIN_ISR: 2, UNCLEAN: False}
"""With these, three replicas and disks that keep what they hold, nothing acknowledged is lost."""


def random_setup(chance: Random, version: Version) -> Setup:
    """A cluster of three to five brokers, one or two partitions with three replicas, producers and a reader."""
    brokers = chance.choice((3, 3, 4, 5))
    partitions = chance.choice((1, 1, 2))
    duration = 16 * SECOND
    assignment = tuple(tuple(chance.sample(range(1, brokers + 1), 3)) for _ in range(partitions))
    return cluster(
        brokers,
        TopicSetup(TOPIC, assignment),
        clients=_clients(chance, partitions, duration),
        settings={**_timing(chance, version), **PROMISES, "enable.idempotence": chance.random() < 0.5},
        duration=duration,
        controllers=chance.choice((1, 3)),
    )


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
        "latency.us": chance.choice((200, 2000)),
        "jitter.us": chance.choice((0, 500, 8000)),
    }
    if version.controller is ControllerKind.KRAFT:
        return timing | {"broker.session.timeout.ms": session, "broker.heartbeat.interval.ms": session // 5}
    return timing | {"zookeeper.session.timeout.ms": session}


def _clients(chance: Random, partitions: int, duration: int) -> tuple[Client, ...]:
    names = tuple(f"{TOPIC}-{number}" for number in range(partitions))
    producers = [_producer(chance, number, names, duration) for number in range(chance.choice((1, 2)))]
    return (*producers, ReaderSetup("reader", names))


def _producer(chance: Random, number: int, partitions: tuple[str, ...], duration: int) -> ProducerSetup:
    every = chance.choice((50, 150)) * MILLISECOND
    records = duration * 6 // 10 // every
    sends = (
        Send(SECOND // 2 + place * every, f"p{number}r{place}", chance.choice(partitions)) for place in range(records)
    )
    return ProducerSetup(f"producer-{number}", tuple(sends), sync=chance.random() < 0.3)


def random_run(seed: int, version: Version, profile: Profile = DEFAULT_PROFILE) -> tuple[Setup, Plan]:
    """The cluster and the plan of a seed."""
    setup = random_setup(Random(f"setup {seed}"), version)
    return setup, random_plan(setup, version, profile, Random(f"plan {seed}"))
