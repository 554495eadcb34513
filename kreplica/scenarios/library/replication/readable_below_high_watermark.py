"""A log with high watermark 6 and log end offset 9: a consumer reads offsets 0 to 5."""

from kreplica.engine.fault_plan import Cut, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="readable-below-high-watermark",
    title="High watermark 6, log end 9: offsets 0 to 5 can be read",
    why=(
        "The high watermark is the offset of the first record that is not committed: with 6, records 0 to 5 are"
        " committed and can be read, 6 is not. Nine records are in the leader's log, and three of them are"
        " nobody's yet."
    ),
    source="the figure of a log with HW 6 and LEO 9 in the basic concepts",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", *map(str, range(6)), start=SECOND, every=0),
                    *sends("t-0", "6", "7", "8", start=3 * SECOND),
                ),
                {"acks": 1, "linger.ms": 0, "batch.records": 6, "enable.idempotence": False},
            ),
            ReaderSetup("reader", ("t-0",)),
        ),
        duration=8 * SECOND,
    ),
    plan=(Step(When(Kind.FOLLOWER_POSITION, "broker-1", {"end_offset": 6}), Cut("broker-2", "broker-1", 60 * SECOND)),),
    cases=(Case("0.9", {"read_offsets": (0, 1, 2, 3, 4, 5), "unseen": ("6", "7", "8")}),),
    probes={"read_offsets": lambda events: tuple(fields_of(e)["offset"] for e in events if e.kind == Kind.CONSUMED)},
    notes="It is often said that records up to the high watermark are committed: up to and without it.",
)
