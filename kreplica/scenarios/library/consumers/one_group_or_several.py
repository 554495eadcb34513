"""Within a group each record is processed once; every group gets them all."""

from kreplica.engine.setup import TopicSetup
from kreplica.scenarios.probes import PROBES, done_by_group
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

_TWO = TopicSetup("orders", ((1, 2, 3), (2, 3, 1)))

SCENARIO = Scenario(
    name="one-group-or-several",
    title="One group is a queue, several groups are subscribers: point to point, and publish and subscribe",
    why=(
        "Consumers of one group divide the partitions among themselves: each record goes to one of them, as from a"
        " queue. Groups know nothing of each other: each has offsets of its own and gets every record, as subscribers"
        " do. Here billing has two members and audit one; ten records are processed ten times by each group."
    ),
    source="The text on groups: point-to-point and publish/subscribe",
    setup=group_cluster(
        writer(*numbered(5)),
        writer(*numbered(5, "n"), partition="orders-1"),
        member("consumer-a"),
        member("consumer-b"),
        member("auditor", group="audit"),
        topic=_TWO,
        duration=40,
    ),
    plan=(),
    cases=(Case("0.9", {"done_by_group": ("audit 10", "billing 10"), "done_twice": (), "never_done": ()}),),
    probes={**PROBES, "done_by_group": done_by_group},
)
