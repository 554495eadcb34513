"""kill -9 of every broker at once loses nothing: the page cache outlives the process."""

from kreplica.engine.fault_plan import At, Crash, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_ALL = ("broker-1", "broker-2", "broker-3")

SCENARIO = Scenario(
    name="kill-keeps-the-log",
    title="Every broker process is killed: what was written is still there",
    why=(
        "A killed process loses its memory, not the page cache: what it wrote is in the file when it starts"
        " again, flushed or not. Only the machine's end takes that away (see power-loss-of-all)."
    ),
    source="LogManager's recovery",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND), {"acks": -1, "linger.ms": 0}),
        ),
        settings={UNCLEAN: False, MIN_ISR: 2},
        duration=90 * SECOND,
    ),
    plan=(
        *(Step(At(10 * SECOND), Crash(name)) for name in _ALL),
        *(Step(At(40 * SECOND), Start(name)) for name in _ALL),
    ),
    cases=(Case("0.11", {"acknowledged": 3, "lost": ()}),),
)
