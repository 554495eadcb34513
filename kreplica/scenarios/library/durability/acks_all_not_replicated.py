"""acks=all: the leader dies before its followers have fetched, and the producer is told that it failed."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="acks-all-not-replicated",
    title="The leader dies before anybody has the records: an error, and a retry",
    why=(
        "The leader has written the records and nobody has fetched them when it dies. They are gone, and the"
        " producer knows: without retries the send fails, with retries the same records go to the next leader."
        " Nothing that was acknowledged is lost."
    ),
    source="figure 8-26",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", "3", "4", start=SECOND, every=0),
                {"acks": -1, "linger.ms": 0, "batch.records": 2},
            ),
        ),
        settings={UNCLEAN: False},
        duration=40 * SECOND,
    ),
    plan=(Step(When(Kind.APPENDED, "broker-1", {"end_offset": 2}), Crash("broker-1")),),
    cases=(
        Case("0.8.2", {"acknowledged": 0, "failed": 2, "lost": ()}, {"retries": 0}),
        Case("0.8.2", {"acknowledged": 2, "failed": 0, "lost": ()}, {"retries": 1000}),
    ),
)
