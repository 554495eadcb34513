"""Two producers with one transactional id: the second fences the first, which stands still in a transaction."""

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import SECOND, Transaction, TransactionalSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import BILLS, reads_committed, transaction_state

_ID = {"transactional.id": "billing"}

SCENARIO = Scenario(
    name="zombie-producer-fenced",
    title="A second producer with the same transactional id fences the first and aborts its transaction",
    why="""An application stands still for long, with a transaction open. Another instance takes over: its
        initTransactions raises the epoch of the transactional id and aborts what is open. When the first one wakes up
        its requests have an old epoch and are refused: nothing of it is ever read by read_committed consumers, and the
        work is done once.""",
    source="KIP-98, KIP-588",
    setup=cluster(
        3,
        BILLS,
        transaction_state(1, 2, 3),
        clients=(
            TransactionalSetup(
                "zombie",
                (Transaction(sends("bills-0", "z1", "z2", start=2 * SECOND, every=8 * SECOND), end=11 * SECOND),),
                _ID,
            ),
            TransactionalSetup(
                "successor", (Transaction(sends("bills-0", "s1", start=8 * SECOND)),), _ID, start=5 * SECOND
            ),
            reads_committed("auditor", "bills-0"),
        ),
        settings={"linger.ms": 0},
        duration=20 * SECOND,
    ),
    plan=(Step(At(time=3 * SECOND), Pause("zombie", 9 * SECOND)),),
    cases=(Case("0.11", {"aborted_read": (), "lost": (), "count:consumed": 1, "count:producer-fenced": 1}),),
    since="0.11",
)
