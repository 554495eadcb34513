"""The offset of a record that cannot be processed is noted, and the record read once more later."""

from kreplica.engine.setup import MILLISECOND, SECOND, Application, OnFailure
from kreplica.scenarios.probes import PROBES, done_late, with_result
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

_NOTING = Application(
    processing=10 * MILLISECOND, fails_on=("m3",), on_failure=OnFailure.SET_ASIDE, again_after=6 * SECOND
)

SCENARIO = Scenario(
    name="failed-offsets-apart",
    title="Failed offsets kept apart: the record is read again by its offset, the others do not wait",
    why=(
        "m3 cannot be processed now. The application notes its offset where it will find it again, goes on, and reads"
        " that one offset once more later: the record stands in the log for as long as retention keeps it. All is"
        " done, m3 out of order; where the order matters this is no cure."
    ),
    source="The text on losses and their cures: failed offsets are recorded and handled by themselves",
    setup=group_cluster(writer(*numbered(10)), member("consumer-a", _NOTING), settings=MANUAL, duration=40),
    plan=(),
    cases=(Case("0.9", {"never_done": (), "done_twice": (), "set_aside": ("m3",), "done_late": ("m3",)}),),
    probes={**PROBES, "set_aside": with_result("set aside"), "done_late": done_late},
)
