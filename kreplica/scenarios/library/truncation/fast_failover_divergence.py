"""Three elections in a row leave two logs with different epochs at one offset. KIP-279, KAFKA-6361."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B = "broker-1", "broker-2"

SCENARIO = Scenario(
    name="fast-failover-divergence",
    title="A, B and A lead in turn: one answer about one epoch is not enough",
    why=(
        "A has m1 and a that B has not fetched (epoch 0). A dies, B leads and takes b at a's offset (epoch 1). B"
        " dies, A leads uncleanly and takes c behind a (epoch 2). When B returns it asks where epoch 1 ends at A."
        " A never had epoch 1 and answers where the next higher one begins: behind a. With KIP-101 that is all B"
        " hears, so it keeps b where A has a. With KIP-279 (2.0) the answer names the epoch it is about, 0, and B"
        " goes down to what both have of epoch 0."
    ),
    source="KIP-279; KAFKA-6361",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    Send(1 * SECOND, "m1", "t-0"),
                    Send(5 * SECOND, "a", "t-0"),
                    Send(60 * SECOND, "b", "t-0"),
                    Send(120 * SECOND, "c", "t-0"),
                ),
                {"acks": 1, "linger.ms": 0, "retries": 1000},
            ),
        ),
        settings={UNCLEAN: True},
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(4 * SECOND), Cut("broker-1", "broker-2", 3 * SECOND)),  # B does not get a
        Step(When(Kind.APPENDED, _A, {"end_offset": 2}), Crash(_A)),
        Step(When(Kind.APPENDED, _B, {"end_offset": 2}, after=SECOND), Crash(_B)),
        Step(At(100 * SECOND), Start(_A)),
        Step(At(160 * SECOND), Start(_B)),
    ),
    cases=(
        Case("0.11", {"diverged": ("t-0",)}),
        Case("2.0", {"diverged": ()}),
    ),
    notes="a or b is lost whatever the version: both were acknowledged by one leader alone (acks=1).",
)
