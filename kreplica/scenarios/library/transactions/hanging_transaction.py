"""A transactional batch arrives after its transaction was aborted."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, Transaction, TransactionalSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import BILLS, PROBES, reads_committed, transaction_state

_VERIFICATION = "transaction.partition.verification.enable"

SCENARIO = Scenario(
    name="hanging-transaction",
    title="A batch that comes after the abort opens a transaction that nobody will end",
    why="""A produce request is held up in the network; the producer gives up and aborts. Then the request arrives. Its
        epoch is the current one and its sequence the next: without KIP-890 the leader appends it, and a transaction is
        open that no coordinator knows of. The last stable offset stands still: read_committed consumers read nothing of
        the partition any more, until an operator ends it by kafka-transactions.sh abort. Since 3.6 the leader asks the
        coordinator first; with transaction version 2 (4.0) the abort has raised the epoch.""",
    source="KIP-890; KIP-664 (kafka-transactions.sh find-hanging)",
    setup=cluster(
        3,
        BILLS,
        transaction_state(1, 2, 3),
        clients=(
            TransactionalSetup(
                "billing", (Transaction(sends("bills-0", "late", start=2 * SECOND)),), {"transactional.id": "billing"}
            ),
            ProducerSetup("other", sends("bills-0", "plain", start=30 * SECOND)),
            reads_committed("auditor", "bills-0"),
        ),
        settings={"linger.ms": 0, "request.timeout.ms": 1000, "delivery.timeout.ms": 3000},
        duration=50 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND - MILLISECOND), Slow("billing", "broker-2", 20 * SECOND, 4 * SECOND, one_way=True)),),
    cases=(
        Case("2.5", {"hanging": ("bills-0",), "count:consumed": 0}),
        Case("3.6", {"hanging": (), "count:consumed": 1}),
        Case("3.6", {"hanging": ("bills-0",), "count:consumed": 0}, {_VERIFICATION: False}),
        Case("4.0", {"hanging": (), "count:consumed": 1}),
        Case("4.0", {"hanging": (), "count:consumed": 1}, {_VERIFICATION: False}),
    ),
    probes=PROBES,
    since="0.11",
)
