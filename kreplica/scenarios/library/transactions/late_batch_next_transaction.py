"""A batch of an aborted transaction arrives before the next one begins, and is committed with that."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, Transaction, TransactionalSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import BILLS, PROBES, reads_committed, transaction_state

SCENARIO = Scenario(
    name="late-batch-next-transaction",
    title="A late batch of an aborted transaction is committed with the next one",
    why="""As in hanging-transaction a produce request comes after its transaction was aborted, and opens a transaction
        that the coordinator does not know of. But this producer goes on: its next transaction writes to the same
        partition and commits. The marker ends everything that is open there, the late record too: consumers read what
        the application was told is aborted. Since 3.6 the leader asks the coordinator first; with transaction version 2
        (4.0) the late batch has an old epoch. In 0.11 it is worse: there the next batch has the sequence of the one
        that was given up, and is taken for it: acknowledged, and not in the log.""",
    source="KIP-890, motivation; KAFKA-5494",
    setup=cluster(
        3,
        BILLS,
        transaction_state(1, 2, 3),
        clients=(
            TransactionalSetup(
                "billing",
                (
                    Transaction(sends("bills-0", "late", start=2 * SECOND)),
                    Transaction(sends("bills-0", "next", start=30 * SECOND)),
                ),
                {"transactional.id": "billing"},
            ),
            reads_committed("auditor", "bills-0"),
        ),
        settings={"linger.ms": 0, "request.timeout.ms": 1000, "delivery.timeout.ms": 10_000, "retries": 2},
        duration=50 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND - MILLISECOND), Slow("billing", "broker-2", 20 * SECOND, 4 * SECOND, one_way=True)),),
    cases=(
        Case(
            "0.11",
            {"broken": ("billing 1", "billing 2"), "committed": ("billing 2",), "count:consumed": 1, "lost": ("next",)},
        ),
        Case("1.0", {"broken": ("billing 1",), "committed": ("billing 2",), "count:consumed": 2, "lost": ()}),
        Case("3.6", {"broken": (), "committed": ("billing 2",), "count:consumed": 1}),
        Case(
            "3.6",
            {"broken": ("billing 1",), "committed": ("billing 2",), "count:consumed": 2},
            {"transaction.partition.verification.enable": False},
        ),
        Case("4.0", {"broken": (), "committed": ("billing 2",), "count:consumed": 1}),
        Case(
            "4.0",
            {"broken": (), "committed": ("billing 2",), "count:consumed": 1},
            {"transaction.partition.verification.enable": False},
        ),
    ),
    probes=PROBES,
    since="0.11",
)
