"""acks=1: the leader answers before anybody else has the record, and is gone."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Case, Scenario

_PARTITION = "payments-0"

SCENARIO = Scenario(
    name="acks1-leader-crash",
    title="acks=1: acknowledged by the leader alone, which then crashes",
    why="""With acks=1 the leader answers as soon as it has the record itself. If it crashes before a follower has
        fetched the record, the next leader never had it; the old leader cuts it off when it comes back. With acks=all
        the producer is not told before every in-sync replica has it, and sends it again to the new leader.""",
    source="Kafka documentation, producer configs: acks",
    setup=cluster(
        3,
        TopicSetup("payments", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends(_PARTITION, "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={"acks": 1, "linger.ms": 0},
        duration=60 * SECOND,
    ),
    plan=(
        # what the leader still sends is lost with it
        Step(At(time=2900 * MILLISECOND), Cut("broker-1", "broker-2", SECOND, one_way=True)),
        Step(At(time=2900 * MILLISECOND), Cut("broker-1", "broker-3", SECOND, one_way=True)),
        Step(When(kind=Kind.APPENDED, node="broker-1", count=2, after=2 * MILLISECOND), Crash("broker-1")),
        Step(At(time=30 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("3.3-kraft", {"lost": ("m2",), "acknowledged": 2}),
        Case("3.3-kraft", {"lost": (), "acknowledged": 2}, {"acks": -1}),
        Case("0.8.1", {"lost": ("m2",), "acknowledged": 2}),
        # before 2.1 retries ends before there is another leader: the producer is told that m2 failed
        Case("0.8.1", {"lost": (), "acknowledged": 1}, {"acks": -1}),
        Case("2.1", {"lost": (), "acknowledged": 2}, {"acks": -1}),
    ),
)
