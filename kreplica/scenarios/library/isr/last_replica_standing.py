"""The last in-sync replica stays in the ISR, loses its disk, and leads with an empty log. KIP-966."""

from kreplica.engine.fault_plan import At, DiskLoss, Start, Step, Stop
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import ELR_FEATURE, MIN_ISR, UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="last-replica-standing",
    title="The ISR shrinks to one broker, and that one loses its data",
    why=(
        "Without eligible leader replicas an ISR never gets empty: the last broker that was in it stays in it,"
        " and is the only one that may lead, even if it comes back with nothing. All records are committed on"
        " three brokers, acks=all with min.insync.replicas=2; two brokers are stopped, the last one loses its disk"
        " and returns first: it leads with an empty log, and the two others cut theirs. With eligible leader"
        " replicas (4.1) those that left below min ISR stay eligible, and one that comes back from an unclean"
        " shutdown is not. But up to 4.2 the broker with a new disk takes their eligibility away as soon as it says"
        " in which directory its replica is: then it is the last known leader, and is elected."
    ),
    source="KIP-966, the last replica standing; Vanlightly's Kafka 3.5 model: 8 states; apache/kafka#20716",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND), {"acks": -1, "linger.ms": 0}),
        ),
        settings={UNCLEAN: False, MIN_ISR: 2},
        duration=180 * SECOND,
    ),
    plan=(
        Step(At(10 * SECOND), Stop("broker-3")),
        Step(At(40 * SECOND), Stop("broker-2")),
        Step(At(70 * SECOND), DiskLoss("broker-1")),
        Step(At(100 * SECOND), Start("broker-1")),
        Step(At(130 * SECOND), Start("broker-2")),
        Step(At(130 * SECOND), Start("broker-3")),
    ),
    cases=(
        Case("3.7", {"lost": ("m1", "m2", "m3"), "committed_lost": ("t-0",)}),
        Case("3.3-kraft", {"lost": ("m1", "m2", "m3"), "committed_lost": ("t-0",)}),
        # ReplicationControlManager.handleAssignReplicasToDirs builds its change as if there were no ELRs
        Case("4.1", {"lost": ("m1", "m2", "m3"), "committed_lost": ("t-0",)}),
        Case("4.3", {"lost": (), "committed_lost": ()}),
        # upgraded, and the feature not: as before
        Case("4.3", {"lost": ("m1", "m2", "m3"), "committed_lost": ("t-0",)}, {ELR_FEATURE: 0}),
    ),
    probes={"leaders": lambda events: tuple(e.node for e in events if e.kind == Kind.BECAME_LEADER)},
    notes=(
        "What counts is how many brokers lose data: fewer than min.insync.replicas, and ELR keeps what is"
        " committed. A broker that was killed counts as one that may have lost data (it has no"
        " .kafka_cleanshutdown), so brokers 2 and 3 are stopped cleanly here; kill them too, and the last known"
        " leader is elected uncleanly."
    ),
)
