"""Counterexamples of the models of one partition as plans of faults, played under a release that has their flaw.

Each step of a counterexample takes place half a second after the one before. A record is written by a producer that
starts. A replica leaves the ISR as its session expires; a leader is elected as the preferred one, or because the
session of the one before expires. A broker that hears late of a leader epoch has a slow link from the controller, one
that fetches late a slow link from the leader. A plan is played to find its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kreplica.engine.explorer.model import Action, Model, Taken
from kreplica.engine.explorer.models.one_partition.invariants import agree
from kreplica.engine.explorer.models.one_partition.state import PartitionState, leads, log_end
from kreplica.engine.explorer.models.one_partition.trace import PARTITION, broker_of
from kreplica.engine.fault_plan import (
    AnyAction,
    At,
    Crash,
    Cut,
    ElectPreferred,
    ExpireSession,
    Plan,
    Reassign,
    Slow,
    Start,
    Step,
    Trigger,
    When,
    in_order,
)
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import Truncation, version_named
from kreplica.scenarios.counterexamples.replay import Replay
from kreplica.scenarios.counterexamples.steps import node_of, step_at
from kreplica.scenarios.library.truncation.counterexample import SCENARIO
from kreplica.scenarios.playing import play_file

FLAWED = {
    "truncate-to-hw": ("0.8.1", "0.11"),
    "kip-101": ("1.1", "2.1"),
    "kip-279": ("2.0.1", "2.1"),
    "kip-320-m1": ("2.0.1", "2.1"),
    "kip-320-m2": ("2.0", "2.0.1"),
    "kip-320-m3": ("2.0.1", "2.1"),
    "kip-320-m6": ("2.0", "2.0.1"),
    "kip-320-m7": ("1.1", "2.1"),
    "kip-320-3.9-m1": ("2.8.0", "2.8.1"),
}
"""For each model the last release that it describes in what it lacks, and the one that mends that.

No release is like the others: the first try at KIP-320 was never released, and nothing breaks KIP-320.
"""

CONTROLLER = "broker-4"
BEGIN, SLOT, END = 10 * SECOND, SECOND // 2, SECOND
"""Time of the first step, time between two of them, time from the last until what never arrived arrives."""
_JUST_BEFORE = MILLISECOND
_ALL_AT_ONCE = 300 * MILLISECOND
"""Time in which a controller sends what it has decided."""
_DECISIONS = ("elect-leader", "remove-from-isr")
_ROUND_TRIP = MILLISECOND
MOST_REPLICAS = 3

Choice = tuple[Action, tuple[int, ...]]


def replay_of_one_partition(model: Model, invariant: str, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample, and what it comes to; None if no release is like the model, or none meets it so.

    Args:
        model: The model.
        invariant: Name of the invariant that the steps lead to a breach of.
        steps: The counterexample.
    """
    if model.name not in FLAWED or len(model.initial.leader) > MOST_REPLICAS:
        return None
    replicas = len(model.initial.leader)
    flawed, mended = FLAWED[model.name]
    ordered = _in_natural_order(model, invariant, steps)
    if ordered[0].action.name != "elect-leader" or ordered[0].chosen != (0,):
        return None
    version = version_named(flawed)
    asks = version.truncation is not Truncation.HIGH_WATERMARK and not version.truncate_on_fetch
    left_out = LeaveOut(brokers=tuple(range(replicas + 1, MOST_REPLICAS + 1)))
    for by_order in (False, True):
        plan = _Translation(model, ordered, asks, by_order).plan()
        file = PlanFile(scenario=SCENARIO.name, kafka_version=flawed, leave_out=left_out, steps=plan)
        run = play_file(SCENARIO, file, flawed)
        if not run.outcome.is_safe:
            return Replay(file, run, play_file(SCENARIO, file, mended))
    return None


# -- the order of steps


def _in_natural_order(model: Model, invariant: str, steps: Sequence[Taken]) -> list[Taken]:
    """The steps with records written as early and decisions taken as late as they still lead to the breach."""
    holds = next(one.holds for one in model.invariants if one.name == invariant)
    taken = list(steps)
    moved = True
    while moved:
        moved = False
        for place in range(1, len(taken)):
            before, after = taken[place - 1 : place + 1]
            if _rank(after) >= _rank(before):
                continue
            other = [(one.action, one.chosen) for one in taken]
            other[place - 1 : place + 1] = other[place], other[place - 1]
            found = _run(model, other)
            if found is not None and not holds(found[-1].state):
                taken, moved = found, True
    return taken


def _rank(step: Taken) -> int:
    if step.action.name == "write":
        return int(step.chosen[0] == step.state.true_leader[0])
    return 3 if step.action.name in _DECISIONS else 2


def _run(model: Model, choices: Sequence[Choice]) -> list[Taken] | None:
    state, found = model.initial, []
    for action, chosen in choices:
        state = model.layout.copy(state)
        if not action.take(state, *chosen):
            return None
        found.append(Taken(action, chosen, state))
    return found


# -- translation


