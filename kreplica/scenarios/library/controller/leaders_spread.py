"""Leaders on all brokers share the load; leaders on few do not."""

from kreplica.engine.fault_plan import At, Start, Step, Stop
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.scenarios.probes import written_by_leader
from kreplica.scenarios.scenario import Case, Scenario

_FIRST = tuple(Send(2 * SECOND + 100 * MILLISECOND * n, f"a{n}", f"orders-{n % 3}") for n in range(30))
_SECOND = tuple(Send(60 * SECOND + 100 * MILLISECOND * n, f"b{n}", f"orders-{n % 3}") for n in range(30))
_ONE_AWAY = ("broker-1: 10", "broker-2: 30", "broker-3: 20")

SCENARIO = Scenario(
    name="leaders-spread",
    title="Load follows the leaders: one third each, until a broker was away (figure 8-23)",
    why="""Clients write to leaders and read from them, followers only copy: so partitions whose leaders stand on three
        brokers put a third of the load on each, without followers serving reads. When a broker was away its leaders
        stand on another one, which bears double, until the preferred leaders are elected again.""",
    source="Understanding Kafka, figure 8-23; kafka.apache.org/documentation, Balancing leadership",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3), (2, 3, 1), (3, 1, 2))),
        clients=(ProducerSetup("writer", (*_FIRST, *_SECOND)),),
        settings={
            "acks": -1,
            "retries": 1000,
            "auto.leader.rebalance.enable": False,
            "controlled.shutdown.enable": True,
        },
        duration=90 * SECOND,
    ),
    plan=(Step(At(time=20 * SECOND), Stop("broker-1")), Step(At(time=40 * SECOND), Start("broker-1"))),
    probes={"written_by_leader": written_by_leader},
    cases=(
        Case("0.8.1", {"written_by_leader": _ONE_AWAY, "lost": ()}),
        Case("3.3-kraft", {"written_by_leader": _ONE_AWAY, "lost": ()}),
    ),
)
