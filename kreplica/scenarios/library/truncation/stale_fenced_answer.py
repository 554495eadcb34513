"""A follower stops fetching because of what its leader refused an epoch ago. KAFKA-7786."""

from kreplica.engine.fault_plan import At, Crash, ExpireSession, Slow, Step
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.probes import last_states
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_LEADER, _FOLLOWER, _FIRST, _SECOND = "broker-2", "broker-3", "broker-4", "broker-5"

_WAITS = {"lost": (), "produce_ms_100": Between(5_000, 15_000)}
"""y is acknowledged once broker 3 is out of the ISR: one to one and a half times the lag after its last fetch."""
_GOES_ON = {
    "lost": (),
    "produce_ms_100": Between(0, 1_000),
    "isr-does-not-settle-after-faults": 0,
    "last_states": ("t-0: 2 of 2,3",),
}

SCENARIO = Scenario(
    name="stale-fenced-answer",
    title="Two brokers die one after the other, and a third one stops fetching from a leader that lives",
    why=(
        "Broker 4 dies: the leader, broker 2, leads in the next leader epoch, and broker 3 asks it where its last"
        " epoch ends. The question is long on its way. Broker 5 dies, too: another epoch of the same leader, which"
        " broker 3 hears of at once. Now the question of the epoch before arrives and is refused as fenced. In"
        " 2.1.0 broker 3 takes that for an answer on the epoch it is in and waits for the next one, which nobody"
        " has a reason to begin: the record y waits until broker 3 is out of the ISR, and broker 2 has the only"
        " copy from then on, though broker 3 is well. Since 2.1.1 an answer is dropped if the leader epoch has"
        " changed since the question. Before 2.1 nothing was fenced, and a follower of the same leader went on."
    ),
    source="KAFKA-7786; kafka.server.AbstractFetcherThread.onPartitionFenced of 2.1.0",
    setup=cluster(
        5,
        # t-1 keeps broker 3's thread
        TopicSetup("t", ((2, 3, 4, 5), (2, 3))),
        clients=(
            ProducerSetup("producer", (Send(1 * SECOND, "r", "t-0"), Send(12 * SECOND, "y", "t-0")), {"acks": -1}),
        ),
        settings={
            UNCLEAN: False,
            "linger.ms": 0,
            "retries": 1000,
            "request.timeout.ms": 60_000,
            "replica.lag.time.max.ms": 10_000,
            "replica.socket.timeout.ms": 20_000,
            "zookeeper.session.timeout.ms": 6_000,
            "auto.leader.rebalance.enable": False,
        },
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(3 * SECOND - 1000), Slow(_FOLLOWER, _LEADER, 4 * SECOND, 1 * SECOND, one_way=True)),
        Step(At(3 * SECOND), Crash(_FIRST)),
        Step(At(3 * SECOND), ExpireSession(_FIRST)),
        Step(At(5 * SECOND), Crash(_SECOND)),
        Step(At(5 * SECOND), ExpireSession(_SECOND)),
    ),
    cases=(
        Case("2.1", {"isr-does-not-settle-after-faults": 1, "last_states": ("t-0: 2 of 2",), **_WAITS}),
        Case("2.0.1", _GOES_ON),
        Case("2.1.1", _GOES_ON),
    ),
    probes={"last_states": last_states},
    controllers=ZOOKEEPER_MODE,
)
