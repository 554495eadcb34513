"""No replica in the ISR is up: an unclean election makes the partition available and loses records."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Between, Case, Scenario

SCENARIO = Scenario(
    name="unclean-election",
    title="Availability or records: a follower that lagged leads",
    why=(
        "Broker 2 fell behind and left the ISR; broker 1 alone has m2 and m3, acknowledged to their producer with"
        " acks=all. Broker 1 dies. With unclean.leader.election.enable broker 2 leads, m2 and m3 are gone, and"
        " consumers that had read them find their position behind the end of the log. Without, the partition waits"
        " for broker 1."
    ),
    source="KIP-106; the text on unclean.leader.election.enable in chapter 8.3",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", "m3", start=20 * SECOND, every=70 * SECOND)),
                {"acks": -1, "linger.ms": 0, "retries": 1000, "request.timeout.ms": 60_000},
            ),
            ReaderSetup("reader", ("t-0",), settings={"auto.offset.reset": "latest"}),
        ),
        duration=300 * SECOND,
    ),
    plan=(
        Step(At(10 * SECOND), Cut("broker-2", "broker-1", 85 * SECOND)),
        Step(When(Kind.ACKNOWLEDGED, fields={"value": "m3"}, after=SECOND), Crash("broker-1")),
        Step(When(Kind.CRASHED, "broker-1", after=100 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.10", {"lost": ("m2", "m3"), "lost_read": ("m2", "m3")}, {UNCLEAN: True}),
        Case("0.10", {"lost": (), "unavailable_ms": Between(90_000, 120_000)}, {UNCLEAN: False}),
        Case("3.3-kraft", {"lost": (), "unavailable_ms": Between(90_000, 120_000)}, {UNCLEAN: True}),
        Case("3.9-kraft", {"lost": ("m2", "m3"), "lost_read": ("m2", "m3")}, {UNCLEAN: True}),
        Case("0.8.1", {"lost": ("m2", "m3")}),
        Case("0.11", {"lost": (), "unavailable_ms": Between(90_000, 120_000)}),
    ),
    notes=(
        "Older texts say that unclean elections are on by default: that ended with 0.11 (KIP-106). Cases without"
        " settings show each version's default. KRaft controllers before 3.9 do not look at the setting (KAFKA-12670)."
    ),
)
