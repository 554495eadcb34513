"""Counterexamples of the models of a KRaft cluster, as plans for the scenario ``power-loss-of-all``.

Messages arrive as they do in a run: what a broker hears, asks or fetches takes no step of a plan. In the plan is what
fails and starts again, and what keeps brokers apart: one that runs and is fenced has no link to the controllers, one
that never has the records of its leader none to that: it is too slow for it, as nobody is who has all of its log.
Replicas that are out of sync at first have been fenced so, and the producer starts once they are. A plan is played to
find its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.kraft.state import KraftState, log_end, now
from kreplica.engine.fault_plan import AnyAction, Crash, Cut, DiskLoss, Start, Step, Stop, in_order
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.counterexamples.played_cluster import (
    APART,
    JUST_BEFORE_WRITES,
    LAG,
    LAG_MS,
    PRODUCER,
    REPLICAS,
    SESSION,
    away_from_controllers,
)
from kreplica.scenarios.counterexamples.steps import node_of, step_at
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO

RELEASES = {"kraft": "3.6-kraft", "kraft-last-kept": "3.6-kraft", "kip-966": "4.3"}
"""The last release like each model: since 3.7 the high watermark stands still below min ISR, and a broker with a new
disk clears the ELR up to 4.2.
"""
MENDED = "4.3"
"""The release with eligible leader replicas that are kept."""
OUT_OF_SYNC = 12 * SECOND
"""Time at which the controller has fenced who is out of sync at first."""
_ENDS = ("lose-log", "stop")
_FAULTS = (*_ENDS, "fence")


def kraft_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if it has more brokers, or records written apart.

    Args:
        model: One of the models of a KRaft cluster.
        steps: The counterexample.
    """
    names = [step.action.name for step in steps]
    written = [place for place, name in enumerate(names) if name == "write"]
    replicas = len(model.initial.status)
    if replicas > REPLICAS or not written:
        return None
    if len({steps[place].chosen for place in written}) > 1 or {*names[written[0] : written[-1]]} & {*_FAULTS}:
        return None
    times = _times(steps)
    plan = [
        *_out_of_sync(model.initial),
        *_writing(times[written[0]]),
        *_faults(steps, times),
        *_apart(model, steps, times),
    ]
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=RELEASES[model.name],
        settings={
            **dict(model.settings),
            UNCLEAN: "false",
            **({LAG: str(LAG_MS)} if any(map(_shrinks, steps)) else {}),
        },
        leave_out=LeaveOut(brokers=tuple(range(replicas + 1, REPLICAS + 1)), records={PRODUCER: (0, len(written))}),
        steps=in_order(plan),
    )


def _times(steps: Sequence[Taken]) -> list[int]:
    """The time of each step: after a fault a session ends, all else takes place at once."""
    time, found = OUT_OF_SYNC, []
    for step in steps:
        found.append(time)
        if step.action.name in _FAULTS:
            time += SESSION
        elif step.action.name in ("write", "start"):
            time += APART
        elif _shrinks(step):
            time += 2 * LAG_MS * MILLISECOND
    return found


def _shrinks(step: Taken) -> bool:
    """True if a leader asks for an ISR without a follower that it takes for too slow."""
    return step.action.name == "ask-for-isr" and step.chosen[1] != 0


def _out_of_sync(begins: KraftState) -> Iterator[Step]:
    """Fences who is out of sync at first."""
    for replica in range(len(begins.status)):
        if not contains(begins.isr[now(begins)], replica):
            yield from away_from_controllers(replica, 0, SCENARIO.setup.duration)


def _writing(time: int) -> Iterator[Step]:
    yield step_at(JUST_BEFORE_WRITES, Crash(PRODUCER))
    yield step_at(time, Start(PRODUCER))


def _faults(steps: Sequence[Taken], times: Sequence[int]) -> Iterator[Step]:
    for place, (step, time) in enumerate(zip(steps, times, strict=True)):
        name, replica = step.action.name, step.chosen[0]
        if name == "fence":
            yield from away_from_controllers(replica, time, _fenced_until(steps, times, place, replica))
        elif name in _ENDS:
            yield step_at(time, _ending(step))
        elif name == "start":
            yield step_at(time, Start(node_of(replica)))


def _fenced_until(steps: Sequence[Taken], times: Sequence[int], place: int, replica: int) -> int:
    """Time until which a broker that was fenced while it ran stays so."""
    later = range(place + 1, len(steps))
    back = (at for at in later if steps[at].action.name in (*_ENDS, "unfence") and steps[at].chosen[0] == replica)
    return next((times[at] for at in back), SCENARIO.setup.duration)


def _ending(step: Taken) -> AnyAction:
    """A stop is clean if the broker keeps its epoch, which it names when it is registered again."""
    broker = step.chosen[0]
    if step.action.name == "lose-log":
        return DiskLoss(node_of(broker))
    return Stop(node_of(broker)) if step.state.broker_epoch[broker] else Crash(node_of(broker))


def _apart(model: Model, steps: Sequence[Taken], times: Sequence[int]) -> Iterator[Step]:
    """Keeps those from each leader that never have all of its records while it leads."""
    begin = 0
    leaders = [state.leader[now(state)] for state in (model.initial, *(step.state for step in steps))]
    for place in range(1, len(leaders) + 1):
        if place == len(leaders) or leaders[place] != leaders[begin]:
            end = SCENARIO.setup.duration if place == len(leaders) else times[place - 1]
            yield from _from_leader(leaders[begin], steps[begin : place - 1], times[begin] if begin else 0, end)
            begin = place


def _from_leader(leader: int, term: Sequence[Taken], begin: int, end: int) -> Iterator[Step]:
    replicas = range(len(term[0].state.status)) if term and leader != NO_LEADER else ()
    logs = [max(log_end(step.state, replica) for step in term) for replica in replicas]
    for replica in replicas:
        if logs[replica] < logs[leader]:
            yield step_at(begin, Cut(node_of(leader), node_of(replica), end - begin))
