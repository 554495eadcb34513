"""Seven partitions are shared by one to eight consumers of a group: the eighth has nothing to do."""

from kreplica.engine.setup import SECOND, TopicSetup
from kreplica.scenarios.probes import PROBES, shares
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, writer

_REPLICAS = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
_SEVEN = TopicSetup("orders", tuple(_REPLICAS[number % 3] for number in range(7)))
_SHARES = (
    "7",
    "4+3",
    "3+2+2",
    "2+2+2+1",
    "2+2+1+1+1",
    "2+1+1+1+1+1",
    "1+1+1+1+1+1+1",
    "1+1+1+1+1+1+1+0",
)

SCENARIO = Scenario(
    name="seven-partitions",
    title="Seven partitions, one to eight consumers in a group: the eighth is idle",
    why=(
        "In a group each partition has one reader. More consumers share the work until there is one a partition; the"
        " eighth of seven partitions gets none, and waits to take over when another goes. Every member that comes"
        " makes the whole group agree anew: a generation each."
    ),
    source="The text on groups: a topic with seven partitions, read by one, two and more consumers",
    setup=group_cluster(
        *(writer(f"m{number}", partition=f"orders-{number}", start=5 * SECOND) for number in range(7)),
        *(member(f"consumer-{number}", start=(number - 1) * 10 * SECOND) for number in range(1, 9)),
        topic=_SEVEN,
        settings={"group.consumer.heartbeat.interval.ms": 1_000},  # members agree between two arrivals
        duration=100,
    ),
    plan=(),
    cases=(
        Case("0.9", {"shares": _SHARES, "never_done": (), "done_twice": ()}),
        Case(
            "0.9",
            {"shares": _SHARES, "never_done": (), "done_twice": ()},
            {"partition.assignment.strategy": "roundrobin"},
        ),
        # the eighth is never told of an assignment, because it has none
        Case("4.0", {"shares": _SHARES[:-1], "never_done": (), "done_twice": ()}, {"group.protocol": "consumer"}),
    ),
    probes={**PROBES, "shares": shares},
)
