"""The controller goes while a leader waits for its answer."""

from kreplica.engine.fault_plan import At, Crash, Cut, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import is_kind, milliseconds_between
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_PARTITION = "orders-0"
_SAFE = {"lost": (), "is_safe": True}
_SHRINKS = is_kind(Kind.ISR_ASKED, isr=(2, 3))

SCENARIO = Scenario(
    name="controller-failover-mid-isr",
    title="The controller crashes while a leader waits for its ISR to be changed",
    why="""A leader that takes a follower out of the ISR has to be sure that the controller has it so before the high
        watermark may pass that follower: until it is answered, the larger ISR counts (maximal ISR). If the controller
        crashes meanwhile, the leader asks the next one; producers with acks=all wait for as long as that takes, and
        nothing is lost. Up to 2.6 the leader writes the ISR into ZooKeeper itself and needs no controller for it.""",
    source="KIP-497; kafka.cluster.Partition.handleAlterPartitionError",
    setup=cluster(
        4,
        TopicSetup("orders", ((2, 3, 4),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer",
                sends(_PARTITION, *(f"m{number}" for number in range(1, 9)), start=2 * SECOND, every=10 * SECOND),
            ),
        ),
        settings={"acks": -1, "replica.lag.time.max.ms": 10_000, "zookeeper.session.timeout.ms": 18_000},
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(time=20 * SECOND), Cut("broker-2", "broker-4", 90 * SECOND)),
        Step(When(kind=Kind.ISR_ASKED, fields={"partition": _PARTITION}), Crash("active controller")),
    ),
    probes={"isr_answered_ms": milliseconds_between(_SHRINKS, is_kind(Kind.ACKNOWLEDGED, after=30 * SECOND))},
    cases=(
        Case("0.8.1", {"isr_answered_ms": Between(0, 10_000), **_SAFE}, controllers=ZOOKEEPER_MODE),
        Case("2.7", {"isr_answered_ms": Between(10_000, 20_000), **_SAFE}, controllers=ZOOKEEPER_MODE),
        Case("3.3-kraft", {"isr_answered_ms": Between(1_000, 5_000), **_SAFE}),
    ),
)
