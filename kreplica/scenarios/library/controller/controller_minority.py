"""Most of the controllers are gone: no controller decides, and work that needs no decision goes on."""

from kreplica.engine.fault_plan import At, Crash, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.versions.supported import ControllerKind
from kreplica.scenarios.probes import acknowledged_between, changed_between
from kreplica.scenarios.scenario import Between, Case, Scenario

SCENARIO = Scenario(
    name="controller-minority",
    title="Two of three KRaft controllers are down: leaders serve on, nobody new is elected",
    why="""Without a majority the quorum elects no controller and commits nothing: no election, no change of an ISR.
        Brokers do not need it for what is settled: leaders take records and followers fetch. A leader that crashes
        now has no successor until a majority is back.""",
    source="KIP-500, KIP-595; org.apache.kafka.raft.LeaderState",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "one", sends("orders-0", *(f"a{n}" for n in range(100)), start=2 * SECOND, every=SECOND), {"acks": -1}
            ),
            ProducerSetup(
                "two", sends("orders-1", *(f"b{n}" for n in range(100)), start=2 * SECOND, every=SECOND), {"acks": -1}
            ),
        ),
        duration=130 * SECOND,
    ),
    plan=(
        Step(At(time=10 * SECOND), Crash("controller-3001")),
        Step(At(time=10 * SECOND), Crash("controller-3002")),
        Step(At(time=40 * SECOND), Crash("broker-1")),
        Step(At(time=80 * SECOND), Start("controller-3001")),
    ),
    probes={
        "decided_without_majority": changed_between(11 * SECOND, 80 * SECOND),
        "decided_with_it": changed_between(80 * SECOND, 130 * SECOND),
        "acknowledged_before_the_crash": acknowledged_between(10 * SECOND, 40 * SECOND),
        "acknowledged_after_it": acknowledged_between(41 * SECOND, 80 * SECOND),
    },
    cases=(
        Case(
            "3.3-kraft",
            {
                "decided_without_majority": (),
                "decided_with_it": ("orders-0", "orders-1"),
                "acknowledged_before_the_crash": 60,
                "acknowledged_after_it": 0,
                "unavailable_ms": Between(40_000, 60_000),
                "lost": (),
            },
        ),
    ),
    controllers=(ControllerKind.KRAFT,),
)
