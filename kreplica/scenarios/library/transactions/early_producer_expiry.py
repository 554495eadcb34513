"""Brokers forget that a producer was fenced, and its late batch opens a transaction."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, Transaction, TransactionalSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import BILLS, PROBES, reads_committed, transaction_state

_MINUTE = 60 * SECOND

SCENARIO = Scenario(
    name="early-producer-expiry",
    title="A fenced producer is forgotten within ten minutes: its late batch hangs",
    why="""The first batch of a transaction is held up in the network. Another instance with the same transactional id
        takes over: the transaction is aborted by a marker of the next epoch, which fences the first. Before 2.4.1 the
        time of a marker did not count, and a producer of whom only a marker was known had none: the brokers forgot it
        when they next looked, every ten minutes, instead of after a week. Then the late batch comes: nobody knows that
        its epoch is fenced, and a transaction is open that no coordinator will end.""",
    source="KAFKA-9144; ProducerStateEntry.lastTimestamp of 2.4.0 and 2.4.1",
    setup=cluster(
        3,
        BILLS,
        transaction_state(1, 2, 3),
        clients=(
            TransactionalSetup(
                "first", (Transaction(sends("bills-0", "late", start=2 * SECOND)),), {"transactional.id": "billing"}
            ),
            TransactionalSetup("second", (), {"transactional.id": "billing"}, start=10 * SECOND),
            ProducerSetup("other", sends("bills-0", "plain", start=16 * _MINUTE)),
            reads_committed("auditor", "bills-0"),
        ),
        settings={"linger.ms": 0, "replica.fetch.wait.max.ms": 10_000},
        duration=17 * _MINUTE,
    ),
    plan=(
        Step(
            At(time=2 * SECOND - MILLISECOND), Slow("first", "broker-2", 15 * _MINUTE, 20 * MILLISECOND, one_way=True)
        ),
    ),
    cases=(
        Case("2.4", {"hanging": ("bills-0",), "count:consumed": 0}),
        Case("2.4.1", {"hanging": (), "count:consumed": 1}),
        Case("4.1", {"hanging": (), "count:consumed": 1}),
    ),
    probes=PROBES,
    since="0.11",
)
