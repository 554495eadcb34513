"""A topic falls silent for longer than the retention of offsets while its consumer lives."""

from kreplica.engine.fault_plan import At, Crash, Start, Step
from kreplica.engine.setup import SECOND
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

SCENARIO = Scenario(
    name="silent-topic-offsets",
    title="A live consumer of a silent topic loses its offsets, until KIP-211",
    why=(
        "Up to 2.0 an offset aged from its last commit, whether its group lived or not. An application that commits"
        " only when it has read something, and reads nothing for offsets.retention.minutes, loses its offsets while"
        " it runs, and notices when it restarts: it does everything again. Since 2.1 they age only once the group is"
        " empty."
    ),
    source="KIP-211, KAFKA-4682",
    setup=group_cluster(
        writer(*numbered(4)),
        member("consumer-a"),
        settings={**MANUAL, "offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 5_000},
        duration=160,
    ),
    plan=(Step(At(100 * SECOND), Crash("consumer-a")), Step(At(102 * SECOND), Start("consumer-a"))),
    cases=(
        Case("0.9", {"done_twice": numbered(4), "never_done": (), "count:offset-expired": 1}),
        Case("2.1", {"done_twice": (), "never_done": (), "count:offset-expired": 0}),
    ),
    probes=PROBES,
)