@dataclass(slots=True)
class _Translation:
    """A counterexample on its way to a plan.

    Args:
        model: Its model.
        steps: Its steps, in the order in which they are played.
        asks: Whether a follower with records asks its leader where to cut its log.
        by_order: Whether every leader is elected as the preferred one, by another order of the replicas.
    """

    model: Model
    steps: Sequence[Taken]
    asks: bool
    by_order: bool
    plan_steps: list[Step] = field(default_factory=list)
    gone: dict[int, int] = field(default_factory=dict)
    """Replicas that have died for good, each with the place of the step by which it did."""

    def plan(self) -> Plan:
        """The plan."""
        preferred = self._preferred()
        if preferred:
            self._add(2 * SECOND, Reassign(PARTITION, self._order(preferred)))
        self._decisions(preferred)
        for replica in range(self._replicas):
            self._hears(replica)
        for place, step in enumerate(self.steps):
            if step.action.name == "write":
                self._writes(place, step)
            if step.action.name == "become-follower":
                self._follows(place, step)
                self._is_waited_for(place, step)
        self._ends()
        return in_order(self.plan_steps)

    @property
    def _replicas(self) -> int:
        return len(self.model.initial.leader)

    def _before(self, place: int) -> PartitionState:
        state: PartitionState = self.steps[place - 1].state if place else self.model.initial
        return state

    def _add(self, time: int, action: AnyAction) -> None:
        self.plan_steps.append(step_at(time, action))

    @property
    def _never(self) -> int:
        return _slot(len(self.steps)) + END

    # -- decisions

    def _preferred(self) -> int:
        elected = [step.chosen[0] for step in self.steps if step.action.name == "elect-leader"]
        return next((leader for leader in elected if leader != elected[0]), elected[0])

    def _order(self, first: int) -> tuple[int, ...]:
        """Brokers in the order in which they are elected, the first one first."""
        others = [replica for replica in range(self._replicas) if replica != first]
        return tuple(map(broker_of, (first, *others)))

    def _decided(self) -> Iterator[tuple[int, int, Taken]]:
        """Place, leader epoch and step of each decision but the first, by which the run begins."""
        decided = [(place, step) for place, step in enumerate(self.steps) if step.action.name in _DECISIONS]
        for epoch, (place, step) in enumerate(decided):
            if epoch:
                yield place, epoch, step

    def _decisions(self, preferred: int) -> None:
        expired = set()
        for place, step in enumerate(self.steps):
            name, time = step.action.name, _slot(place)
            if name == "remove-from-isr" or (name == "shrink-isr" and step.chosen[1] not in expired):
                self._leaves(place, step.chosen[-1])
            elif name == "elect-leader" and place and (self.by_order or step.chosen[0] == preferred):
                if step.chosen[0] != preferred:
                    preferred = step.chosen[0]
                    self._add(time - SLOT // 5, Reassign(PARTITION, self._order(preferred)))
                self._add(time, ElectPreferred(PARTITION))
            elif name == "elect-leader" and place:
                before = self._before(place).true_leader[0]
                expired.add(before)
                self._leaves(place, before)

    def _leaves(self, place: int, replica: int) -> None:
        """Ends a broker's session, and the broker itself if it is not needed any more."""
        time, back = _slot(place), self._back(place, replica)
        self._add(time, ExpireSession(node_of(replica)))
        if back == self._never:
            self._add(time - _JUST_BEFORE, Cut(CONTROLLER, node_of(replica), self._never - time, one_way=True))
        else:
            self._add(time, Crash(node_of(replica)))
        if back == 0:
            self.gone[replica] = place
        elif back < self._never:
            self._add(back, Start(node_of(replica)))

    def _back(self, place: int, replica: int) -> int:
        """Time at which a replica whose session has expired is needed again; 0 if it is not, never if it always is."""
        for later in range(place + 1, len(self.steps)):
            if _hearing(self.steps[later])[0] == replica:
                return _slot(later)
            if replica in _taking_part(self.steps[later]):
                return self._never
        return 0

    # -- hearing

    def _heard(self, replica: int, epoch: int, decided: int) -> tuple[int, bool]:
        """Time at which a replica hears of an epoch, and whether it is by this epoch that it does."""
        followed = False
        for place, step in enumerate(self.steps):
            who, heard = _hearing(step)
            if heard >= epoch and who == replica:
                return _slot(place), heard == epoch
            followed = followed or (step.action.name == "become-follower" and heard == epoch)
        leader = self.steps[-1].state.sent_leader[epoch]
        return (_slot(decided), True) if followed and leader == replica else (self._never, False)

    def _hears(self, replica: int) -> None:
        """Slows what the controller sends to a replica, so that it hears of each epoch at its time."""
        free = 0
        if any(isinstance(step.do, Crash) and step.do.node == node_of(replica) for step in self.plan_steps):
            return
        for decided, epoch, _ in self._decided():
            sent = max(_slot(decided), free)
            heard, itself = self._heard(replica, epoch, decided)
            if heard > sent:
                slow = Slow(CONTROLLER, node_of(replica), heard - sent, _ALL_AT_ONCE, one_way=True)
                self._add(sent - _JUST_BEFORE, slow)
            free = max(heard, sent)
            leader = self.steps[-1].state.sent_leader[epoch]
            if not itself and heard < self._never and leader not in (replica, NO_LEADER):
                self._skips(replica, leader, heard)

    def _skips(self, replica: int, leader: int, time: int) -> None:
        """Lets a replica ask nothing of a leader that it hears of and of the next one at once."""
        cut = Cut(node_of(replica), node_of(leader), SLOT // 2, one_way=True)
        self._add(time - _JUST_BEFORE, cut)

    # -- records

    def _writes(self, place: int, step: Taken) -> None:
        leader = step.chosen[0]
        self._add(_slot(place), Start(f"writer-{step.state.written[0]}"))
        for replica in range(self._replicas):
            if replica != leader and place < self.gone.get(replica, place + 1):
                self._fetches_late(replica, leader, place, At(_slot(place) - _JUST_BEFORE))

    def _follows(self, place: int, step: Taken) -> None:
        """Lets a follower that has cut its log fetch no earlier than in the counterexample."""
        replica = step.chosen[0]
        leader = step.state.leader[replica]
        if log_end(step.state, leader) <= log_end(step.state, replica):
            return
        if place == len(self.steps) - 1 and _lacks_committed(step.state) == NO_LEADER:
            return  # what it makes of the leader's records shows what is wrong
        begin: Trigger = At(_slot(place) + 7 * _ROUND_TRIP // 10)
        if self.asks and log_end(self._before(place), replica):
            begin = When(
                Kind.MESSAGE, node_of(replica), {"source": node_of(leader), "name": "OffsetForLeaderEpoch answer"}
            )
        self._fetches_late(replica, leader, place, begin)

    def _is_waited_for(self, place: int, step: Taken) -> None:
        """Delays the answers to followers that are ahead of a leader that has cut its log, until it has caught up."""
        leader = step.chosen[0]
        for replica in range(self._replicas):
            end = log_end(step.state, replica)
            if step.state.leader[replica] != leader or log_end(step.state, leader) >= end:
                continue
            later = (at for at in range(place, len(self.steps)) if log_end(self.steps[at].state, leader) >= end)
            until = _slot(next(later, len(self.steps))) + SLOT // 5
            slow = Slow(node_of(leader), node_of(replica), until - _slot(place), _ALL_AT_ONCE, one_way=True)
            self._add(_slot(place) - _JUST_BEFORE, slow)

    def _fetches_late(self, replica: int, leader: int, place: int, begin: Trigger) -> None:
        """Delays what a replica fetches from a leader until it does so in a later step; loses it if it never does."""
        for later in range(place + 1, len(self.steps)):
            step = self.steps[later]
            if step.action.name == "fetch" and step.chosen == (replica,) and step.state.leader[replica] == leader:
                slow = Slow(node_of(leader), node_of(replica), _slot(later) - _slot(place), _ALL_AT_ONCE, one_way=True)
                self.plan_steps.append(Step(begin, slow))
                return
        self.plan_steps.append(Step(begin, Cut(node_of(leader), node_of(replica), _ALL_AT_ONCE, one_way=True)))

    # -- the end

    def _ends(self) -> None:
        """Leaves alone a member of the ISR that lacks a committed record, if there is one: it will lead."""
        lacking = _lacks_committed(self.steps[-1].state)
        if lacking != NO_LEADER:
            for replica in range(self._replicas):
                if replica != lacking and replica not in self.gone:
                    self._add(_slot(len(self.steps)), Crash(node_of(replica)))
                    self._add(_slot(len(self.steps)), ExpireSession(node_of(replica)))


def _hearing(step: Taken) -> tuple[int, int]:
    """Replica that hears of a leader epoch, and the epoch; -1 and -1 in other steps."""
    if step.action.name == "become-leader":
        return step.state.sent_leader[step.chosen[0]], step.chosen[0]
    return (step.chosen[0], step.chosen[1]) if step.action.name == "become-follower" else (-1, -1)


def _taking_part(step: Taken) -> tuple[int, ...]:
    """Replicas that have to be there for a step."""
    replica, epoch = _hearing(step)
    if epoch >= 0:
        return replica, step.state.sent_leader[epoch]
    if step.action.name in ("fetch", "truncate"):
        return step.chosen[0], step.state.leader[step.chosen[0]]
    return step.chosen if step.action.name in ("write", "expand-isr", "elect-leader") else step.chosen[:1]


def _lacks_committed(state: PartitionState) -> int:
    for leader in range(len(state.leader)):
        for replica in range(len(state.leader)):
            member = leads(state, leader) and contains(state.true_isr[0], replica)
            if member and not agree(state, leader, replica, state.high_watermark[leader]):
                return replica
    return NO_LEADER


def _slot(place: int) -> int:
    return BEGIN + place * SLOT
