"""A counterexample of ``kreplica whatif prove``, replayed: its model's steps as faults, KIP-101's by default."""

from kreplica.engine.fault_plan import At, Crash, Cut, ExpireSession, Slow, Start, Step
from kreplica.engine.setup import MILLISECOND, SECOND, BrokerSetup, ProducerSetup, Send, Setup, TopicSetup
from kreplica.engine.versions.supported import ControllerKind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_NEVER = 1_000_000
"""Milliseconds that no run lasts: nobody leaves the ISR by itself, and a fetch waits until there are records."""
_RECORDS = 8

SCENARIO = Scenario(
    name="counterexample",
    title="A counterexample of whatif prove, replayed: broker 3 hears late of a leader epoch",
    why=(
        "whatif prove finds the fewest steps by which a model of the protocol breaks an invariant, and writes them as"
        " a plan for this cluster: three replicas on brokers 1 to 3, and a controller on broker 4, whose requests are"
        " slow where the model lets a broker hear late. Without such a plan it plays the loss of truncate-to-hw:"
        " broker 2 leaves the ISR, and what the controller tells broker 3 of that is slow. Broker 3 meanwhile fetches"
        " m1, which is committed, but does not know so yet; then it hears of the new leader epoch and cuts its log at"
        " its high watermark, before m1. Broker 1 dies, and broker 3 leads without m1. Since 0.8.2 a follower goes on"
        " unchanged while its leader stays the same."
    ),
    source="the models of KIP-101, KIP-279 and KIP-320; KAFKA-1188",
    setup=Setup(
        # the first that starts becomes the controller
        brokers=tuple(map(BrokerSetup, (4, 1, 2, 3))),
        topics=(TopicSetup("p", ((1, 2, 3),)),),
        clients=tuple(
            ProducerSetup(f"writer-{number}", (Send(0, f"m{number}", "p-0"),)) for number in range(1, _RECORDS + 1)
        ),
        settings={
            UNCLEAN: False,
            "acks": -1,
            "linger.ms": 0,
            "retries": 0,
            "enable.idempotence": False,
            "auto.leader.rebalance.enable": False,
            "zookeeper.session.timeout.ms": 6_000,
            "replica.lag.time.max.ms": _NEVER,
            "replica.fetch.wait.max.ms": _NEVER,
            "replica.socket.timeout.ms": 2 * _NEVER,
            "replica.fetch.backoff.ms": 100,
        },
        duration=60 * SECOND,
        down=tuple(f"writer-{number}" for number in range(1, _RECORDS + 1)),
    ),
    plan=(
        # broker 3 hears late of the leader epoch that begins when broker 2 leaves the ISR
        Step(At(9_999 * MILLISECOND), Slow("broker-4", "broker-3", 2 * SECOND, 300 * MILLISECOND, one_way=True)),
        Step(At(10 * SECOND), Crash("broker-2")),
        Step(At(10 * SECOND), ExpireSession("broker-2")),
        Step(At(11 * SECOND), Start("writer-1")),
        # it does not get m1 once more
        Step(At(12_000_700), Cut("broker-1", "broker-3", 300 * MILLISECOND, one_way=True)),
        Step(At(13 * SECOND), Crash("broker-1")),
        Step(At(13 * SECOND), ExpireSession("broker-1")),
    ),
    cases=(
        Case("0.8.1", {"lost": ("m1",), "committed_lost": ("p-0",), "acknowledged": 1}),
        Case("0.8.2", {"lost": (), "committed_lost": ()}),
    ),
    controllers=(ControllerKind.ZOOKEEPER,),
)
