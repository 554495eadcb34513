"""The controller goes, and with it a leader."""

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import controller_epochs, is_kind, last_states, milliseconds_between
from kreplica.scenarios.scenario import Between, Case, Scenario

_CRASHED = is_kind(Kind.CRASHED)
_LED_AGAIN = is_kind(Kind.BECAME_LEADER, "broker-3", 5 * SECOND, partition="orders-0")

SCENARIO = Scenario(
    name="controller-failover",
    title="The controller crashes together with a leader: first a controller, then a leader is elected",
    why="""In ZooKeeper mode the controller is one of the brokers. When it crashes its ephemeral znode stays until its
        session is over; then every other broker tries to create it, one succeeds and raises the controller epoch, the
        others watch on. Only then are leaders elected for the partitions that lost theirs. In KRaft the controller is
        another process: a broker's failure does not touch it.""",
    source="kafka.controller.KafkaController.elect, onControllerFailover",
    setup=cluster(
        4,
        TopicSetup("orders", ((2, 3, 4), (3, 4, 2))),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={"acks": -1, "retries": 1000, "zookeeper.session.timeout.ms": 6_000},
        duration=60 * SECOND,
    ),
    plan=(Step(At(time=5 * SECOND), Crash("active controller")), Step(At(time=5 * SECOND), Crash("broker-2"))),
    probes={
        "controller_epochs": controller_epochs,
        "led_again_ms": milliseconds_between(_CRASHED, _LED_AGAIN),
        "last_states": last_states,
    },
    cases=(
        Case(
            "0.8.1",
            {
                "controller_epochs": (1, 2),
                "led_again_ms": Between(3_900, 6_100),
                "last_states": ("orders-0: 3 of 3,4", "orders-1: 3 of 3,4"),  # 2 left orders-1 by its leader
            },
        ),
        Case(
            "2.1",  # nothing is written to orders-1: its leader keeps a dead follower that has everything
            {
                "controller_epochs": (1, 2),
                "led_again_ms": Between(3_900, 6_100),
                "last_states": ("orders-0: 3 of 3,4",),
            },
        ),
        Case(
            "2.5",
            {
                "controller_epochs": (1, 2),
                "led_again_ms": Between(3_900, 6_100),
                "last_states": ("orders-0: 3 of 3,4", "orders-1: 3 of 3,4"),
            },
        ),
        Case(
            "3.3-kraft",
            {
                "controller_epochs": (1, 2),
                "led_again_ms": Between(9_000, 14_000),
                "last_states": ("orders-0: 3 of 3,4", "orders-1: 3 of 3,4"),
            },
        ),
    ),
)
