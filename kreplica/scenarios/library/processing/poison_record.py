"""A record that cannot be processed is retried again and again: all records after it wait."""

from kreplica.engine.setup import MILLISECOND, SECOND, Application, OnFailure
from kreplica.scenarios.probes import PROBES, with_result
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

_STUBBORN = Application(processing=10 * MILLISECOND, fails_on=("m3",), on_failure=OnFailure.AGAIN, again_after=SECOND)

SCENARIO = Scenario(
    name="poison-record",
    title="A record that cannot be processed holds up its partition",
    why=(
        "A partition is read in order. An application that will not go on before m3 is done, because it must not"
        " commit what is not done, stops there: m4 and all that follows wait, and so will its successor. Reading on"
        " without m3, and keeping it for later, is what dead-letter and failed-offsets-apart show."
    ),
    source="The text on the reliability of consumers: a record that cannot be parsed must not hold up the others",
    setup=group_cluster(writer(*numbered(8)), member("consumer-a", _STUBBORN), settings=MANUAL, duration=40),
    plan=(),
    cases=(Case("0.9", {"never_done": numbered(8)[3:], "failed_on": ("m3",), "done_twice": ()}),),
    probes={**PROBES, "failed_on": with_result("failed")},
)
