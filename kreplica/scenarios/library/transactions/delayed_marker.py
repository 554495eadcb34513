"""A marker that was held up ends the next transaction on one of its partitions."""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup, cluster
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import PROBES, transaction_state, transfers

SCENARIO = Scenario(
    name="delayed-marker",
    title="A late marker commits what the next transaction has written",
    why="""The coordinator's commit marker is held up on its way to one leader; it sends it again after 30 s, and the
        transaction is complete. While the next transaction is open the first marker arrives. Its epoch is that of the
        open transaction: with version 1 both have the same one, with version 2 the end of the first raised it to what
        the second begins with. The leader takes it for the end of what it has, so that one half is read although all of
        it is aborted. Since 4.2 the leader is told the transaction version, and knows that with version 2 a marker that
        ends a transaction has an epoch above it.""",
    source="KIP-1228; ProducerAppendInfo.checkProducerEpoch",
    setup=cluster(
        3,
        TopicSetup("debit", ((2, 3),), {"min.insync.replicas": 2}),
        TopicSetup("credit", ((3, 2),), {"min.insync.replicas": 2}),
        transaction_state(1, 3),
        clients=transfers(debited=38 * SECOND, credited=50 * SECOND),
        settings={"linger.ms": 0},
        duration=60 * SECOND,
    ),
    plan=(Step(At(time=3 * SECOND), Slow("broker-1", "broker-2", 40 * SECOND, 8 * MILLISECOND, one_way=True)),),
    cases=(
        Case("0.11", {"torn": ("transfer 2",), "broken": ("transfer 2",), "committed": ("transfer 1",)}),
        Case("4.1", {"torn": ("transfer 2",), "broken": ("transfer 2",), "committed": ("transfer 1",)}),
        Case("4.2", {"torn": (), "broken": (), "committed": ("transfer 1",)}),
    ),
    probes=PROBES,
    since="0.11",
)
