"""A partition is added; a group that begins at the latest offset passes over what came before it looked."""

from kreplica.engine.setup import SECOND, TopicSetup
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

_TWO = TopicSetup("orders", ((1, 2, 3), (2, 3, 1)))

SCENARIO = Scenario(
    name="reset-latest-new-partition",
    title="auto.offset.reset=latest passes over what a new partition got before the consumer saw it",
    why=(
        "A consumer hears of new partitions when it refreshes its metadata, every metadata.max.age.ms; producers may"
        " write to them earlier. There is no committed offset, so auto.offset.reset decides, and latest, the default,"
        " means behind what was written until then. Here orders-1 is seen 15 seconds after its first record."
        " With by_duration (4.0) a consumer begins with the first record that is not older than that; while there is"
        " none it has no position and asks again after request.timeout.ms, 30 s: with PT1S it never finds one here."
    ),
    source="Kafka documentation, consumer configs: auto.offset.reset; KIP-1106",
    setup=group_cluster(
        writer(*numbered(3), start=12 * SECOND),
        writer(*numbered(4, "early"), start=15 * SECOND, partition="orders-1"),
        member("consumer-a", settings={"auto.offset.reset": "latest"}, sees={"orders-1": 30 * SECOND}),
        topic=_TWO,
        duration=60,
    ),
    plan=(),
    cases=(
        Case("0.9", {"never_done": numbered(4, "early"), "lost": ()}),
        Case("0.9", {"never_done": ()}, {"auto.offset.reset": "earliest"}),
        Case("4.0", {"never_done": ()}, {"auto.offset.reset": "by_duration:PT1H"}),
        Case("4.0", {"never_done": 7}, {"auto.offset.reset": "by_duration:PT1S"}),
    ),
    probes=PROBES,
)
