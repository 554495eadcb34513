"""A leader that its followers reach but whose messages do not reach the controllers."""

from kreplica.engine.fault_plan import At, Cut, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import ControllerKind
from kreplica.scenarios.probes import is_kind, milliseconds_between
from kreplica.scenarios.scenario import Between, Case, Scenario

_BEGIN = 10 * SECOND
_CUT = is_kind(Kind.FAULT)
_FENCED = is_kind(Kind.BROKER_FENCED, broker=1)

SCENARIO = Scenario(
    name="partition-asymmetric",
    title="A leader cut off from the controllers alone: fenced after 9 s, and its last records go",
    why="""The leader's heartbeats do not arrive, although its followers and clients reach it. The controller fences it
        after broker.session.timeout.ms and elects another; the old leader cannot hear of it. Followers leave it at
        once, so that with acks=all it can commit nothing more: producers time out and go to the new leader. With
        acks=1 it goes on answering, and what it answered is cut off when it is back.""",
    source="KIP-500, KIP-631; kafka.server.BrokerLifecycleManager",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(80)), start=2 * SECOND, every=500 * MILLISECOND),
            ),
        ),
        settings={"acks": -1, "request.timeout.ms": 5_000, "auto.leader.rebalance.enable": False},
        duration=120 * SECOND,
    ),
    plan=tuple(
        Step(At(time=_BEGIN), Cut("broker-1", f"controller-{controller}", 30 * SECOND))
        for controller in (3001, 3002, 3003)
    ),
    probes={"fenced_ms": milliseconds_between(_CUT, _FENCED)},
    cases=(
        Case("3.3-kraft", {"fenced_ms": Between(7_000, 9_100), "lost": (), "acknowledged": 80, "is_safe": True}),
        Case("3.3-kraft", {"fenced_ms": Between(7_000, 9_100), "lost": Between(10)}, {"acks": 1}),
    ),
    controllers=(ControllerKind.KRAFT,),
)
