"""A consumer that reads from followers changes from one to another: it waits, but never goes back."""

from kreplica.engine.fault_plan import At, Crash, Start, Step
from kreplica.engine.setup import SECOND
from kreplica.scenarios.probes import PROBES, longest_until_read_ms, read_from
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

SCENARIO = Scenario(
    name="follower-read-monotonic",
    title="Reading from followers: another replica may be behind, reads do not go back",
    why=(
        "A follower serves up to its own high watermark, which follows the leader's by a fetch. A consumer that"
        " changes to a replica that is behind asks for an offset above that one's high watermark: the answer is"
        " empty, and it waits until the replica has come up. Its position never goes back, so what it has read it"
        " does not read again; only what the replica does not have at all sends it back to the leader."
    ),
    source="KIP-392; the text on monotonic reads, which holds that followers would break them",
    setup=group_cluster(
        writer(*numbered(40)),
        member("consumer-a", settings={"client.rack": "r2"}),
        racks=("r1", "r2", "r3"),
        settings={
            "replica.selector.class": "RackAwareReplicaSelector",
            "metadata.max.age.ms": 10_000,
            "enable.idempotence": True,  # the crash makes the producer try again
        },
        duration=90,
    ),
    plan=(Step(At(20 * SECOND), Crash("broker-2")), Step(At(35 * SECOND), Start("broker-2"))),
    cases=(
        Case("2.5", {"read_from": (2,), "non_monotonic": (), "never_done": (), "done_twice": ()}),
        Case(
            "2.5",
            {"read_from": (), "non_monotonic": (), "never_done": (), "until_read_ms": Between(0, 15_000)},
            {"replica.selector.class": ""},
        ),
    ),
    probes={**PROBES, "read_from": read_from, "until_read_ms": longest_until_read_ms},
    notes=(
        "It is said that letting followers serve reads would show a record now and not later. Kafka's consumers carry"
        " their position with them: they may wait, and do not go back."
    ),
)
