"""An application stands still in a transaction for longer than the transaction may take."""

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import SECOND, Transaction, TransactionalSetup, cluster, sends
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import BILLS, PROBES, first_abort_seconds, reads_committed, transaction_state

SCENARIO = Scenario(
    name="transaction-timeout",
    title="A transaction that takes too long is aborted, and its producer fenced",
    why="""The coordinator looks every 10 s (up to 2.4 every minute) for transactions that are open for longer than
        transaction.timeout.ms, aborts them and raises the epoch. So an abort comes at the timeout or one look later.
        The producer hears of it with its next request: it is fenced. (Since 4.0.1 with transaction version 2 the epoch
        rises once only: the producer's own abort is taken for the one that was made, and it goes on in the new epoch.)
        Until then nothing behind the first record of the
        transaction is read by read_committed consumers.""",
    source="KIP-98; TransactionCoordinator.abortTimedOutTransactions; KAFKA-6119, KAFKA-19367",
    setup=cluster(
        3,
        BILLS,
        transaction_state(1, 2, 3),
        clients=(
            TransactionalSetup(
                "billing",
                (Transaction(sends("bills-0", "b1", "b2", start=5 * SECOND, every=SECOND), end=7 * SECOND),),
                {"transactional.id": "billing"},
            ),
            reads_committed("auditor", "bills-0"),
        ),
        settings={"linger.ms": 0, "transaction.timeout.ms": 30_000},
        duration=150 * SECOND,
    ),
    plan=(Step(At(time=5 * SECOND + SECOND // 2), Pause("billing", 120 * SECOND)),),
    cases=(
        Case("0.11", {"aborted_after_s": Between(30, 90), "count:consumed": 0, "count:producer-fenced": 1}),
        Case("2.5", {"aborted_after_s": Between(30, 40), "count:consumed": 0, "count:producer-fenced": 1}),
        Case("4.1", {"aborted_after_s": Between(30, 40), "count:consumed": 0, "count:producer-fenced": 0}),
        Case("2.5", {"count:consumed": 2, "count:producer-fenced": 0}, {"transaction.timeout.ms": 900_000}),
    ),
    probes={**PROBES, "aborted_after_s": first_abort_seconds},
    notes="""The timeout is the producer's transaction.timeout.ms; there is no transactional.id.timeout.ms. After
        transactional.id.expiration.ms (a week) a transactional id that nobody uses is forgotten: another matter.""",
    since="0.11",
)
