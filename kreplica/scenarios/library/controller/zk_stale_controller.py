"""A request of a former controller."""

from kreplica.engine.fault_plan import At, Crash, Slow, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import controller_epochs, last_states
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

SCENARIO = Scenario(
    name="zk-stale-controller",
    title="ZooKeeper: a late request of a deposed controller is refused by its epoch",
    why="""The first controller elects a leader; its request to broker-4 hangs in the network. The controller crashes,
        another is elected with a higher epoch and tells every broker what holds. When the old request arrives at last,
        broker-4 knows of the higher controller epoch and refuses it: whatever a deposed controller still sends changes
        nothing.""",
    source="kafka.server.ReplicaManager.becomeLeaderOrFollower; STALE_CONTROLLER_EPOCH",
    setup=cluster(
        5,
        TopicSetup("orders", ((2, 3, 4),), {"min.insync.replicas": 1}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(60)), start=2 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000},
            ),
        ),
        settings={"zookeeper.session.timeout.ms": 6_000, "auto.leader.rebalance.enable": False},
        duration=90 * SECOND,
    ),
    plan=(
        Step(At(time=5 * SECOND), Slow("broker-1", "broker-4", 40 * SECOND, 30 * SECOND, one_way=True)),
        Step(At(time=6 * SECOND), Crash("broker-2")),
        Step(At(time=15 * SECOND), Crash("broker-1")),
    ),
    probes={"controller_epochs": controller_epochs, "last_states": last_states},
    cases=(
        Case(
            "0.8.1",
            {
                "controller_epochs": (1, 2),
                f"count:{Kind.CONTROLLER_STALE}": Between(1),
                "last_states": ("orders-0: 3 of 3,4",),
                "lost": (),
            },
            controllers=ZOOKEEPER_MODE,
        ),
        # no broker is the controller: nothing of this happens
        Case("3.3-kraft", {"controller_epochs": (1,), f"count:{Kind.CONTROLLER_STALE}": 0, "lost": ()}),
    ),
)
