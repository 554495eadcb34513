"""A broker of 1.0 to 2.7 takes what it has recovered for flushed: flush.ms passes it by, and power takes it."""

from kreplica.engine.fault_plan import At, Crash, PowerLoss, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="recovered-and-not-flushed",
    title="flush.ms passes by the records that a broker of 1.0 to 2.7 has recovered",
    why=(
        "A broker that was killed reads its log again, and flushes nothing of it. From 1.0 to 2.7 it sets its recovery"
        " point to the log end offset all the same: a flush goes from there on, so that the records stay in the page"
        " cache until others come, whatever flush.ms says, and are lost with the power. Up to 0.11, and since 2.8, the"
        " next flush reaches them."
    ),
    source="KAFKA-10101; Log.recoverLog and Log.flush of 1.0 to 2.7",
    setup=cluster(
        1,
        TopicSetup("t", ((1,),)),
        clients=(ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND), {"acks": 1}),),
        settings={"flush.ms": 1000, "log.flush.scheduler.interval.ms": 20_000},
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(3 * SECOND), Crash("broker-1")),
        Step(At(10 * SECOND), Start("broker-1")),
        Step(At(60 * SECOND), PowerLoss(("broker-1",))),
        Step(At(70 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.11", {"acknowledged": 3, "lost": ()}),
        Case("1.0", {"acknowledged": 3, "lost": ("m1", "m2", "m3")}),
        Case("2.7", {"acknowledged": 3, "lost": ("m1", "m2", "m3")}),
        Case("2.8", {"acknowledged": 3, "lost": ()}),
        Case("4.1", {"acknowledged": 3, "lost": ()}),
    ),
)
