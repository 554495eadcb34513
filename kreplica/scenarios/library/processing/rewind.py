"""Rewind to records that were skipped: the application goes back to an offset and reads again."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, Application, Commit
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

_EARLY = Application(processing=100 * MILLISECOND, commit=Commit.BEFORE)
_GOING_BACK = Application(processing=100 * MILLISECOND, commit=Commit.BEFORE, seeks=((90 * SECOND, "orders-0", 4),))

SCENARIO = Scenario(
    name="rewind",
    title="Rewind: a group goes back to an offset and makes up for what it passed over",
    why=(
        "As in commit-before-process m4 was passed over. A consumer's position is its own: the application seeks back"
        " to offset 4 and reads on from there. m4 is done, and what follows it is done once more; the records are"
        " there as long as retention keeps them. kafka-consumer-groups.sh --reset-offsets does the same to a group at"
        " rest."
    ),
    source="The text on the reliability of consumers: rewinding as the net beneath everything else",
    setup=group_cluster(
        writer(*numbered(8)),
        member("consumer-a", _EARLY),
        member("consumer-b", _GOING_BACK),
        settings=MANUAL,
        duration=110,
    ),
    plan=(
        Step(
            When(Kind.OFFSET_COMMITTED, fields={"partition": "orders-0", "offset": 5}, after=20 * MILLISECOND),
            Crash("consumer-a"),
        ),
    ),
    cases=(Case("0.9", {"never_done": (), "done_twice": ("m5", "m6", "m7")}),),
    probes=PROBES,
)
