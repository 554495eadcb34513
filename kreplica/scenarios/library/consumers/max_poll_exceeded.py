"""Processing takes longer than max.poll.interval.ms: the member is out, and its work is done again."""

from kreplica.engine.setup import MILLISECOND, SECOND, Application
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

_SLOW = Application(processing=10 * MILLISECOND, stalls={"m4": 20 * SECOND})

SCENARIO = Scenario(
    name="max-poll-exceeded",
    title="Processing outlasts max.poll.interval.ms: the commit fails and the record is done again",
    why=(
        "Heartbeats come from a thread of their own and say that the process lives; that the application goes on is"
        " measured by its polls. When the time between two of them exceeds max.poll.interval.ms the client leaves its"
        " group. The application learns of it when it commits: CommitFailedException, and another member has the"
        " partition. A longer interval, or fewer records a poll, avoids it."
    ),
    source="KIP-62",
    setup=group_cluster(
        writer(*numbered(8)),
        member("consumer-a", _SLOW),
        member("consumer-b"),
        settings={**MANUAL, "max.poll.interval.ms": 10_000},
        duration=60,
    ),
    plan=(),
    cases=(
        Case(
            "0.10",
            {"done_twice": ("m4",), "never_done": (), "commit_errors": ("CommitFailedException",)},
        ),
        Case("0.10", {"done_twice": (), "never_done": (), "commit_errors": ()}, {"max.poll.interval.ms": 300_000}),
    ),
    probes=PROBES,
)
