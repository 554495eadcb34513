"""Read, process, write without a transaction: results twice."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, Application, ReaderSetup, TopicSetup, cluster
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import consumed_by, done_twice
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, OFFSETS, ORDERS, batches, member

_PLAIN = Application(processing=10 * MILLISECOND, writes_to="results-0")

SCENARIO = Scenario(
    name="read-process-write-at-least-once",
    title="Read, process, write and then commit: a crash in between writes results twice",
    why=(
        "The same application as in read-process-write, with a plain producer: results are acknowledged one by one,"
        " and the offsets are committed once the poll is done. The process dies when two of three results are"
        " written; its successor writes them again. Nothing is out, something is there twice."
    ),
    source="The text on transactions: why consume-transform-produce needs them",
    setup=cluster(
        3,
        ORDERS,
        TopicSetup("results", ((2, 3, 1),)),
        OFFSETS,
        clients=(
            batches(("m0", "m1", "m2"), ("m3", "m4", "m5"), ("m6", "m7", "m8")),
            member("consumer-a", _PLAIN),
            member("consumer-b", _PLAIN),
            ReaderSetup("audit", ("results-0",)),
        ),
        settings=MANUAL,
        duration=100 * SECOND,
    ),
    plan=(Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Crash("consumer-a")),),
    cases=(Case("0.9", {"duplicated": ("m3-out", "m4-out"), "lost": (), "done_twice": ("m3", "m4")}),),
    probes={"audited": consumed_by("audit"), "done_twice": done_twice},
)
