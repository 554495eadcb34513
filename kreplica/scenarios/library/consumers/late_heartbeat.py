"""A heartbeat that was given up arrives all the same: two members of a KIP-848 group read one partition."""

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.fault_plan import At, Slow, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import commit_errors, done_twice, never_done
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

_FIRST, _SECOND, _COORDINATOR = "consumer-a", "consumer-b", "broker-3"
_ORDERS = TopicSetup("orders", ((1, 2, 3), (2, 1, 3)))
_START = 15 * SECOND

_TWICE = {"owned_twice": ("orders-1",), "commit_errors": ("STALE_MEMBER_EPOCH",)}

SCENARIO = Scenario(
    name="late-heartbeat",
    title="A heartbeat that timed out arrives late: two members of a group read one partition",
    why=(
        "The first heartbeat of consumer a, by which it joins, is long on its way. It gives it up after"
        " request.timeout.ms, joins by another one and has both partitions. Consumer b joins, and waits for one of"
        " them. Now the late heartbeat arrives. It says that its sender has no partitions, as was true when it was"
        " sent: the coordinator takes one for given up, and gives it to b. Until a hears the next answer both read it."
        " What a commits of it is refused, for it is not in the epoch of the group; what it does outside is done twice."
    ),
    source=(
        "kreplica whatif prove --model consumer-group-4.3 --time-outs 1: 16 steps to a breach of owned-once;"
        " GroupMetadataManager.consumerGroupHeartbeat of 4.3.1"
    ),
    setup=group_cluster(
        writer(*numbered(70, "p"), start=_START, partition="orders-0"),
        writer(*numbered(70, "q"), start=_START, partition="orders-1"),
        member(_FIRST, start=10 * SECOND),
        member(_SECOND, start=55 * SECOND + SECOND // 2),
        topic=_ORDERS,
        settings={"group.protocol": "consumer"},
        duration=100,
    ),
    plan=(
        # the coordinator is asked for right before the first heartbeat, which arrives 48 s later
        Step(
            When(Kind.MESSAGE, "", {"source": _FIRST, "name": "FindCoordinator"}),
            Slow(_FIRST, _COORDINATOR, 48 * SECOND, 2 * MILLISECOND, one_way=True),
        ),
        # by the next one consumer a would hear that it is to give a partition up
        Step(At(59 * SECOND + SECOND // 2), Slow(_FIRST, _COORDINATOR, 3 * SECOND, 1 * SECOND, one_way=True)),
    ),
    cases=(
        # once fenced, consumer a waits until its session is over (KAFKA-19233): nobody reads orders-0 meanwhile
        Case("4.0", {**_TWICE, "never_done": Between(1)}),
        Case("4.2", {**_TWICE, "never_done": ()}),
        Case("4.0", {"owned_twice": (), "commit_errors": (), "never_done": ()}, {"group.protocol": "classic"}),
    ),
    probes={
        "owned_twice": owned_twice,
        "done_twice": done_twice,
        "commit_errors": commit_errors,
        "never_done": never_done,
    },
    since="4.0",
)
