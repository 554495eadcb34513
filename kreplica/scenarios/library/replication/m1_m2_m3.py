"""The fates of m1, m2 and m3, which are on every broker, on two, and on the leader alone when it dies."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import Crash, Cut, Start, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario


def _log_of_b(events: Sequence[Event]) -> tuple[str, ...]:
    """The log of broker B at the end."""
    return tuple(
        record.value for e in events if e.kind == Kind.APPENDED and e.node == "broker-2" for record in e.values[3]
    )


SCENARIO = Scenario(
    name="m1-m2-m3",
    title="The leader dies with m1 committed, m2 half way and m3 its own: m3 comes late, m2 twice",
    why=(
        "m1 is on A, B and C and committed; m2 on A and B; m3 on A alone. A dies, B leads, C fetches m2 from it:"
        " m2 is committed after all. B goes on with m4 and m5. A comes back, cuts m3 off, and is in the ISR again"
        " once it has caught up. m2 and m3 were not acknowledged either; the producer sends both again: m3 comes"
        " behind m5, and m2 is there twice, unless the producer is idempotent."
    ),
    source="the post on Kafka's stability, how a replica is recovered",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (Send(1 * SECOND, "m1", "t-0"), Send(2 * SECOND, "m2", "t-0"), Send(3 * SECOND, "m3", "t-0")),
                {
                    "acks": -1,
                    "linger.ms": 0,
                    "retries": 50,
                    "delivery.timeout.ms": 600_000,
                    "enable.idempotence": False,
                    "retry.backoff.ms": 60_000,
                    "request.timeout.ms": 20_000,
                },
            ),
            ProducerSetup(
                "other", sends("t-0", "m4", "m5", start=45 * SECOND), {"acks": 1, "linger.ms": 0, "retries": 50}
            ),
        ),
        settings={UNCLEAN: False},
        duration=180 * SECOND,
    ),
    plan=(
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 3, "end_offset": 1}),
            Cut("broker-3", "broker-1", 90 * SECOND),
        ),
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 2, "end_offset": 2}),
            Cut("broker-2", "broker-1", 90 * SECOND),
        ),
        Step(When(Kind.APPENDED, "broker-1", {"end_offset": 3}), Crash("broker-1")),
        Step(When(Kind.CRASHED, "broker-1", after=60 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.8.2", {"log_of_b": ("m1", "m2", "m4", "m5", "m2", "m3"), "lost": 0, "duplicated": ("m2",)}),
        # of a connection that is gone the younger request is sent again first: see broken-connection
        Case("2.0", {"log_of_b": ("m1", "m2", "m4", "m5", "m3", "m2"), "lost": 0, "duplicated": ("m2",)}),
    ),
    probes={"log_of_b": _log_of_b},
    notes="A producer that does not retry has been told that m2 and m3 failed; m2 is in the log all the same.",
)
