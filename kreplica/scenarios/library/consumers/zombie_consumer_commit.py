"""A member stands still for longer than its session, goes on, and commits: it is refused."""

from kreplica.engine.fault_plan import Pause, Step, When
from kreplica.engine.setup import SECOND
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, group_cluster, member, numbered, writer

SCENARIO = Scenario(
    name="zombie-consumer-commit",
    title="A consumer that was thought dead goes on: its commit is refused, its work was done twice",
    why=(
        "The member stands still, as in a long collection of garbage. The coordinator removes it after"
        " session.timeout.ms and gives its partition to another. When it goes on it does not know, finishes m8 and"
        " commits: the coordinator refuses, because it knows no such member. Offsets are fenced by membership; what"
        " the zombie did to the outside is not."
    ),
    source="org.apache.kafka.coordinator.group.classic.ClassicGroup.validateOffsetCommit",
    setup=group_cluster(
        writer(*numbered(10)),
        member("consumer-a"),
        member("consumer-b"),
        settings=MANUAL,
        duration=120,
    ),
    plan=(Step(When(Kind.CONSUMED, "consumer-a", {"value": "m8"}), Pause("consumer-a", 70 * SECOND)),),
    cases=(
        Case(
            "0.9",
            {"done_twice": ("m8",), "never_done": (), "commit_errors": ("UNKNOWN_MEMBER_ID",)},
        ),
    ),
    probes=PROBES,
    notes=(
        "ILLEGAL_GENERATION is what a member hears that is still in the group but missed a rebalance, as a static"
        " member may. With group.protocol=consumer (KIP-848) an epoch that is not the member's is STALE_MEMBER_EPOCH."
    ),
)
