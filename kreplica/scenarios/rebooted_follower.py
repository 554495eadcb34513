"""A follower is let into the ISR for what it had before it lost its disk. KIP-903."""

from kreplica.engine.faults import At, Crash, Cut, DiskLoss, Slow, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B = "broker-2", "broker-3"

SCENARIO = Scenario(
    name="rebooted-follower",
    title="AlterPartition arrives after the follower came back empty: in sync without a record",
    why=(
        "Broker 3 catches up, and the leader asks the controller to let it into the ISR. While that request is on"
        " its way broker 3 loses its disk and starts anew. The request names broker 3, and broker 3 is alive: it"
        " is let in, with an empty log, and leads when the leader dies. In KRaft mode since 3.5 the request"
        " carries the broker epoch under which a follower fetched; a broker that has started anew has another one"
        " and is refused as INELIGIBLE_REPLICA."
    ),
    source="KIP-903; KAFKA-14139, KAFKA-15221",
    setup=cluster(
        3,
        TopicSetup("t", ((2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=20 * SECOND)),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={
            UNCLEAN: False,
            "replica.lag.time.max.ms": 10_000,
            "broker.session.timeout.ms": 10_000,
            "zookeeper.session.timeout.ms": 10_000,
        },
        duration=240 * SECOND,
    ),
    plan=(
        # broker 3 leaves the ISR and comes back; what the leader then asks the controller for is long on its way
        Step(At(10 * SECOND), Cut(_B, _A, 40 * SECOND)),
        Step(At(45 * SECOND), Slow(_A, "active controller", 40 * SECOND, 180 * SECOND, one_way=True)),
        Step(When(Kind.ISR_ASKED, _A, count=2, after=SECOND), DiskLoss(_B)),
        Step(When(Kind.DISK_LOST, _B), Cut(_B, _A, 60 * SECOND)),
        Step(When(Kind.DISK_LOST, _B, after=2 * SECOND), Start(_B)),
        Step(When(Kind.ISR_ASKED, _A, count=2, after=45 * SECOND), Crash(_A)),
        Step(When(Kind.CRASHED, _A, after=60 * SECOND), Start(_A)),
    ),
    notes=(
        "In ZooKeeper mode leaders send no broker epochs (Partition.addBrokerEpochToIsr): it stays as it was. In KRaft"
        " mode the slow link costs the leader its session as well: nothing is lost for that reason already."
    ),
    cases=(
        Case("2.7", {"lost": ("m1", "m2"), "committed_lost": ("t-0",)}),
        Case("3.3-kraft", {"lost": (), "committed_lost": ()}),
    ),
)
