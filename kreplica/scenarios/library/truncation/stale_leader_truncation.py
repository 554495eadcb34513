"""A follower cuts committed records by what its leader answered two leader epochs ago. KIP-320, KAFKA-7786."""

from kreplica.engine.fault_plan import At, Crash, ElectPreferred, Slow, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B, _C = "broker-2", "broker-3", "broker-4"

SCENARIO = Scenario(
    name="stale-leader-truncation",
    title="B leads, A leads, B leads, A leads again: an answer from A's first time cuts C's log",
    why=(
        "B dies and A leads. C asks A where its last epoch ends there; the answer, behind r, is long on its way. B"
        " comes back and leads again as the preferred leader, y is committed on all three. B dies once more, A leads"
        " for the second time, and C fetches from it by the same thread as before, which still waits for that answer."
        " Now it arrives and is taken for one of this epoch: C cuts y off, and leads without it when A dies, too. The"
        " leader epochs of KIP-101 do not help: it is a request and its answer that have to belong to one epoch. Since"
        " 2.1.1 a follower drops an answer if the leader epoch has changed since it asked."
    ),
    source="KAFKA-7786; KIP-320; the published model with KIP-279 and nothing fenced: 11 states",
    setup=cluster(
        4,
        # t-1 stays with A and keeps C's thread
        TopicSetup("t", ((3, 2, 4), (3, 2, 4))),
        clients=(
            ProducerSetup("producer", (Send(1 * SECOND, "r", "t-0"), Send(18 * SECOND, "y", "t-0")), {"acks": -1}),
        ),
        settings={
            UNCLEAN: False,
            "linger.ms": 0,
            "retries": 1000,
            "replica.lag.time.max.ms": 100_000,
            "replica.socket.timeout.ms": 60_000,
            "zookeeper.session.timeout.ms": 6_000,
            "broker.session.timeout.ms": 6_000,
            "auto.leader.rebalance.enable": False,
        },
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(3 * SECOND), Crash(_B)),
        Step(At(3 * SECOND), Slow(_A, _C, 30 * SECOND, 60 * SECOND, one_way=True)),
        Step(At(12 * SECOND), Start(_B)),
        Step(At(16 * SECOND), ElectPreferred("t-0")),
        Step(When(Kind.ACKNOWLEDGED, fields={"value": "y"}), Crash(_B)),
        Step(At(42 * SECOND), Crash(_A)),
        Step(At(70 * SECOND), Start(_A)),
        Step(At(70 * SECOND), Start(_B)),
    ),
    cases=(
        Case("0.11", {"lost": ("y",), "committed_lost": ("t-0",)}),
        Case("2.1.1", {"lost": (), "committed_lost": ()}),
    ),
)
