"""An unclean election of __consumer_offsets takes groups back to where they were."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.model.internal_topics import OFFSETS_TOPIC
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import MANUAL, member, numbered, writer

SCENARIO = Scenario(
    name="offsets-topic-loss",
    title="__consumer_offsets loses commits by an unclean election: groups do their work again",
    why=(
        "Committed offsets are records like others. Broker 3 falls behind and leaves the ISR of __consumer_offsets;"
        " the commits of the next minute stand on broker 2 alone, which dies. Led uncleanly by broker 3 the topic has"
        " the offsets of before, and the group goes back to them. With unclean elections off it waits for broker 2."
    ),
    source="Kafka documentation, broker configs: unclean.leader.election.enable; GroupMetadataManager",
    setup=cluster(
        3,
        TopicSetup("orders", ((1,),)),
        TopicSetup(OFFSETS_TOPIC, ((2, 3),)),
        clients=(writer(*numbered(60), every=2 * SECOND), member("consumer-a")),
        settings={**MANUAL, UNCLEAN: True},
        duration=240 * SECOND,
    ),
    plan=(
        Step(At(20 * SECOND), Cut("broker-3", "broker-2", 220 * SECOND)),
        Step(At(101 * SECOND), Crash("broker-2")),
        # a consumer asks for its committed offsets when it starts
        Step(At(101 * SECOND), Crash("consumer-a")),
        Step(At(115 * SECOND), Start("consumer-a")),
        Step(At(150 * SECOND), Start("broker-2")),
    ),
    cases=(
        Case("0.9", {"done_twice": Between(30, 45), "never_done": ()}),
        Case("0.9", {"done_twice": (), "never_done": ()}, {UNCLEAN: False}),
        Case("3.3-kraft", {"done_twice": (), "never_done": ()}),
        Case("3.9-kraft", {"done_twice": Between(30, 45), "never_done": ()}),
    ),
    probes=PROBES,
    notes="KRaft controllers before 3.9 do not look at unclean.leader.election.enable: off or on is one (KAFKA-12670).",
)
