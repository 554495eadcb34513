"""enable.auto.commit with processing in the poll loop loses nothing."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import MILLISECOND, Application
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

_IN_THE_LOOP = Application(processing=500 * MILLISECOND)

SCENARIO = Scenario(
    name="auto-commit-in-the-loop",
    title="enable.auto.commit, processed between two polls: done twice, but nothing passed over",
    why=(
        "An auto-commit commits what the poll before returned, in the thread that polls. While the application"
        " processes between two polls, nothing that is committed is undone: a crash has its successor do again what"
        " was done since the last commit, up to auto.commit.interval.ms of it, and nothing is passed over."
    ),
    source="Jepsen's correction of its own report on Redpanda 21.10",
    setup=group_cluster(
        writer(*numbered(20)),
        member("consumer-a", _IN_THE_LOOP),
        member("consumer-b", _IN_THE_LOOP),
        duration=140,
    ),
    plan=(Step(When(Kind.CONSUMED, "consumer-a", {"value": "m18"}), Crash("consumer-a")),),
    cases=(
        Case("0.9", {"never_done": (), "done_twice": Between(1, 6)}),
        Case("0.9", {"never_done": (), "done_twice": Between(0, 2)}, {"auto.commit.interval.ms": 1_000}),
    ),
    probes=PROBES,
    notes=(
        "It is often said that auto-commit loses messages. It does so only where records are handed to another"
        " thread: see handed-off-auto-commit."
    ),
)
