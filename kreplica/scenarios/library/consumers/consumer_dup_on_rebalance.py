"""A member crashes between processing and committing; its successor processes again."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import MANUAL, batches, group_cluster, member

SCENARIO = Scenario(
    name="consumer-dup-on-rebalance",
    title="A consumer crashes after processing and before committing: its successor processes again",
    why=(
        "Processing and committing are two steps. Whoever commits after processing may crash in between: here"
        " when two of the three records of a poll are done. The partition goes to another member once"
        " session.timeout.ms is over, and that one begins at the committed offset. Nothing is passed over,"
        " something may be done twice: at least once. enable.auto.commit does it again from its last commit on,"
        " which may be auto.commit.interval.ms ago."
    ),
    source="the text on duplicates at the consumer: it is down before the offset is committed",
    setup=group_cluster(
        batches(("m0", "m1", "m2"), ("m3", "m4", "m5"), ("m6", "m7", "m8")),
        member("consumer-a"),
        member("consumer-b"),
        settings=MANUAL,
        duration=100,
    ),
    plan=(Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Crash("consumer-a")),),
    cases=(
        Case("0.9", {"done_twice": ("m3", "m4"), "never_done": ()}),
        Case("0.9", {"done_twice": Between(2, 5), "never_done": ()}, {"enable.auto.commit": True}),
        Case("4.0", {"done_twice": ("m3", "m4"), "never_done": ()}, {"group.protocol": "consumer"}),
    ),
    probes=PROBES,
)
