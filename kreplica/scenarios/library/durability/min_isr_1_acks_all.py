"""acks=all with min.insync.replicas=1 and an ISR of the leader alone is acks=1."""

from kreplica.engine.fault_plan import At, Crash, DiskLoss, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="min-isr-1-acks-all",
    title="acks=all of one: the ISR is the leader alone, and its disk dies",
    why=(
        "acks=all waits for the ISR, however small that is. With min.insync.replicas=1 a leader whose followers"
        " are gone acknowledges on its own, and its disk is the only place where those records are. With 2 it"
        " refuses them: the producer knows, and sends them again when a follower is back."
    ),
    source="figure 8-25 and the text on min.insync.replicas behind it",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=60 * SECOND)),
                {"acks": -1, "linger.ms": 0, "retries": 1000, "retry.backoff.ms": 1000},
            ),
        ),
        settings={UNCLEAN: True},
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(10 * SECOND), Crash("broker-2")),
        Step(At(10 * SECOND), Crash("broker-3")),
        Step(At(70 * SECOND), DiskLoss("broker-1")),
        Step(At(100 * SECOND), Start("broker-2")),
        Step(At(100 * SECOND), Start("broker-3")),
        Step(At(140 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.10", {"lost": ("m2",)}),
        Case("0.10", {"lost": (), "acknowledged": 2}, {MIN_ISR: 2}),
        Case("3.3-kraft", {"lost": ("m1", "m2")}),
        Case("3.3-kraft", {"lost": ("m1",), "acknowledged": 2}, {MIN_ISR: 2}),
        Case("3.9-kraft", {"lost": ("m2",)}),
        Case("3.9-kraft", {"lost": (), "acknowledged": 2}, {MIN_ISR: 2}),
    ),
    notes=(
        "Unclean elections are on, so that the cluster works on; without, it waits for broker 1, whose disk is empty:"
        " as it does in KRaft mode before 3.9, where the controller does not look at the setting (KAFKA-12670)."
    ),
)
