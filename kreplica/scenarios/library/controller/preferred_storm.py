"""Leaders come back to a restarted broker all at once."""

from kreplica.engine.fault_plan import At, Start, Step, Stop
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import is_kind, last_states, milliseconds_between
from kreplica.scenarios.scenario import Between, Case, Scenario

_BROUGHT_BACK = is_kind(Kind.BECAME_LEADER, "broker-2", 60 * SECOND)
_PREFERRED = tuple(f"orders-{number}: 2 of 2,3,1" for number in range(10))

SCENARIO = Scenario(
    name="preferred-storm",
    title="A broker restarts, and minutes later all its leaders move back at once",
    why="""Controlled shutdown moves a broker's leaders away; when it is back it only follows. Nothing happens until
        the controller's next look at the imbalance, up to 300 s later: then every preferred leader moves in the same
        moment, and clients ask for metadata all together. With auto.leader.rebalance.enable=false nothing moves by
        itself.""",
    source="kafka.controller.KafkaController.checkAndTriggerAutoLeaderRebalance; ReplicationControlManager",
    setup=cluster(
        3,
        TopicSetup("orders", ((2, 3, 1),) * 10),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={"acks": -1, "auto.leader.rebalance.enable": True, "controlled.shutdown.enable": True},
        duration=330 * SECOND,
    ),
    plan=(Step(At(time=20 * SECOND), Stop("broker-2")), Step(At(time=40 * SECOND), Start("broker-2"))),
    probes={
        "waited_ms": milliseconds_between(is_kind(Kind.STARTED, "broker-2", 30 * SECOND), _BROUGHT_BACK),
        "last_states": last_states,
    },
    cases=(
        Case("0.8.1", {"waited_ms": Between(200_000, 300_000), "last_states": _PREFERRED}),
        Case("3.3-kraft", {"waited_ms": Between(200_000, 300_000), "last_states": _PREFERRED}),
        Case("0.8.1", {"waited_ms": None}, {"auto.leader.rebalance.enable": False}),
        Case("3.3-kraft", {"waited_ms": None}, {"auto.leader.rebalance.enable": False}),
    ),
)
