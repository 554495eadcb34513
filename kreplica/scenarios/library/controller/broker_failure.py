"""Failure of a broker, handled by the controller: set_p."""

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.probes import changed_between, last_states
from kreplica.scenarios.scenario import Case, Scenario

_SET_P = ("orders-0", "orders-1", "orders-3", "orders-4")
_AFTER = ("orders-0: 3 of 3,4", "orders-1: 3 of 3", "orders-3: 4 of 4,3", "orders-4: -1 of 2")

SCENARIO = Scenario(
    name="broker-failure",
    title="A broker fails: which partitions the controller looks at (set_p), and what becomes of each",
    why="""A watch (ZooKeeper) or missing heartbeats (KRaft) tell the controller that a broker is gone. It looks at
        every partition with a replica there, and at no other. Where the broker led, the first live in-sync replica of
        the assignment leads; the ISR keeps who is live; a partition whose only in-sync replica is gone has no leader
        unless unclean elections are enabled. Each decision is written with a new leader epoch before brokers hear.""",
    source="kafka.controller.KafkaController.onBrokerFailure; ReplicationControlManager.handleBrokerFenced",
    setup=cluster(
        4,
        TopicSetup("orders", ((2, 3, 4), (3, 2), (3, 4, 1), (4, 2, 3), (2,))),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=20 * SECOND)),),
        settings={"acks": -1, "retries": 1000, "unclean.leader.election.enable": False},
        duration=60 * SECOND,
    ),
    plan=(Step(At(time=5 * SECOND), Crash("broker-2")),),
    probes={"set_p": changed_between(5 * SECOND, 60 * SECOND), "last_states": last_states},
    notes="""Texts say that any surviving replica becomes the leader if no in-sync one survives, and that the leader is
        -1 only if all are gone: that holds with unclean elections, the default before 0.11 alone.""",
    cases=(
        # no setting for unclean elections: the last member leaves the ISR, too (KafkaController.removeReplicaFromIsr)
        Case("0.8.1", {"set_p": _SET_P, "last_states": (*_AFTER[:3], "orders-4: -1 of "), "lost": ()}),
        Case("0.8.2", {"set_p": _SET_P, "last_states": _AFTER, "lost": ()}),
        Case("3.3-kraft", {"set_p": _SET_P, "last_states": _AFTER, "lost": ()}),
        # eligible leader replicas: an ISR may be empty, and the replica that left it last is in the ELR
        Case("4.1", {"set_p": _SET_P, "last_states": (*_AFTER[:3], "orders-4: -1 of "), "lost": ()}),
    ),
)
