"""As many brokers lose data as min.insync.replicas asks for: no election can save that. KIP-966."""

from kreplica.engine.fault_plan import At, DiskLoss, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="elr-overrun",
    title="Every broker that a record had to be on loses its disk",
    why=(
        "Eligible leader replicas keep what is committed as long as fewer brokers lose data than"
        " min.insync.replicas asks for. With min.insync.replicas=1 one is enough: here the record is on broker 1"
        " alone when it is acknowledged, and broker 1 loses its disk. With 2 the record was on another broker too,"
        " and is kept."
    ),
    source="KIP-966; Vanlightly's model with min ISR 1: 5 states",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=60 * SECOND)),
                {"acks": -1, "linger.ms": 0, "retry.backoff.ms": 1000},
            ),
        ),
        settings={UNCLEAN: False, MIN_ISR: 1},
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(30 * SECOND), DiskLoss("broker-2")),
        Step(At(70 * SECOND), DiskLoss("broker-1")),
        Step(At(110 * SECOND), Start("broker-1")),
        Step(At(150 * SECOND), Start("broker-2")),
    ),
    cases=(Case("4.1", {"lost": ("m1", "m2")}),),
    notes="m1 was on both disks, and both are gone: no setting helps against that but another replica.",
)
