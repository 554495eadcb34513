"""Counterexamples of the models of settings, as plans for the scenario ``power-loss-of-all``.

A log that is lost is a disk that is empty when its broker starts again; no setting keeps it, so such a plan is compared
with itself, the logs kept.

A broker that expires in a counterexample does so in the run by itself, once its session is over; what a broker hears
or fetches it does at once. In the plan is what fails and starts again, a preferred election, and what keeps brokers
apart: a follower that does not fetch a record has no link to the leader, a broker that runs and is fenced none to the
controllers. Records are written at the beginning, when that broker leads with which the counterexample begins. A run
may come to less: its sessions end in the order in which brokers went down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from msgspec.structs import replace as changed

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.explorer.models.settings.actions import kept_of
from kreplica.engine.explorer.models.settings.models import VERSIONS
from kreplica.engine.explorer.models.settings.state import SettingsState, log_end
from kreplica.engine.fault_plan import (
    AnyAction,
    At,
    Crash,
    Cut,
    DiskLoss,
    ElectPreferred,
    PowerLoss,
    Reassign,
    Start,
    Step,
    in_order,
)
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.plans.omissions import without as leaving_out
from kreplica.engine.settings import parse
from kreplica.engine.setup import FIRST_CONTROLLER, MILLISECOND, SECOND
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO
from kreplica.scenarios.playing import Run, play

FLUSH, ACKS, LAG = "flush.messages", "acks", "replica.lag.time.max.ms"
PARTITION = "t-0"
REPLICAS, PRODUCER = 3, "producer"
JUST_BEFORE_WRITES = 900 * MILLISECOND
BEGIN, APART = 10 * SECOND, 2 * SECOND
"""Time of the first step that the plan has, and from one to the next."""
SESSION = 15 * SECOND
"""Time after which the controller has fenced every broker that is down: broker.session.timeout.ms is 9,000."""
LAG_MS = 5_000
"""replica.lag.time.max.ms where a follower leaves the ISR: one without a link has left by the first step of the plan,
one that goes down then has not by the third.
"""
_FAILS = ("crash", "lose-log", "lose-power", "all-lose-power")
_KNOWN = {*_FAILS, "start", "cut-off", "shrink-isr", "elect-preferred"}
_BY_THEMSELVES = {"write", "fetch", "hear", "expire", "unfence"}
FLUSHING = {FLUSH: "1"}
"""The setting that keeps what a loss of power takes."""
ALL_IN_SYNC = {ACKS: "all"}
"""The setting that keeps what the leader alone has acknowledged."""


def power_plan(model: Model, steps: Sequence[Taken]) -> PlanFile | None:
    """The plan of a counterexample; None if no release is like the model, or it has steps that a plan has not.

    Args:
        model: One of the models of settings.
        steps: The counterexample.
    """
    begins = _begins(model, steps)
    if model.name not in ("settings-3.9", "settings-4.1") or begins is None or len(begins.leader) != REPLICAS:
        return None
    names = [step.action.name for step in steps]
    loses_records = "lose-log" in names or any(name.endswith("lose-power") for name in names)
    if set(names) - _KNOWN - _BY_THEMSELVES or not (loses_records or begins.acks_all[0] == 0):
        return None
    translation = _Translation(begins, steps)
    if not translation.writes_first:
        return None
    return PlanFile(
        scenario=SCENARIO.name,
        kafka_version=VERSIONS[model.name].name,
        settings=_settings(begins, names),
        leave_out=LeaveOut(records={PRODUCER: (0, names.count("write"))}),
        steps=translation.plan(),
    )


def mending(file: PlanFile) -> Mapping[str, str] | None:
    """The setting that keeps what a plan loses; None if the plan has it already, or a log is lost whatever is set."""
    if file.settings.get(ACKS) == "1":
        return ALL_IN_SYNC
    return None if FLUSH in file.settings or loses_logs(file) else FLUSHING


def loses_logs(file: PlanFile) -> bool:
    """True if a broker comes back with an empty disk."""
    return any(isinstance(step.do, DiskLoss) for step in file.steps)


def keeping_logs(file: PlanFile) -> PlanFile:
    """The plan with crashes in place of disks that are lost."""
    steps = (Step(step.when, Crash(step.do.node)) if isinstance(step.do, DiskLoss) else step for step in file.steps)
    return changed(file, steps=tuple(steps))


def played_without_power(file: PlanFile, others: Mapping[str, str] | None = None) -> Run:
    """The run of a plan.

    Args:
        file: The plan.
        others: Settings that win over the plan's.
    """
    settings = {name: parse(name, text) for name, text in {**file.settings, **(others or {})}.items()}
    scenario = replace(SCENARIO, setup=leaving_out(SCENARIO.setup, file.leave_out))
    return play(scenario, file.kafka_version, settings, file.seed, file.steps)


def _begins(model: Model, steps: Sequence[Taken]) -> SettingsState | None:
    """The state in which a counterexample begins; None if it is of another model."""
    first, wanted = steps[0], model.layout.key(steps[0].state)
    for state in model.beginnings:
        after = model.layout.copy(state)
        if first.action.take(after, *first.chosen) and model.layout.key(after) == wanted:
            found: SettingsState = state
            return found
    return None


def _settings(begins: SettingsState, names: Sequence[str]) -> dict[str, str]:
    settings = {MIN_ISR: str(begins.min_isr[0]), UNCLEAN: "true" if begins.unclean[0] else "false"}
    if begins.flush_messages[0] <= len(begins.written_in):
        settings[FLUSH] = str(begins.flush_messages[0])
    if begins.acks_all[0] == 0:
        settings[ACKS] = "1"
    if "shrink-isr" in names:
        settings[LAG] = str(LAG_MS)
    return settings


# -- translation


@dataclass(frozen=True, slots=True)
class _Translation:
    """A counterexample on its way to a plan.

    Args:
        begins: The state in which it begins.
        steps: Its steps.
    """

    begins: SettingsState
    steps: Sequence[Taken]

    @property
    def writes_first(self) -> bool:
        """True if the first leader takes every record before anything fails, or another leads."""
        written = [place for place, step in enumerate(self.steps) if step.action.name == "write"]
        return all(
            step.action.name in ("write", "fetch") and (step.action.name == "fetch" or step.chosen == (self.leader,))
            for step in self.steps[: written[-1] + 1]
        )

    @property
    def leader(self) -> int:
        """The replica that leads at first."""
        return self.begins.true_leader[0]

    def plan(self) -> tuple[Step, ...]:
        """The plan."""
        times = self._times()
        apart, fenced = self._kept_apart(times), self._cut_off(times)
        return in_order(sorted([*self._first_leader(), *apart, *fenced, *self._failing(times)], key=_time))

    def _times(self) -> list[int]:
        """The time of each step; what takes place by itself has that of the next one."""
        time, failed, found = BEGIN, BEGIN, []
        for step in self.steps:
            name = step.action.name
            if name == "expire":
                time = max(time, failed + SESSION)
            found.append(time)
            if name == "cut-off":
                time += SESSION
            elif name in _FAILS:
                failed = time
            if name in (*_FAILS, "start", "elect-preferred"):
                time += APART
        return found

    def _first_leader(self) -> Iterator[Step]:
        """Has another than the preferred replica lead before records are written."""
        if self.leader:
            order = (self.leader, *(replica for replica in range(REPLICAS) if replica != self.leader))
            yield _at(200 * MILLISECOND, Reassign(PARTITION, tuple(map(broker_of, order))))
            yield _at(400 * MILLISECOND, ElectPreferred(PARTITION))
            yield _at(600 * MILLISECOND, Reassign(PARTITION, tuple(map(broker_of, range(REPLICAS)))))

    def _kept_apart(self, times: Sequence[int]) -> Iterator[Step]:
        """Keeps those from the first leader that never had all of its records until it fails, or another leads."""
        ends = [place for place, step in enumerate(self.steps) if self._ends_leading(step)]
        last = ends[0] if ends else len(self.steps)
        until = times[last] + SECOND if ends else SCENARIO.setup.duration
        led = [step.state for step in self.steps[:last]]
        for replica in range(REPLICAS):
            if max(log_end(state, replica) for state in led) < log_end(led[-1], self.leader):
                cut = Cut(_node(self.leader), _node(replica), until - JUST_BEFORE_WRITES)
                yield _at(JUST_BEFORE_WRITES, cut)

    def _ends_leading(self, step: Taken) -> bool:
        ends = step.action.name in _FAILS and not (step.state.running[0] >> self.leader) & 1
        return bool(ends or step.state.true_leader[0] != self.leader)

    def _cut_off(self, times: Sequence[int]) -> Iterator[Step]:
        """Keeps a broker that is fenced while it runs from the controllers until it is active again, or goes down."""
        for place, step in enumerate(self.steps):
            if step.action.name != "cut-off":
                continue
            (replica,) = step.chosen
            later = range(place + 1, len(self.steps))
            back = next((at for at in later if _returns(self.steps[at].state, replica)), None)
            until = SCENARIO.setup.duration if back is None else times[back]
            for controller in range(SCENARIO.setup.controllers):
                cut = Cut(_node(replica), f"controller-{FIRST_CONTROLLER + controller}", until - times[place])
                yield _at(times[place], cut)

    def _failing(self, times: Sequence[int]) -> Iterator[Step]:
        for step, time in zip(self.steps, times, strict=True):
            name, chosen = step.action.name, step.chosen
            if name == "crash":
                yield _at(time, Crash(_node(chosen[0])))
            elif name == "lose-log":
                yield _at(time, DiskLoss(_node(chosen[0])))
            elif name == "lose-power":
                yield _at(time, PowerLoss((_node(chosen[0]),), chosen[1]))
            elif name == "all-lose-power":
                kept = [kept_of(chosen[0], replica, len(self.begins.written_in)) for replica in range(REPLICAS)]
                for many, alike in groupby(range(REPLICAS), key=kept.__getitem__):
                    yield _at(time, PowerLoss(tuple(map(_node, alike)), many))
            elif name == "start":
                yield _at(time, Start(_node(chosen[0])))
            elif name == "elect-preferred":
                yield _at(time, ElectPreferred(PARTITION))


def _returns(state: SettingsState, replica: int) -> bool:
    """True if a broker does not run, or the controller counts it as active."""
    return not (state.running[0] >> replica) & 1 or bool((state.active[0] >> replica) & 1)


def _at(time: int, action: AnyAction) -> Step:
    return Step(At(time), action)


def _time(step: Step) -> int:
    return step.when.time if isinstance(step.when, At) else 0


def _node(replica: int) -> str:
    return f"broker-{broker_of(replica)}"
