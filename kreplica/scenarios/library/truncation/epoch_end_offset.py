"""Epochs <0,0> and <1,120>: epoch 0 ends at 120, and that is where a former leader cuts."""

from kreplica.engine.fault_plan import At, Crash, Cut, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="epoch-end-offset",
    title="Where epoch 0 ends is where epoch 1 begins: 120",
    why=(
        "The leader of epoch 0 wrote 120 records that its follower has, and five more that it has not. The"
        " follower leads from offset 120 on: its epochs are <0,0> and <1,120>. When the old leader returns it asks"
        " where its epoch 0 ends, hears 120, and cuts its five records off; its high watermark alone could not"
        " have told that."
    ),
    source="the course's text on leader epochs: two entries <0,0> and <1,120>; KIP-101",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", *(f"a{number}" for number in range(120)), start=SECOND, every=0),
                    *sends("t-0", *(f"b{number}" for number in range(5)), start=5 * SECOND, every=0),
                    *sends("t-0", *(f"c{number}" for number in range(30)), start=60 * SECOND, every=0),
                ),
                {"acks": 1, "linger.ms": 1, "batch.records": 200, "enable.idempotence": False},
            ),
        ),
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(4 * SECOND), Cut("broker-1", "broker-2", 3 * SECOND)),
        Step(At(6 * SECOND), Crash("broker-1")),
        Step(At(90 * SECOND), Start("broker-1")),
    ),
    cases=(Case("0.11", {"cut_at": (120,), "diverged": 0}),),
    probes={
        "cut_at": lambda events: tuple(
            fields_of(e)["end_offset"] for e in events if e.kind == Kind.TRUNCATED and e.node == "broker-1"
        )
    },
)
