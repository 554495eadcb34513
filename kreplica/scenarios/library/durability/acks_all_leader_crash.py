"""acks=all: the leader dies after the ISR has fetched and before or after it told the producer."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="acks-all-leader-crash",
    title="The leader dies once everybody has the records: whoever leads next has them",
    why=(
        "With acks=all a producer is told when every replica of the ISR has its records. The leader then dies,"
        " another of the ISR leads, and nothing that was acknowledged is missing, whoever it is."
    ),
    source="figure 8-25",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer", sends("t-0", "3", "4", start=SECOND, every=0), {"acks": -1, "linger.ms": 0, "retries": 0}
            ),
        ),
        settings={UNCLEAN: False},
        duration=40 * SECOND,
    ),
    plan=(Step(When(Kind.ACKNOWLEDGED, fields={"value": "4"}), Crash("broker-1")),),
    cases=(Case("0.8.1", {"acknowledged": 2, "lost": (), "leader_changes": 1}),),
)
