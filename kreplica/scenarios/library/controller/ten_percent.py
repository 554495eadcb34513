"""An imbalance of ten percent is none to the ZooKeeper controller."""

from kreplica.engine.fault_plan import At, ElectPreferred, Start, Step, Stop
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import is_kind, milliseconds_between
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_LEFT = is_kind(Kind.STARTED, "broker-2", 30 * SECOND)
_MOVED = is_kind(Kind.BECAME_LEADER, "broker-2", 60 * SECOND, partition="orders-9")

SCENARIO = Scenario(
    name="ten-percent",
    title="One leader of ten away from home: ZooKeeper leaves it there, KRaft brings it back",
    why="""The ZooKeeper controller acts on a broker only when strictly more than
        leader.imbalance.per.broker.percentage of the partitions that prefer it are led by others: one of ten is not.
        The KRaft controller knows no percentage: at its next look it elects every preferred leader that may lead.""",
    source="kafka.controller.KafkaController.checkAndTriggerAutoLeaderRebalance; ReplicationControlManager",
    setup=cluster(
        3,
        TopicSetup("orders", ((2, 3, 1),) * 10),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={"acks": -1, "auto.leader.rebalance.enable": True, "controlled.shutdown.enable": True},
        duration=330 * SECOND,
    ),
    plan=(
        Step(At(time=20 * SECOND), Stop("broker-2")),
        Step(At(time=40 * SECOND), Start("broker-2")),
        *(Step(At(time=55 * SECOND), ElectPreferred(f"orders-{number}")) for number in range(9)),
    ),
    probes={"came_back_ms": milliseconds_between(_LEFT, _MOVED)},
    cases=(
        Case("0.8.1", {"came_back_ms": None}, controllers=ZOOKEEPER_MODE),
        Case("3.3-kraft", {"came_back_ms": Between(200_000, 300_000)}),
        Case("0.8.1", {"came_back_ms": Between(200_000, 300_000)}, {"leader.imbalance.per.broker.percentage": 9}),
    ),
)
