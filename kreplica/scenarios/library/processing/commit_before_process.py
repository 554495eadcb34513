"""The offset is committed before the record is processed: a crash in between passes it over."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, Application, Commit
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

_EARLY = Application(processing=100 * MILLISECOND, commit=Commit.BEFORE)

SCENARIO = Scenario(
    name="commit-before-process",
    title="Committed before it is processed: what a crash interrupts is passed over",
    why=(
        "A committed offset says: everything before it is done. Committed early it says so too soon. The member"
        " crashes while it processes m4; its successor begins behind it. Nothing is done twice, something may never"
        " be done: at most once. Kafka has lost nothing: m4 stands in the log, and can be read again."
    ),
    source="the text on the reliability of consumers: what was not processed must not be committed",
    setup=group_cluster(
        writer(*numbered(8)),
        member("consumer-a", _EARLY),
        member("consumer-b", _EARLY),
        settings=MANUAL,
        duration=100,
    ),
    plan=(
        Step(
            When(Kind.OFFSET_COMMITTED, fields={"partition": "orders-0", "offset": 5}, after=20 * MILLISECOND),
            Crash("consumer-a"),
        ),
    ),
    cases=(Case("0.9", {"done_twice": (), "never_done": ("m4",), "lost": ()}),),
    probes=PROBES,
)
