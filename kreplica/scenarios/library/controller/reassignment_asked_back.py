"""A move is taken back by asking for the replicas of before. KAFKA-19975."""

from kreplica.engine.fault_plan import At, Crash, Reassign, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.probes import last_states
from kreplica.scenarios.scenario import Case, Scenario

_WRITTEN = {"acknowledged": 60, "lost": ()}
_FIXED = {**_WRITTEN, "last_states": ("orders-0: 4 of 4,2,3",)}
_BACK = {**_WRITTEN, "last_states": ("orders-0: 1 of 1,2,3",)}
_NEVER_ENDS = {**_WRITTEN, "last_states": ("orders-0: 1 of 1,2,3,4",)}

SCENARIO = Scenario(
    name="reassignment-asked-back",
    title="A move is asked back while it goes on: in some versions it then never ends",
    why=(
        "The replicas of a partition shall be on brokers 4, 2 and 3 instead of 1, 2 and 3, but broker 4 is down. So the"
        " replicas of before are asked for again. A ZooKeeper controller ends the move at once (since 2.4, KIP-455;"
        " before, nothing could be asked for until the move was over, and it ends as soon as broker 4 is back). A KRaft"
        " controller removes broker 4 and still has it among the replicas that are being added. Up to 3.7 and again"
        " from 4.3 on a move ends when all that is being added is in sync and stays: that never comes about, and the"
        " partition keeps four replicas until somebody cancels. From 3.8 to 4.2 only the target counts, and the move"
        " ends. Cancelling takes a move back everywhere."
    ),
    source=(
        "KIP-455, KAFKA-15665, KAFKA-19975; org.apache.kafka.controller.ReplicationControlManager,"
        " PartitionReassignmentReplicas; kafka.controller.ReplicaAssignment"
    ),
    setup=cluster(
        4,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(60)), start=2 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000},
            ),
        ),
        settings={"zookeeper.session.timeout.ms": 6_000, "auto.leader.rebalance.enable": False},
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(time=19 * SECOND), Crash("broker-4")),  # no controller has noticed when the move begins
        Step(At(time=20 * SECOND), Reassign("orders-0", (4, 2, 3))),
        Step(At(time=40 * SECOND), Reassign("orders-0", (1, 2, 3))),
        Step(At(time=60 * SECOND), Start("broker-4")),
    ),
    probes={"last_states": last_states},
    cases=(
        Case("0.8.1", _FIXED),
        Case("2.4", _BACK),
        Case("3.3-kraft", _NEVER_ENDS),
        Case("3.8-kraft", _BACK),
        Case("4.3", _NEVER_ENDS),
    ),
)
