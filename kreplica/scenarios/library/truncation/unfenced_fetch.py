"""A follower of an old epoch is counted in a new one, where another record is at a committed offset. KIP-320."""

from kreplica.engine.fault_plan import At, Crash, Cut, ElectPreferred, ExpireSession, Slow, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import ControllerKind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_A, _B, _C = "broker-2", "broker-3", "broker-4"

SCENARIO = Scenario(
    name="unfenced-fetch",
    title="A leads, B leads, A leads again, and C has heard of none of it",
    why=(
        "C has x from A's first time as the leader, which B lacks. A's session ends, B leads, A follows it and"
        " cuts x off; then A leads again. C has not heard of either change: what the controller tells it is slow."
        " It goes on asking A from behind x. A takes that for having everything up to there, y included, which"
        " stands at x's offset by now: y is committed and acknowledged although C has x. When A and B die, C leads"
        " with x. Since 2.1 a fetch carries the leader epoch that the follower knows, and A refuses C's as fenced."
    ),
    source="KIP-320; KAFKA-7395; the isolated mutants of the published model: high watermark and fetch unfenced",
    setup=cluster(
        4,
        TopicSetup("t", ((2, 3, 4),)),
        clients=(
            ProducerSetup("all", (Send(1 * SECOND, "r", "t-0"), Send(12_400 * MILLISECOND, "y", "t-0")), {"acks": -1}),
            ProducerSetup("one", (Send(10 * SECOND, "x", "t-0"),), {"acks": 1, "enable.idempotence": False}),
        ),
        settings={
            UNCLEAN: False,
            "replica.lag.time.max.ms": 10_000,
            "linger.ms": 0,
            "retries": 1000,
            "auto.leader.rebalance.enable": False,
        },
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(9 * SECOND), Slow("broker-1", _C, 20 * SECOND, 100 * SECOND, one_way=True)),
        Step(At(9_900 * MILLISECOND), Cut(_A, _B, 300 * MILLISECOND)),
        Step(At(10_050 * MILLISECOND), ExpireSession(_A)),
        Step(At(12_200 * MILLISECOND), ElectPreferred("t-0")),
        Step(When(Kind.ACKNOWLEDGED, fields={"value": "y"}), Crash(_A)),
        Step(When(Kind.ACKNOWLEDGED, fields={"value": "y"}), Crash(_B)),
    ),
    cases=(
        Case("2.0", {"lost": ("y",), "committed_lost": ("t-0",)}),
        Case("2.1", {"lost": (), "committed_lost": ()}),
    ),
    notes=(
        "x was acknowledged by A alone (acks=1): that it is there again is luck. A session of ZooKeeper is needed"
        " to depose a leader that lives on, so the scenario is one of ZooKeeper mode."
    ),
    controllers=(ControllerKind.ZOOKEEPER,),
)
