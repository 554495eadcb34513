"""A follower cuts its log at a high watermark that lags behind, and leads before it has fetched the rest again."""

from kreplica.engine.fault_plan import At, Crash, Start, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Case, Scenario

_PARTITION = "orders-0"

SCENARIO = Scenario(
    name="hw-truncation-loss",
    title="Truncation by high watermark loses a committed record (KIP-101, scenario 1)",
    why="""Broker 2 follows broker 3 and has m1 and m2; broker 3 has counted m2 as committed, but a follower learns the
        high watermark one fetch late. If broker 2 restarts just then, it cuts its log at the high watermark it knows,
        which drops m2, and means to fetch it again; if broker 3 is gone before that, broker 2 leads without m2. Since
        0.11 (KIP-101) a follower asks the leader where its latest leader epoch ends, and cuts nothing here.""",
    source="KIP-101, scenario 1; figures 8-9 to 8-11 of Zhu Zhonghua's book on Kafka",
    setup=cluster(
        3,
        TopicSetup("orders", ((3, 2),), {"min.insync.replicas": 1}),
        clients=(ProducerSetup("writer", sends(_PARTITION, "m1", "m2", start=2 * SECOND, every=6 * SECOND)),),
        settings={"acks": -1},
        duration=60 * SECOND,
    ),
    plan=(
        # the leader has just committed m2; the follower would hear of it with the answer to its next fetch
        Step(
            When(kind=Kind.HIGH_WATERMARK, node="broker-3", fields={"high_watermark": 2}, after=MILLISECOND),
            Crash("broker-2"),
        ),
        # the controller dies too: nobody takes broker 2 out of the ISR while it is down
        Step(At(time=9 * SECOND), Crash("broker-1")),
        Step(At(time=14_500 * MILLISECOND), Start("broker-2")),
        # the new controller tells broker 2 whom to follow; the leader dies before broker 2 has fetched
        Step(When(kind=Kind.BECAME_FOLLOWER, node="broker-2", count=2, after=100), Crash("broker-3")),
        Step(At(time=35 * SECOND), Start("broker-3")),
        Step(At(time=40 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.10", {"lost": ("m2",), "committed_lost": 1, "acknowledged": 2}),
        Case("0.8.1", {"lost": ("m2",), "committed_lost": 1, "acknowledged": 2}),
        Case("0.11", {"lost": (), "committed_lost": 0, "acknowledged": 2}),
        Case("2.1", {"lost": (), "committed_lost": 0, "acknowledged": 2}),
        Case("4.1", {"lost": (), "committed_lost": 0, "acknowledged": 2}),
    ),
)
