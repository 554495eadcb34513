"""A follower is let into the ISR for what it had before it lost its disk. KIP-903."""

from kreplica.engine.fault_plan import At, Crash, Cut, DiskLoss, Slow, Start, Step, Stop, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B = "broker-2", "broker-3"
_ASKED = 2
"""The second ISR that A asks for is the one with B in it again."""

SCENARIO = Scenario(
    name="rebooted-follower",
    title="AlterPartition arrives after the follower came back empty: in sync without a record",
    why=(
        "Broker 3 catches up, and the leader asks the controller to let it into the ISR. While that request is on"
        " its way broker 3 is shut down, its disk is replaced, and it starts anew. The request names broker 3, and"
        " broker 3 is alive: it is let in, with an empty log, and leads when the leader dies. In KRaft mode since 3.5"
        " the request carries the broker epoch under which a follower fetched; a broker that has started anew has"
        " another one and is refused as INELIGIBLE_REPLICA."
    ),
    source="KIP-903; KAFKA-14139, KAFKA-14617, KAFKA-15221",
    setup=cluster(
        3,
        TopicSetup("t", ((2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=12 * SECOND)),
                {"acks": -1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={UNCLEAN: False, "replica.lag.time.max.ms": 10_000, "zookeeper.session.timeout.ms": 9_000},
        duration=200 * SECOND,
    ),
    plan=(
        # broker 3 leaves the ISR; what the leader asks the controller for once it is back takes five seconds
        Step(At(10 * SECOND), Cut(_B, _A, 40 * SECOND)),
        Step(At(45 * SECOND), Slow(_A, "active controller", 5 * SECOND, 60 * SECOND, one_way=True)),
        Step(When(Kind.ISR_ASKED, _A, count=_ASKED, after=500 * MILLISECOND), Stop(_B)),
        Step(When(Kind.ISR_ASKED, _A, count=_ASKED, after=900 * MILLISECOND), DiskLoss(_B)),
        # it is alive again before the request arrives, and has fetched nothing
        Step(When(Kind.ISR_ASKED, _A, count=_ASKED, after=900 * MILLISECOND), Cut(_B, _A, 120 * SECOND)),
        Step(When(Kind.ISR_ASKED, _A, count=_ASKED, after=1000 * MILLISECOND), Start(_B)),
        Step(When(Kind.ISR_ASKED, _A, count=_ASKED, after=8 * SECOND), Crash(_A)),
        Step(When(Kind.CRASHED, _A, after=60 * SECOND), Start(_A)),
    ),
    notes=(
        "In ZooKeeper mode leaders send no broker epochs (Partition.addBrokerEpochToIsr): it stays as it was. Before"
        " 2.7 leaders wrote the ISR into ZooKeeper themselves."
    ),
    cases=(
        Case("2.7", {"lost": ("m1", "m2"), "committed_lost": ("t-0",)}),
        Case("3.3-kraft", {"lost": ("m1", "m2"), "committed_lost": ("t-0",)}),
        Case("3.5-kraft", {"lost": (), "committed_lost": ()}),
    ),
)
