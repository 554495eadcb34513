"""A leader that the controller has given up and clients still reach: what it acknowledges on its own is lost."""

from kreplica.engine.fault_plan import At, Cut, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.versions.supported import ControllerKind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Between, Case, Scenario

_OTHERS = ("broker-2", "broker-3", "controller-3001", "controller-3002", "controller-3003")

SCENARIO = Scenario(
    name="zombie-leader",
    title="Cut off from everybody but its clients, a leader goes on leading",
    why=(
        "Broker 1 no longer reaches the controller nor the other brokers, its producer still reaches it. The"
        " controller counts it out after its session and has broker 2 lead; broker 1 does not know. With acks=1 it"
        " goes on acknowledging, and cuts all that off when it comes back. With acks=all nothing it takes is"
        " acknowledged: its followers do not fetch from it and it cannot change its ISR, so the requests time out"
        " and the producer sends them to the new leader."
    ),
    source="KIP-320, zombie leaders",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", *(f"m{number}" for number in range(60)), start=SECOND, every=500 * MILLISECOND),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={UNCLEAN: False},
        duration=180 * SECOND,
    ),
    plan=tuple(Step(At(5 * SECOND), Cut("broker-1", name, 60 * SECOND)) for name in _OTHERS),
    cases=(
        Case("3.3-kraft", {"lost": Between(40, 55)}),
        Case("3.3-kraft", {"lost": 0, "acknowledged": 60}, {"acks": -1}),
    ),
    controllers=(ControllerKind.KRAFT,),
)
