"""Two replicas lose power, the one that lost a record leads, and both keep another record at one offset. KIP-101."""

from kreplica.engine.fault_plan import At, PowerLoss, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B = "broker-1", "broker-2"

SCENARIO = Scenario(
    name="hw-truncation-divergence",
    title="Both replicas lose power, the shorter log leads: two records at one offset",
    why=(
        "m2 is on both brokers, flushed on A's disk and not on B's. Both lose power; B comes back first, leads"
        " without m2, and takes m3 at m2's offset. A comes back with a high watermark of 2 and a log that ends at"
        " 2: before 0.11 it has nothing to cut, and keeps m2 where B has m3, for good. Since 0.11 A asks where its"
        " leader epoch ended at B, hears 1, and cuts m2. That m2 was acknowledged and is gone all the same is the"
        " price of not flushing."
    ),
    source="KIP-101, scenario 2; figures 8-12 to 8-14 and 8-20 to 8-22",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (Send(1 * SECOND, "m1", "t-0"), Send(2 * SECOND, "m2", "t-0"), Send(60 * SECOND, "m3", "t-0")),
                {"acks": -1, "linger.ms": 0, "retries": 1000},
            ),
        ),
        settings={UNCLEAN: False},
        duration=120 * SECOND,
    ),
    plan=(
        # after the checkpoint of the high watermark (every 5 s): A's says 2, B's too, but B's log does not reach it
        Step(At(7 * SECOND), PowerLoss((_A,), keep=2)),
        Step(At(7 * SECOND), PowerLoss((_B,), keep=1)),
        Step(At(40 * SECOND), Start(_B)),
        Step(When(Kind.ACKNOWLEDGED, fields={"value": "m3"}, after=SECOND), Start(_A)),
    ),
    cases=(
        Case("0.8.1", {"diverged": ("t-0",), "lost": ("m2",)}),
        Case("0.11", {"diverged": (), "lost": ("m2",)}),
    ),
    notes=(
        "Unclean elections are off: B is in the ISR and may lead. It does not know that it has lost m2; nothing"
        " but a flush, or eligible leader replicas with min.insync.replicas above 1, would have helped."
    ),
)
