"""Read, process, write: results and offsets in one transaction."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, Application, ReaderSetup, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import consumed_by, done_twice
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import OFFSETS, ORDERS, PROBES, batches, member, reads_committed, transaction_state

_EXACTLY_ONCE = Application(processing=10 * MILLISECOND, writes_to="results-0", transactional=True)
_RESULTS = tuple(f"m{number}-out" for number in range(9))

SCENARIO = Scenario(
    name="read-process-write",
    title="Read, process, write in a transaction: a crash leaves no result twice and none out",
    why=(
        "Results and the offsets of what they come from are written in one transaction a poll. The process dies when"
        " two of the three results of a poll are written: its transaction is aborted after transaction.timeout.ms,"
        " and the offsets in it with it. The successor begins at the offset before and writes the three again."
        " Whoever reads committed records only sees each result once; whoever does not sees m3-out and m4-out twice."
    ),
    source="KIP-98, KIP-447; the text on transactions: consume-transform-produce",
    setup=cluster(
        3,
        ORDERS,
        TopicSetup("results", ((2, 3, 1),)),
        OFFSETS,
        transaction_state(1, 2, 3),
        clients=(
            batches(("m0", "m1", "m2"), ("m3", "m4", "m5"), ("m6", "m7", "m8")),
            member("consumer-a", _EXACTLY_ONCE, settings={"isolation.level": "read_committed"}),
            member("consumer-b", _EXACTLY_ONCE, settings={"isolation.level": "read_committed"}),
            reads_committed("audit", "results-0"),
            ReaderSetup("dirty", ("results-0",)),
        ),
        duration=160 * SECOND,
    ),
    plan=(Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Crash("consumer-a")),),
    cases=(
        Case(
            "0.11",
            {
                "audited": _RESULTS,
                "read_dirty": (*_RESULTS[:5], *_RESULTS[3:]),
                "duplicated": (),
                "torn": (),
                "hanging": (),
                "done_twice": ("m3", "m4"),
            },
        ),
    ),
    probes={
        **PROBES,
        "audited": consumed_by("audit"),
        "read_dirty": consumed_by("dirty"),
        "done_twice": done_twice,
    },
)
