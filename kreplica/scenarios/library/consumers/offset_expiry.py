"""A group without members loses its offsets after offsets.retention.minutes."""

from kreplica.engine.setup import SECOND, sends
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writes

_RETENTION = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 5_000}

SCENARIO = Scenario(
    name="offset-expiry",
    title="A group that was away too long has no offsets: it begins anew, or passes over what came meanwhile",
    why=(
        "Committed offsets are kept for offsets.retention.minutes (7 days; 1 day before 2.0) after the group has"
        " become empty. A group that comes back later begins where auto.offset.reset says: earliest does everything"
        " again, latest passes over what came while it was away. Here it is one minute, and the group is away for"
        " two."
    ),
    source="KIP-186, KIP-211",
    setup=group_cluster(
        writes(
            "writer", *sends("orders-0", *numbered(4), start=10 * SECOND), *sends("orders-0", "away", start=60 * SECOND)
        ),
        member("consumer-a", stop=30 * SECOND),
        member("consumer-b", start=150 * SECOND),
        settings=_RETENTION,
        duration=180,
    ),
    plan=(),
    cases=(
        Case("0.9", {"done_twice": numbered(4), "never_done": (), "count:offset-expired": 1}),
        Case("0.9", {"done_twice": (), "never_done": ("away",)}, {"auto.offset.reset": "latest"}),
        Case("0.9", {"done_twice": (), "never_done": ()}, {"offsets.retention.minutes": 10}),
    ),
    probes=PROBES,
)
