"""A commit that was held up ends the next transaction."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup, cluster
from kreplica.model.settings import TRANSACTION_VERSION
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import PROBES, transaction_state, transfers

SCENARIO = Scenario(
    name="delayed-end-transaction",
    title="A late EndTxn commits the first half of the next transaction",
    why="""The commit of the first transaction is held up in the network; the producer sends it again, and the
        transaction is committed. While the second transaction is open the first request arrives. With transaction
        version 1 both transactions have the same epoch: the coordinator commits what is there of the second one. What
        comes after is a transaction of its own, which the application aborts: one half is read, the other is not,
        although the application was told that all of it is aborted. With version 2 every end raises the epoch, and the
        late request is refused.""",
    source="KIP-890 part 2; Jepsen on Bufstream 0.1.0, 2024-11-12: torn transactions by the protocol itself",
    setup=cluster(
        3,
        TopicSetup("debit", ((2, 3, 1),), {"min.insync.replicas": 2}),
        TopicSetup("credit", ((3, 1, 2),), {"min.insync.replicas": 2}),
        transaction_state(1, 2, 3),
        clients=transfers(debited=8 * SECOND, credited=16 * SECOND),
        settings={"linger.ms": 0, "request.timeout.ms": 1000, "delivery.timeout.ms": 5000},
        duration=30 * SECOND,
    ),
    plan=(
        Step(
            At(time=3 * SECOND - MILLISECOND), Slow("transfer", "broker-1", 9 * SECOND, 2 * MILLISECOND, one_way=True)
        ),
    ),
    cases=(
        Case("0.11", {"torn": ("transfer 2",), "broken": ("transfer 2",), "committed": ("transfer 1",)}),
        # brokers upgraded, and the feature not
        *(
            Case(
                version,
                {"torn": ("transfer 2",), "broken": ("transfer 2",), "committed": ("transfer 1",)},
                {TRANSACTION_VERSION: 1},
            )
            for version in ("4.0", "4.2")
        ),
        Case("4.0", {"torn": (), "broken": (), "committed": ("transfer 1",)}),
    ),
    probes=PROBES,
    since="0.11",
)
