"""Two followers fetch 3 and 4 records, then once more: whose high watermark is 3 when. Figures 8-4 to 8-7."""

from collections.abc import Sequence

from kreplica.engine.setup import MILLISECOND, SECOND, BrokerSetup, ProducerSetup, Setup, TopicSetup, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

_FETCH = "replica.fetch.max.records"


def _leader(events: Sequence[Event]) -> int:
    """The leader's high watermark once both followers have told where they are."""
    first = next(e for e in events if e.kind == Kind.HIGH_WATERMARK and fields_of(e)["role"] == "leader")
    return int(fields_of(first)["high_watermark"])


def _follower(events: Sequence[Event]) -> int:
    """Broker 3's high watermark right after it has appended for the second time."""
    appended = [place for place, e in enumerate(events) if e.kind == Kind.APPENDED and e.node == "broker-3"]
    moved = [e for e in events[: appended[1] + 2] if e.kind == Kind.HIGH_WATERMARK and e.node == "broker-3"]
    return int(fields_of(moved[-1])["high_watermark"]) if moved else 0


SCENARIO = Scenario(
    name="one-round-of-fetch",
    title="Records in the first round, the high watermark in the second, or in the third",
    why=(
        "Five records are at the leader; the followers fetch three and four of them, with a high watermark of 0."
        " Their next fetch tells the leader where they are: its high watermark is min(15, 3, 4) = 3 then. Up to"
        " 0.8.1 the answer to that very fetch says 3. From 0.8.2 on the leader reads before it takes note, so an"
        " answer that carries records says what was true before, and a follower knows of 3 one fetch later."
    ),
    source="figures 8-4 to 8-7 and 8-8; KafkaApis of 0.8.1 and ReplicaManager.readFromLog of 0.8.2",
    setup=Setup(
        brokers=(BrokerSetup(1), BrokerSetup(2, settings={_FETCH: 3}), BrokerSetup(3, settings={_FETCH: 4})),
        topics=(TopicSetup("t", ((1, 2, 3),)),),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", *(f"a{number}" for number in range(5)), start=SECOND, every=0),
                    *sends("t-0", *(f"b{number}" for number in range(10)), start=SECOND + 1_300, every=0),
                ),
                {"acks": 1, "linger.ms": 1, "batch.records": 10, "enable.idempotence": False},
            ),
        ),
        settings={"latency.us": 2 * MILLISECOND},
        duration=3 * SECOND,
    ),
    plan=(),
    cases=(
        Case("0.8.1", {"leader_high_watermark": 3, "follower_high_watermark": 3}),
        Case("0.8.2", {"leader_high_watermark": 3, "follower_high_watermark": 0}),
    ),
    probes={"leader_high_watermark": _leader, "follower_high_watermark": _follower},
    notes=(
        "The figure draws both followers' fetches at one moment. One of them comes first, and is answered before"
        " the other has told where it is: the one looked at here is the second."
    ),
)
