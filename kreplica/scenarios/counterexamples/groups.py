"""Counterexamples of consumer groups of Kafka's releases, as plans for the scenario ``late-heartbeat``.

A plan makes one heartbeat late. Either it is the one by which the first consumer joins: its connection to the
coordinator breaks, it joins by another heartbeat, and the first one arrives after the second consumer has joined.
Or the session of the first consumer ends, and the second one takes over both partitions while its heartbeat that says
that it has none is under way: that one arrives after the first consumer has joined again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace as changed

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.traces.commits import COORDINATOR
from kreplica.engine.explorer.models.coordinators.memberships.models import TABLES
from kreplica.engine.explorer.models.coordinators.memberships.rules import KAFKA_4_1, KAFKA_4_2, KAFKA_4_3
from kreplica.engine.explorer.models.coordinators.memberships.trace import CLIENTS, events_of
from kreplica.engine.fault_plan import AnyAction, At, BreakConnection, Pause, Slow, Step, StopPolling, When
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
"""The client that joins twice, or whose session ends."""
A, B = CLIENTS[:2]
STARTS = tuple(one.start for one in SCENARIO.setup.clients if isinstance(one, ConsumerSetup))
"""Times at which the scenario's consumers start."""
UNDER_WAY = MILLISECOND * 3 // 4
"""Time from a request for the coordinator until the heartbeat that follows is half-way: both links take 0.5 ms."""
BEHIND, SLOW, BEATS = 5 * SECOND // 2, 3 * SECOND, SECOND
"""Times of a late join: from the second consumer's start until it arrives; by which later heartbeats are slower, so
that the second consumer's next one is first; and for which they are."""
BEAT = 5 * SECOND
"""group.consumer.heartbeat.interval.ms."""
OVERTAKEN, UNHEARD, SOONER = 8 * SECOND, 6 * SECOND, SECOND // 10
"""Times of an ended session: by which the heartbeat is late that says that the second consumer has no partitions, and
its answer; by which a link is slow before and after a heartbeat leaves."""
RECORDS = 10
"""Records of each partition, from shortly before both consumers have it."""

Moment = tuple[str, str, tuple[object, ...]]
"""Kind, node and values of an event; of a change of the group its sender, epoch and members."""


class Fault(NamedTuple):
    """One of the faults that a plan has.

    Args:
        steps: The steps of a plan; false if the heartbeat that is late is to arrive on time.
        both_from: Time shortly before both consumers have a partition.
        begins: The first actions of the first client in a counterexample.
    """

    steps: Callable[[bool], Iterator[Step]]
    both_from: int
    begins: tuple[str, ...]


def replay_of_group(model: Model, invariant: str, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample, and what it comes to; None if a run has no such events.

    Args:
        model: One of the models of groups with Kafka's client.
        invariant: Name of the invariant that the steps lead to a breach of.
        steps: The counterexample.
    """
    fault = _fault_of(model, steps) if invariant in BROKEN else None
    if fault is None:
        return None
    file = PlanFile(
        scenario=SCENARIO.name,
        kafka_version=TABLES[model.name].version.name,
        leave_out=_left_out(fault.both_from),
        steps=tuple(fault.steps(True)),
    )
    run = play_file(SCENARIO, file)
    wanted = story(events_of(model.initial, steps))
    if not owned_twice(run.events) or story(run.events)[: len(wanted)] != wanted:
        return None
    on_time = play_file(SCENARIO, changed(file, steps=tuple(fault.steps(False))))
    where = "clients 1 and 2 are consumer-a and consumer-b; broker-3 coordinates the group"
    return None if owned_twice(on_time.events) else Replay(file, run, on_time, where, otherwise=["no late heartbeat"])


def _fault_of(model: Model, steps: Sequence[Taken]) -> Fault | None:
    """The fault of a counterexample; None if no release is like the model, or there are others."""
    taken = [(step.action.name, step.chosen[0]) for step in steps]
    fault = FAULTS.get(tuple(step for step in taken if step[0] in _FAULTY))
    if TABLES[model.name] not in RELEASES or fault is None:
        return None
    begins = tuple(name for name, client in taken if client == FIRST)
    return fault if begins[: len(fault.begins)] == fault.begins else None


def _late_join(late: bool) -> Iterator[Step]:
    """The broken connection, by which the first heartbeat is so late, and slow heartbeats afterwards."""
    first, second = STARTS
    yield _as_it_joins(A, BreakConnection(A, COORDINATOR, second + BEHIND - first if late else 0), UNDER_WAY)
    yield Step(At(second + BEHIND + 3 * SECOND // 2), Slow(A, COORDINATOR, SLOW, BEATS, one_way=True))


def _as_it_joins(consumer: str, action: AnyAction, after: int = 0) -> Step:
    asked = When(Kind.MESSAGE, "", {"source": consumer, "name": "FindCoordinator"}, after=after)
    return Step(asked, action)


def _ended_session(late: bool) -> Iterator[Step]:
    """A paused process, whose session ends, and two slow heartbeats of the other one.

    The second consumer sends one every 5 s. It is told that it has no partitions, and takes that over while the next
    heartbeat is under way, which therefore does not say so. The answer is both partitions. Its application does not
    poll until the heartbeat after that has left, which says that it has none, and reads both from then on. The
    application of the first consumer does not poll before it is fenced: it takes over nothing.
    """
    joined = STARTS[1]
    told, says, arrives = joined + BEAT, joined + 2 * BEAT, joined + 2 * BEAT + OVERTAKEN
    yield _as_it_joins(A, StopPolling(A, says + 2 * SECOND - STARTS[0]))
    yield Step(At(STARTS[0] + BEAT + SECOND), Pause(A, says + SECOND - STARTS[0] - BEAT))
    yield _as_it_joins(B, StopPolling(B, BEAT + SECOND))
    yield Step(At(told - SOONER), Slow(B, COORDINATOR, 2 * SECOND, 2 * SOONER, one_way=True))
    yield Step(At(told + SECOND + SOONER), StopPolling(B, BEAT - SECOND // 2))
    if late:
        yield Step(At(says - SOONER), Slow(B, COORDINATOR, OVERTAKEN, 2 * SOONER, one_way=True))
        yield Step(At(arrives - SOONER), Slow(COORDINATOR, B, UNHEARD, 2 * SOONER, one_way=True))


FAULTS: Mapping[tuple[tuple[str, int], ...], Fault] = {
    (("time-out", FIRST), ("serve-late", FIRST)): Fault(_late_join, STARTS[1], ("heartbeat", "time-out")),
    (("expire", FIRST),): Fault(_ended_session, STARTS[1] + 2 * BEAT + OVERTAKEN, ("heartbeat", "serve")),
}
"""By the faulty actions of a counterexample, with their clients."""
_FAULTY = ("time-out", "serve-late", "expire", "leave", "crash")


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
    Heartbeats that change nothing are left out: a run has one every five seconds. The end of a session is nobody's.

    Args:
        events: Of the counterexample, or of its run.
    """
    found, sender, at = list[Moment](), "", -1
    group: tuple[object, ...] = ()
    for event in events:
        if event.kind == Kind.MESSAGE and event.node == COORDINATOR:
            sender, at = str(event.values[0]), event.time
        elif event.kind == Kind.ASSIGNED:
            found.append((event.kind, event.node, event.values))
        elif event.kind == Kind.GROUP_CHANGED:
            told = fields_of(event)
            now = sender if event.time == at else "", told["generation"], tuple(sorted(told["members"]))
            if now != group:
                group = now
                found.append((event.kind, event.node, group))
    return found
