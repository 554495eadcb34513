"""Brokers crash while replicas are moved."""

from kreplica.engine.fault_plan import At, Crash, Reassign, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import is_kind, last_states, milliseconds_between
from kreplica.scenarios.scenario import Between, Case, Scenario

_ASKED = is_kind(Kind.FAULT, what="reassign")
_DONE = is_kind(Kind.PARTITION_CHANGED, isr=(4, 5, 3))

_EXPECTED = {
    "moved_ms": Between(40_000, 60_000),
    "last_states": ("orders-0: 4 of 4,5,3",),
    "lost": (),
    "acknowledged": 90,
}

SCENARIO = Scenario(
    name="reassignment-crash",
    title="A replica that is being added crashes: the move waits, the old replicas serve on",
    why="""While replicas are moved the old ones and the new ones make up the assignment together. The move ends only
        when every wanted replica is in sync; one that crashes meanwhile makes it wait, and the leader and the ISR of
        before go on. The ISR that completes the move also takes the old leader away: it is told so
        (NEW_LEADER_ELECTED in KRaft) and waits for metadata. Nothing is lost.""",
    source="KIP-455; org.apache.kafka.controller.PartitionReassignmentReplicas; KafkaController",
    setup=cluster(
        5,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(90)), start=2 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000},
            ),
        ),
        settings={"zookeeper.session.timeout.ms": 6_000, "auto.leader.rebalance.enable": False},
        duration=150 * SECOND,
    ),
    plan=(
        Step(At(time=19 * SECOND), Crash("broker-5")),  # no controller has noticed when the move begins
        Step(At(time=20 * SECOND), Reassign("orders-0", (4, 5, 3))),
        Step(At(time=40 * SECOND), Crash("broker-2")),
        Step(At(time=60 * SECOND), Start("broker-5")),
    ),
    probes={"moved_ms": milliseconds_between(_ASKED, _DONE), "last_states": last_states},
    cases=(Case("0.8.1", _EXPECTED), Case("3.3-kraft", _EXPECTED)),
)
