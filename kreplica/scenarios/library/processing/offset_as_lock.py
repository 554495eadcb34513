"""The output keeps the offset beside each result and refuses an older one: done again, written once."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, Application
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES, with_result
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, batches, group_cluster, member

_KEEPING = Application(processing=10 * MILLISECOND, keeps_offsets=True)

SCENARIO = Scenario(
    name="offset-as-lock",
    title="The offset as an optimistic lock: what is processed twice is written once",
    why=(
        "The same crash as in consumer-dup-on-rebalance, but the table that the application writes to has the offset"
        " of the last record of each partition beside the results, in one transaction of the database. What comes"
        " with an offset that is not newer is refused. The record is read twice and takes effect once, whatever"
        " Kafka's committed offset says."
    ),
    source="The text on duplicates and their cures: the offset beside the update, as an optimistic lock",
    setup=group_cluster(
        batches(("m0", "m1", "m2"), ("m3", "m4", "m5"), ("m6", "m7", "m8")),
        member("consumer-a", _KEEPING),
        member("consumer-b", _KEEPING),
        settings=MANUAL,
        duration=100,
    ),
    plan=(Step(When(Kind.PROCESSED, "consumer-a", {"value": "m4"}), Crash("consumer-a")),),
    cases=(
        Case("0.9", {"done_twice": (), "never_done": (), "refused": ("m3", "m4"), "read_twice": ("m3", "m4", "m5")}),
    ),
    probes={**PROBES, "refused": with_result("refused")},
)
