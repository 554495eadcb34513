"""Every replica watches its leader, or one controller watches the brokers."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Crash, Cut, Step
from kreplica.engine.rules.controller.controller_election import watches_by_replicas
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_PARTITIONS = 30
_CRASH = 30 * SECOND


def _watch_events(events: Sequence[Event]) -> int:
    """Number of watches that fired in the second after the leader's session ended."""
    over = next((event.time for event in events if event.kind == Kind.SESSION_EXPIRED), _CRASH)
    after = (event for event in events if event.kind == Kind.MESSAGE and over <= event.time < over + SECOND)
    return sum(fields_of(event)["name"] == "watch event" for event in after)


SCENARIO = Scenario(
    name="election-by-watching",
    title="Leaders elected by every replica watching, or by one controller: the herd, and who wins",
    why="""If every replica watches the znode of its leader, a broker that dies with many partitions fires a watch for
        each follower of each of them, and all of these write at once: the herd. Whoever is first wins, in sync or not,
        because nobody but the dead leader knew the ISR: acknowledged records are lost. With a controller one watch on
        /brokers/ids fires (and those on /controller if it was the controller); it reads the ISR, decides for all
        partitions, and tells the brokers itself.""",
    source="Kafka replication design (0.8), KAFKA-369; texts on why Kafka has a controller",
    setup=cluster(
        4,
        TopicSetup("orders", ((2, 3, 4),) * _PARTITIONS),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(60)), start=2 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000},
            ),
        ),
        settings={
            "zookeeper.session.timeout.ms": 6_000,
            "replica.lag.time.max.ms": 10_000,
            "auto.leader.rebalance.enable": False,
        },
        duration=80 * SECOND,
    ),
    plan=(
        Step(At(time=5 * SECOND), Cut("broker-2", "broker-3", 60 * SECOND)),
        Step(At(time=_CRASH), Crash("broker-2")),
    ),
    cases=(
        Case("0.8.1", {"watch_events": 1, "lost": ()}, controllers=ZOOKEEPER_MODE),
        Case(
            "0.8.1",
            {"watch_events": watches_by_replicas(_PARTITIONS, 3), "lost": Between(1)},
            {"leader.election": "watching"},
            ZOOKEEPER_MODE,
        ),
        Case("3.3-kraft", {"watch_events": 0, "lost": ()}),
    ),
    probes={"watch_events": _watch_events},
    notes="""leader.election=watching is no setting of Kafka, and ZooKeeper mode's alone. ZooKeeper tells each watcher
        in order, but not all at the same moment: for a while replicas see different leaders.""",
)
