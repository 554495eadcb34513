"""The coordinator crashes between its decision and the markers."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, Send, TopicSetup, Transaction, TransactionalSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import PROBES, reads_committed, transaction_state

_DECIDED = When(kind=Kind.TRANSACTION_STATE, fields={"state": "prepare_commit"}, after=2 * MILLISECOND)

SCENARIO = Scenario(
    name="coordinator-failover-prepare",
    title="The coordinator crashes after PrepareCommit: the next one writes the markers that are missing",
    why="""The decision to commit is in the log of __transaction_state before any marker is sent. Here the coordinator
        crashes when one of two partitions has its marker. For a while consumers see one half of the transaction; the
        leader elected next reads the log, finds PrepareCommit, and sends the markers again. The partition that has one
        already takes another: a marker without records means nothing.""",
    source="KIP-98: transaction coordinator failover",
    setup=cluster(
        4,
        TopicSetup("debit", ((2, 3, 1),), {"min.insync.replicas": 2}),
        TopicSetup("credit", ((3, 2, 1),), {"min.insync.replicas": 2}),
        transaction_state(1, 2, 4),
        clients=(
            TransactionalSetup(
                "transfer",
                (Transaction((Send(2 * SECOND, "d1", "debit-0"), Send(2 * SECOND, "c1", "credit-0")), 3 * SECOND),),
                {"transactional.id": "transfer"},
            ),
            reads_committed("auditor", "debit-0", "credit-0"),
        ),
        settings={"linger.ms": 0},
        duration=40 * SECOND,
    ),
    plan=(
        Step(At(time=2900 * MILLISECOND), Cut("broker-1", "broker-3", 200 * MILLISECOND)),
        Step(_DECIDED, Crash("broker-1")),
        Step(At(time=30 * SECOND), Start("broker-1")),
    ),
    cases=(Case("0.11", {"torn": (), "committed": ("transfer 1",), "count:consumed": 2, "lost": (), "diverged": ()}),),
    probes=PROBES,
    since="0.11",
)
