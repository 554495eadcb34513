"""Log recovery of a killed broker: it begins at the recovery point that was flushed, not at the log end offset."""

from kreplica.engine.fault_plan import At, Crash, Start, Step, Stop
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="recovery-point",
    title="recovery-point-offset-checkpoint holds what was flushed, not the log end offset",
    why=(
        "Every log.flush.offset.checkpoint.interval.ms a broker writes down up to where it has flushed each log."
        " Kafka flushes nothing by itself, so after a kill everything is read again from the start of the segment"
        " that was never flushed; with flush.messages=1 nothing is. After a clean stop nothing is either: all was"
        " flushed then. Power takes what was not flushed, with flush.ms only if log.flush.scheduler.interval.ms"
        " lets somebody look."
    ),
    source="LogManager.flushDirtyLogs and checkpointLogRecoveryOffsets; the text on checkpoints behind figure 8-8",
    setup=cluster(
        1,
        TopicSetup("t", ((1,),)),
        clients=(ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND), {"acks": 1}),),
        duration=300 * SECOND,
    ),
    plan=(
        Step(At(70 * SECOND), Crash("broker-1")),
        Step(At(100 * SECOND), Start("broker-1")),
        Step(At(130 * SECOND), Stop("broker-1")),
        Step(At(160 * SECOND), Start("broker-1")),
    ),
    cases=(
        Case("0.11", {"read_again_from": (0, 3), "lost": 0}),
        Case("0.11", {"read_again_from": (3, 3), "lost": 0}, {"flush.messages": 1}),
        Case("0.11", {"read_again_from": (0, 3), "lost": 0}, {"flush.ms": 1000}),
        Case(
            "0.11",
            {"read_again_from": (3, 3), "lost": 0},
            {"flush.ms": 1000, "log.flush.scheduler.interval.ms": 5000},
        ),
    ),
    probes={
        "read_again_from": lambda events: tuple(
            fields_of(e)["recovery_point"] for e in events if e.kind == Kind.RECOVERY_BEGINS
        )
    },
    notes="It is often said that recovery-point-offset-checkpoint holds the log end offset.",
)
