"""A disk of a broker fails, and the broker lives on, or does not."""

from kreplica.engine.fault_plan import At, DirectoryFailure, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import last_states
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_FAILED = "orders-0: 3 of 3,4"
_STOPPED = {"last_states": (_FAILED, "orders-1: 4 of 4,3"), f"count:{Kind.CRASHED}": 1, "lost": ()}
_KEPT = {"last_states": (_FAILED,), f"count:{Kind.CRASHED}": 0, "lost": (), "unavailable_ms": Between(0, 500)}
_UNTOLD = {
    "last_states": (),
    f"count:{Kind.CRASHED}": 0,
    f"count:{Kind.ACKNOWLEDGED}": Between(8, 9),  # one a second from the second second on, until the tenth
    "lost": (),
}

SCENARIO = Scenario(
    name="log-directory-failure",
    title="One of a broker's log directories fails: its partitions move, or the whole broker stops",
    why="""A broker with several log directories (JBOD) goes on when one of them fails: the partitions there get another
        leader at once, those in its other directories stay. In ZooKeeper mode the broker writes a notification, and
        the controller asks it which replicas are offline; in KRaft the broker names the directory. Before 1.0
        one failed directory stopped the broker, and every partition on it had to move. In KRaft before 3.7 the broker
        lives on and tells nobody: a leader there serves nothing, and is not replaced until the broker ends.""",
    source="KIP-112, KIP-858; handleLogDirFailure of kafka.server.ReplicaManager and kafka.log.LogManager",
    setup=cluster(
        4,
        TopicSetup("orders", ((2, 3, 4), (2, 4, 3))),
        clients=(
            ProducerSetup(
                "writer",
                sends("orders-0", *(f"m{n}" for n in range(20)), start=2 * SECOND, every=SECOND),
                {"acks": -1, "retries": 1000},
            ),
        ),
        settings={"zookeeper.session.timeout.ms": 6_000, "auto.leader.rebalance.enable": False},
        duration=40 * SECOND,
    ),
    plan=(Step(At(time=10 * SECOND), DirectoryFailure("broker-2", ("orders-0",))),),
    probes={"last_states": last_states},
    cases=(
        Case("0.8.1", {**_STOPPED, "unavailable_ms": Between(8_000, 14_000)}, controllers=ZOOKEEPER_MODE),
        Case("1.0", _KEPT, controllers=ZOOKEEPER_MODE),
        Case("3.3-kraft", _UNTOLD),
        Case("3.7-kraft", _KEPT),
    ),
)
