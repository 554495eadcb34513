"""A process that was thought dead goes on with its transaction: its successor has done the work meanwhile."""

from kreplica.engine.fault_plan import Pause, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, Application, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import consumed_by
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import OFFSETS, ORDERS, PROBES, batches, member, reads_committed, transaction_state

_TRANSFORMING = Application(processing=10 * MILLISECOND, writes_to="results-0", transactional=True)
_RESULTS = tuple(f"m{number}-out" for number in range(9))

SCENARIO = Scenario(
    name="zombie-transaction",
    title="A zombie commits its transaction: the group knows better only since KIP-447",
    why=(
        "The process stands still in the middle of a transaction for longer than its session. Its partition goes to"
        " another process, which begins at the committed offset and does the same records and those behind. Then the"
        " first goes on and commits. Each process has a transactional.id of its own, so the producers do not fence"
        " each other. Up to 2.4 the offsets of a transaction come without the member's generation and the group takes"
        " them: the results of m3 to m5 are there twice, and since the group's offset has gone back to 6, m6 to m8"
        " are done again. Since 2.5 the coordinator refuses, and the zombie has to abort."
    ),
    source="KIP-447",
    setup=cluster(
        3,
        ORDERS,
        TopicSetup("results", ((2, 3, 1),)),
        OFFSETS,
        transaction_state(1, 2, 3),
        clients=(
            batches(("m0", "m1", "m2"), ("m3", "m4", "m5"), ("m6", "m7", "m8")),
            member("consumer-a", _TRANSFORMING),
            member("consumer-b", _TRANSFORMING),
            reads_committed("audit", "results-0"),
        ),
        settings={"isolation.level": "read_committed", "session.timeout.ms": 10_000},
        duration=120 * SECOND,
    ),
    plan=(Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Pause("consumer-a", 30 * SECOND)),),
    cases=(
        Case("0.11", {"duplicated": _RESULTS[3:], "hanging": ()}),
        Case("2.5", {"duplicated": (), "audited": _RESULTS, "hanging": ()}),
    ),
    probes={**PROBES, "audited": consumed_by("audit")},
    notes=(
        "Before 2.5 the way out was one transactional.id for each partition that is read, so that who takes a"
        " partition over fences who had it."
    ),
)
