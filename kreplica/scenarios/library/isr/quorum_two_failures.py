"""Two of three replicas fail: an ISR bears it, a majority does not."""

from kreplica.engine.fault_plan import At, Crash, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Between, Case, Scenario

_FIRST, _SECOND, _BACK = 20 * SECOND, 50 * SECOND, 100 * SECOND

SCENARIO = Scenario(
    name="quorum-two-failures",
    title="Two of three replicas fail, one after the other: the ISR goes on with the last, a quorum waits",
    why="""An ISR of f+1 replicas bears f failures: each that fails leaves it, and whoever is left has all that is
        committed. Of a quorum f+1 of 2f+1 have to be there, to commit and to elect: with three replicas it bears one
        failure, two need five. What a quorum has committed stays: who is elected has the longest log of a majority.""",
    source="Kafka: The Definitive Guide of its design (8.2.1); kafka.apache.org/documentation, Replicated logs",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 1}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(130)), start=5 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000, "delivery.timeout.ms": 120_000, "linger.ms": 0},
            ),
        ),
        settings={"replication": "isr"},
        duration=150 * SECOND,
    ),
    plan=(
        Step(At(time=_FIRST), Crash("broker-1")),
        Step(At(time=_SECOND), Crash("broker-2")),
        Step(At(time=_BACK), Start("broker-1")),
        Step(At(time=_BACK), Start("broker-2")),
    ),
    cases=(
        Case("0.8.1", {"lost": (), "acknowledged": 130}),
        # each leader is missed for as long as the controller waits for it, or its session lasts
        Case("3.3-kraft", {"unavailable_ms": Between(14_000, 20_000), "lost": (), "acknowledged": 130}),
        Case(
            "3.3-kraft",
            {"unavailable_ms": Between(55_000, 65_000), "lost": (), "acknowledged": 130, "committed_lost": ()},
            {"replication": "majority"},
        ),
    ),
    notes="""replication=majority is no setting of Kafka, and KRaft mode's alone here: a majority of the replicas
        commits and elects, as its metadata quorum does. Messages of the election are not played.""",
)
