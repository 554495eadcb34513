"""A long transaction on one of two partitions."""

from kreplica.engine.setup import (
    SECOND,
    ProducerSetup,
    ReaderSetup,
    Send,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    cluster,
)
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import PROBES, longest_wait_seconds, transaction_state

_PLAIN = tuple(
    Send(3 * SECOND + number * SECOND, f"p{number}{name}", f"{name}-0") for number in range(3) for name in "ab"
)

SCENARIO = Scenario(
    name="lso-lag",
    title="One long transaction holds up every read_committed reader of its partition",
    why="""A read_committed consumer reads up to the last stable offset: the first record of the oldest open
        transaction. Records that others write behind it, transactional or not, wait until that transaction ends: the
        latency of the partition is the length of its longest transaction. A partition without an open transaction does
        not wait. A read_uncommitted consumer waits nowhere.""",
    source="KIP-98; UnifiedLog.lastStableOffset",
    setup=cluster(
        3,
        TopicSetup("a", ((1, 2, 3),), {"min.insync.replicas": 2}),
        TopicSetup("b", ((2, 3, 1),), {"min.insync.replicas": 2}),
        transaction_state(3, 1, 2),
        clients=(
            TransactionalSetup(
                "slow", (Transaction((Send(2 * SECOND, "long", "a-0"),), 20 * SECOND),), {"transactional.id": "slow"}
            ),
            ProducerSetup("quick", _PLAIN),
            ReaderSetup("reader", ("a-0", "b-0")),
        ),
        settings={"linger.ms": 0, "isolation.level": "read_committed"},
        duration=30 * SECOND,
    ),
    plan=(),
    cases=(
        Case("0.11", {"wait_a_s": Between(17, 19), "wait_b_s": Between(0, 0.6), "count:consumed": 7}),
        Case(
            "0.11",
            {"wait_a_s": Between(0, 0.6), "wait_b_s": Between(0, 0.6), "count:consumed": 7},
            {"isolation.level": "read_uncommitted"},
        ),
    ),
    probes={**PROBES, "wait_a_s": longest_wait_seconds("a-0"), "wait_b_s": longest_wait_seconds("b-0")},
    notes="""A read_committed consumer does not buffer open transactions: the broker gives it nothing above the last
        stable offset, and names the aborted transactions below it.""",
    since="0.11",
)
