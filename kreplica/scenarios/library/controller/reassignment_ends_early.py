"""A reassignment that ends on the added replicas alone leaves too few in sync. KAFKA-15665."""

from kreplica.engine.fault_plan import At, Crash, Reassign, Start, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.model.settings import MIN_ISR
from kreplica.scenarios.probes import last_states
from kreplica.scenarios.scenario import Between, Case, Scenario

_WAITS = {"read_only_ms": 0, "acknowledged": 120, "last_states": ("orders-0: 3 of 3,4",)}
_REFUSED = {**_WAITS, "last_states": ("orders-0: 1 of 1,2,3",)}

SCENARIO = Scenario(
    name="reassignment-ends-early",
    title="A move ends while a wanted replica is down: one in sync, and min.insync.replicas is 2",
    why=(
        "The replicas shall be on brokers 3 and 4 instead of 1, 2 and 3. Broker 3, which stays, is down. In KRaft mode"
        " before 3.8 the move ended as soon as the added replica, broker 4, was in sync: brokers 1 and 2 were dropped"
        " although they were in sync, and acks=all was refused until broker 3 came back. Since 3.8 a move ends when"
        " every wanted replica is in sync, as ZooKeeper controllers always had it: brokers 1 and 2 serve on until"
        " then. Before 0.10.1 such a move was refused, because broker 3 is not alive."
    ),
    source="KAFKA-15665, KAFKA-4214; org.apache.kafka.controller.PartitionReassignmentReplicas",
    setup=cluster(
        4,
        TopicSetup("orders", ((1, 2, 3),), {MIN_ISR: 2}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(120)), start=2 * SECOND, every=500 * MILLISECOND),
                {"acks": -1, "linger.ms": 0, "retries": 1000, "delivery.timeout.ms": 300_000},
            ),
        ),
        settings={"auto.leader.rebalance.enable": False, "replica.lag.time.max.ms": 10_000},
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(5 * SECOND), Crash("broker-3")),
        Step(At(30 * SECOND), Reassign("orders-0", (3, 4))),
        Step(At(60 * SECOND), Start("broker-3")),
    ),
    cases=(
        Case("0.8.1", _REFUSED),
        Case("0.10.1", _WAITS),
        Case("3.3-kraft", {**_WAITS, "read_only_ms": Between(20_000), "last_states": ("orders-0: 4 of 3,4",)}),
        Case("3.8-kraft", _WAITS),
    ),
    probes={"last_states": last_states},
)
