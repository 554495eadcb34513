"""One slow replica: a majority would not wait for it, the ISR does."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Between, Case, Scenario

_SLOW = 200


_WAITS = {"produce_ms_50": Between(_SLOW), "isr_changes": 0, "acknowledged": 20, "lost": ()}

SCENARIO = Scenario(
    name="quorum-vs-isr",
    title="Quorum 2f+1 against ISR f+1: one slow replica",
    why="""A majority of three commits with the faster of two followers and does not notice that the other is slow.
        The ISR of the same three waits for its slowest member for as long as it is in sync: each acks=all write takes
        as long as the slow replica. In return an ISR bears f failures with f+1 copies, a quorum needs 2f+1. A replica
        that falls behind for replica.lag.time.max.ms leaves the ISR; one that is merely slow stays.""",
    source="Kafka: The Definitive Guide of its design (8.2.1); kafka.apache.org/documentation, Replicated logs",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer", sends("orders-0", *(f"m{n}" for n in range(20)), start=5 * SECOND, every=SECOND), {"acks": -1}
            ),
        ),
        settings={"replication": "isr"},
        duration=40 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND), Slow("broker-1", "broker-3", _SLOW * MILLISECOND, 60 * SECOND)),),
    cases=(
        Case("0.8.1", _WAITS),
        Case("3.3-kraft", _WAITS),
        Case(
            "3.3-kraft",
            {"produce_ms_50": Between(0, 10), "acknowledged": 20, "lost": (), "committed_lost": ()},
            {"replication": "majority"},
        ),
    ),
    notes="""replication=majority is no setting of Kafka, and KRaft mode's alone here: a majority of the replicas
        commits and elects, as its metadata quorum does. Messages of the election are not played.""",
)
