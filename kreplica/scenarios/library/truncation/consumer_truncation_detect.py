"""The log below a consumer's position is cut and written anew."""

from kreplica.engine.fault_plan import At, Crash, Cut, Pause, Step, When
from kreplica.engine.setup import SECOND, ConsumerSetup, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import OFFSETS, member

_READER: ConsumerSetup = member("consumer-a")

SCENARIO = Scenario(
    name="consumer-truncation-detect",
    title="Records are lost and their offsets used again: an old client reads past it, a new one goes back",
    why=(
        "The consumer has read m1 to m4. Broker 1, the only one that has m3 and m4, dies; broker 2 leads uncleanly"
        " and writes n3, n4 and n5 at their offsets. The consumer's position, 4, lies in the log again, but n3 and n4"
        " stand below it. Since 2.3 it asks the new leader where the epoch of its last record ends, learns that it"
        " was cut at 2, and goes back there (auto.offset.reset is set; without, LogTruncationException). An older one"
        " reads on at n5."
    ),
    source="KIP-320 and KAFKA-7747",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2),), {UNCLEAN: True}),
        OFFSETS,
        clients=(
            ProducerSetup(
                "writer",
                (
                    *sends("orders-0", "m1", "m2", start=10 * SECOND),
                    *sends("orders-0", "m3", "m4", start=90 * SECOND),
                    *sends("orders-0", "n3", "n4", "n5", start=110 * SECOND),
                ),
                {"acks": -1, "linger.ms": 0, "retries": 1000, "delivery.timeout.ms": 300_000},
            ),
            _READER,
        ),
        # the pause must not cost the consumer its membership
        settings={"session.timeout.ms": 120_000, "max.poll.interval.ms": 300_000},
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(20 * SECOND), Cut("broker-2", "broker-1", 220 * SECOND)),
        Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Pause("consumer-a", 60 * SECOND)),
        Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}, after=SECOND), Crash("broker-1")),
    ),
    cases=(
        Case("0.10", {"lost": ("m3", "m4"), "never_done": ("n3", "n4")}),
        Case("2.3", {"lost": ("m3", "m4"), "never_done": (), "done_twice": ()}),
        # nobody leads: broker 1 has m3 and m4 still, n3 to n5 are never acknowledged
        Case("3.3-kraft", {"lost": (), "acknowledged": 4, "never_done": (), "done_twice": ()}),
        Case("3.9-kraft", {"lost": ("m3", "m4"), "never_done": (), "done_twice": ()}),
    ),
    probes=PROBES,
    notes="KRaft controllers before 3.9 do not look at unclean.leader.election.enable: nobody leads (KAFKA-12670).",
)
