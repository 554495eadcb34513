"""Counterexamples of consumer groups of Kafka's releases, as plans for the scenario ``late-heartbeat``.

The heartbeat by which the first consumer joins is under way when its connection to the coordinator breaks. It joins by
another one. The first one arrives where the counterexample has it: after the second consumer has joined. The heartbeats
by which the first consumer would hear of that are slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as changed

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.traces.commits import COORDINATOR
from kreplica.engine.explorer.models.coordinators.memberships.models import TABLES
from kreplica.engine.explorer.models.coordinators.memberships.rules import KAFKA_4_1, KAFKA_4_2, KAFKA_4_3
from kreplica.engine.explorer.models.coordinators.memberships.trace import CLIENTS, events_of
from kreplica.engine.fault_plan import At, BreakConnection, Slow, Step, When
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.setup import MILLISECOND, SECOND, ConsumerSetup, ProducerSetup
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.counterexamples.replay import Replay
from kreplica.scenarios.library.consumers.late_heartbeat import SCENARIO
from kreplica.scenarios.playing import play_file

RELEASES = (KAFKA_4_1, KAFKA_4_2, KAFKA_4_3)
"""The rules of releases; the others lack a guard, or have one more."""
BROKEN = ("owned-once", "released-first")
"""Invariants that a partition of two members breaks: it counted as free while one of them had it."""

FIRST = 0
"""The client that joins twice."""
UNDER_WAY = MILLISECOND * 3 // 4
"""Time from a request for the coordinator until the heartbeat that follows is half-way: both links take 0.5 ms."""
BEHIND, SLOW, BEATS = 5 * SECOND // 2, 3 * SECOND, SECOND
"""Times: from the second consumer's start until the late heartbeat arrives; by which later ones are slower, so that the
second consumer's next one is first; and for which they are."""
RECORDS = 10
"""Records of each partition, from shortly before the second consumer's start on."""

Moment = tuple[str, str, tuple[object, ...]]
"""Kind, node and values of an event; of a change of the group its sender, epoch and members."""


def replay_of_group(model: Model, invariant: str, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample, and what it comes to; None if a run has no such events.

    Args:
        model: One of the models of groups with Kafka's client.
        invariant: Name of the invariant that the steps lead to a breach of.
        steps: The counterexample.
    """
    file = group_plan(model, steps) if invariant in BROKEN else None
    if file is None:
        return None
    run = play_file(SCENARIO, file)
    wanted = story(events_of(model.initial, steps))
    if not owned_twice(run.events) or story(run.events)[: len(wanted)] != wanted:
        return None
    on_time = play_file(SCENARIO, changed(file, steps=tuple(_faults(delay=0))))
    where = "clients 1 and 2 are consumer-a and consumer-b; broker-3 coordinates the group"
    return None if owned_twice(on_time.events) else Replay(file, run, on_time, where, otherwise=["no late heartbeat"])


def group_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if no release is like the model, or something else than a join is late.

    Args:
        model: One of the models of groups with Kafka's client.
        steps: The counterexample.
    """
    taken = [(step.action.name, step.chosen[0]) for step in steps]
    late = [step for step in taken if step[0] in ("time-out", "serve-late", "expire", "leave", "crash")]
    begins = [step for step in taken if step[1] == FIRST][:2]
    if TABLES[model.name] not in RELEASES or late != [("time-out", FIRST), ("serve-late", FIRST)]:
        return None
    if begins != [("heartbeat", FIRST), ("time-out", FIRST)]:
        return None
    first, second = _starts()
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=TABLES[model.name].version.name,
        leave_out=_left_out(second),
        steps=tuple(_faults(second + BEHIND - first)),
    )


def _starts() -> tuple[int, int]:
    """Times at which the scenario's consumers start."""
    first, second = (one.start for one in SCENARIO.setup.clients if isinstance(one, ConsumerSetup))
    return first, second


def _faults(delay: int) -> Iterator[Step]:
    """The broken connection, by which the first heartbeat is so late, and slow heartbeats afterwards."""
    name, (_, second) = CLIENTS[FIRST], _starts()
    asked = When(Kind.MESSAGE, "", {"source": name, "name": "FindCoordinator"}, after=UNDER_WAY)
    yield Step(asked, BreakConnection(name, COORDINATOR, delay))
    yield Step(At(second + BEHIND + 3 * SECOND // 2), Slow(name, COORDINATOR, SLOW, BEATS, one_way=True))


def _left_out(since: int) -> LeaveOut:
    """All records but some around the time at which both consumers have the partition."""
    kept = {}
    for writer in (one for one in SCENARIO.setup.clients if isinstance(one, ProducerSetup)):
        begin = sum(send.at < since for send in writer.sends)
        kept[writer.name] = (begin, begin + RECORDS)
    return LeaveOut(records=kept)


def story(events: Sequence[Event]) -> list[Moment]:
    """Moments of the group, in order: a counterexample and its run have the same.

    They are: whose heartbeat changes the group, its epoch and members then, and what each consumer takes over.
    Heartbeats that change nothing are left out: a run has one every five seconds.

    Args:
        events: Of the counterexample, or of its run.
    """
    found, sender = list[Moment](), ""
    group: tuple[object, ...] = ()
    for event in events:
        if event.kind == Kind.MESSAGE and event.node == COORDINATOR:
            sender = str(event.values[0])
        elif event.kind == Kind.ASSIGNED:
            found.append((event.kind, event.node, event.values))
        elif event.kind == Kind.GROUP_CHANGED:
            told = fields_of(event)
            if (sender, told["generation"], told["members"]) != group:
                group = sender, told["generation"], told["members"]
                found.append((event.kind, event.node, group))
    return found
