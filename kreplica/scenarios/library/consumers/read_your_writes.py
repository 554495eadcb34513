"""Read your writes: a record just written is at the leader at once, and at a follower one fetch later."""

from kreplica.engine.setup import SECOND
from kreplica.scenarios.probes import PROBES, longest_until_read_ms, read_from
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

SCENARIO = Scenario(
    name="read-your-writes",
    title="Reading one's own writes: at once from the leader, up to half a second later from a follower",
    why=(
        "An acknowledged record (acks=all) is below the leader's high watermark: a consumer that asks the leader gets"
        " it. A follower has the record too, but hears of the high watermark with its next fetch; when nothing else"
        " is written that fetch waits replica.fetch.wait.max.ms, 500 ms, at the leader. With a rack-aware replica"
        " selector a consumer in a follower's rack sees its own writes that much later. Only 2.4 and 2.5 told followers"
        " of a new high watermark at once, at the price of many more fetches."
    ),
    source=(
        "KIP-392, KAFKA-9952; the text on read-your-writes, which gives it as a reason why followers do not serve reads"
    ),
    setup=group_cluster(
        writer(*numbered(10), every=2 * SECOND),
        member("consumer-a", settings={"client.rack": "r2"}),
        racks=("r1", "r2", "r3"),
        settings={"replica.selector.class": "RackAwareReplicaSelector"},
        duration=40,
    ),
    plan=(),
    cases=(
        Case("2.4", {"read_from": (2,), "until_read_ms": Between(0, 10), "never_done": ()}),
        Case("2.6", {"read_from": (2,), "until_read_ms": Between(300, 600), "never_done": ()}),
        Case("2.4", {"read_from": (), "until_read_ms": Between(0, 10)}, {"replica.selector.class": ""}),
    ),
    probes={**PROBES, "read_from": read_from, "until_read_ms": longest_until_read_ms},
    notes=(
        "Since 2.4 followers do serve consumers where replica.selector.class is set: texts that say they never do are"
        " older."
    ),
)
