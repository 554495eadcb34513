"""Counterexamples of the models of settings, as plans for the scenario ``power-loss-of-all``.

A broker that expires in a counterexample does so in the run by itself, once its session is over; what a broker hears
or fetches it does at once. In the plan is what fails and starts again, a preferred election, and what keeps brokers
apart: a follower that does not fetch a record has no link to the leader, a broker that runs and is fenced none to the
controllers. Records are written at the beginning, when that broker leads with which the counterexample begins; where
they are written later, the producer starts again then. A run may come to less. A log that is lost is a disk that is
empty when its broker starts again; no setting keeps it, so such a plan is compared with itself, the logs kept.

A second plan of the same holds brokers back. A leader that hears late that it was replaced, and at once that it leads
again, applies nothing of the metadata log meanwhile. A follower of a later leader, too, has no link to it until it
fetches. A broker whose session has to end before that of one which went down earlier loses its link so much sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from msgspec.structs import replace as changed

from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.explorer.models.settings.actions import kept_of
from kreplica.engine.explorer.models.settings.models import RELEASES, VERSIONS
from kreplica.engine.explorer.models.settings.state import SettingsState, log_end
from kreplica.engine.fault_plan import (
    Crash,
    Cut,
    DiskLoss,
    ElectPreferred,
    LateMetadata,
    PowerLoss,
    Reassign,
    Start,
    Step,
    in_order,
)
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import LeaveOut
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.model.settings import MIN_ISR, UNCLEAN
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

FLUSH, ACKS = "flush.messages", "acks"
PARTITION = "t-0"
BEGIN = 10 * SECOND
"""Time of the first step that the plan has."""
RETURN = 10 * SECOND
"""Time until a broker that was fenced while it ran is in sync once its link is back."""
TIME_OUT = 9 * SECOND
"""broker.session.timeout.ms."""
SOONER = 2500 * MILLISECOND
"""Time by which a broker is silent earlier than another, so that its session ends earlier: more than from one heartbeat
to the next (broker.heartbeat.interval.ms).
"""
SHORTLY = 100 * MILLISECOND
_FAILS = ("crash", "lose-log", "lose-power", "all-lose-power")
_KNOWN = {*_FAILS, "start", "cut-off", "shrink-isr", "elect-preferred"}
_BY_THEMSELVES = {"write", "fetch", "hear", "expire", "assign-directory", "unfence"}
FLUSHING = {FLUSH: "1"}
"""The setting that keeps what a loss of power takes."""
ALL_IN_SYNC = {ACKS: "all"}
"""The setting that keeps what the leader alone has acknowledged."""
CLEAN = {UNCLEAN: "false"}
"""The setting that elects nobody who was out of sync."""


def settings_plans(model: Model, steps: Sequence[Taken]) -> list[PlanFile]:
    """Plans of a counterexample, the simplest first; none if no release is like the model, or no plan has such steps.

    Args:
        model: One of the models of settings.
        steps: The counterexample.
    """
    begins = _begins(model, steps)
    if model.name not in RELEASES or begins is None or len(begins.leader) != REPLICAS:
        return []
    names = [step.action.name for step in steps]
    translations = [_Translation(begins, steps, held_back) for held_back in (False, True)]
    if set(names) - _KNOWN - _BY_THEMSELVES or not translations[0].writes_together:
        return []
    return [
        PlanFile(
            scenario=SCENARIO.name,
            kafka_version=VERSIONS[model.name].name,
            settings=_settings(begins, names),
            leave_out=LeaveOut(records={PRODUCER: (0, names.count("write"))}),
            steps=one.plan(),
        )
        for one in translations
    ]


def loses_eligibility(steps: Sequence[Taken]) -> bool:
    """True if a broker with a new disk takes the ELR away as it tells the controller its log directory (up to 4.2)."""
    told = (place for place, step in enumerate(steps) if place and step.action.name == "assign-directory")
    return any(steps[place - 1].state.elr != steps[place].state.elr for place in told)


def mendings(file: PlanFile) -> list[Mapping[str, str]]:
    """Settings of which one may keep what a plan loses, each alone; none where the plan has them all already."""
    found: list[Mapping[str, str]] = []
    if file.settings.get(ACKS) == "1":
        found.append(ALL_IN_SYNC)
    if FLUSH not in file.settings and any(isinstance(step.do, PowerLoss) for step in file.steps):
        found.append(FLUSHING)
    if file.settings[UNCLEAN] == "true":
        found.append(CLEAN)
    return found


def keeping_logs(file: PlanFile) -> PlanFile:
    """The plan with crashes in place of disks that are lost."""
    steps = (Step(step.when, Crash(step.do.node)) if isinstance(step.do, DiskLoss) else step for step in file.steps)
    return changed(file, steps=tuple(steps))


def hearing_at_once(file: PlanFile) -> PlanFile:
    """The plan without what keeps a broker from hearing of a decision in time."""
    return changed(file, steps=tuple(step for step in file.steps if not isinstance(step.do, LateMetadata)))


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


@dataclass(frozen=True, eq=False)
class _Translation:
    """A counterexample on its way to a plan.

    Args:
        begins: The state in which it begins.
        steps: Its steps.
        held_back: Whether brokers hear, fetch and are fenced when the steps have it, not as soon as they can.
    """

    begins: SettingsState
    steps: Sequence[Taken]
    held_back: bool

    @property
    def writes_together(self) -> bool:
        """True if one leader takes every record, and nothing fails between the first one and the last."""
        written = [place for place, step in enumerate(self.steps) if step.action.name == "write"]
        between = self.steps[written[0] : written[-1] + 1]
        one_leader = len({step.chosen for step in between if step.action.name == "write"}) == 1
        return one_leader and all(step.action.name in ("write", "fetch") for step in between)

    @property
    def _writes_late(self) -> int:
        """Place of the first record that is written after something has failed; 0 if all are before."""
        place = next(place for place, step in enumerate(self.steps) if step.action.name == "write")
        return place if any(step.action.name not in _BY_THEMSELVES for step in self.steps[:place]) else 0

    @property
    def leader(self) -> int:
        """The replica that leads at first."""
        return self.begins.true_leader[0]

    def plan(self) -> tuple[Step, ...]:
        """The plan."""
        times = self._times()
        producing = self._writing(times)
        links = [*self._kept_apart(times), *self._of_later_leaders(times), *self._cut_off(times), *self._silent(times)]
        return in_order([*self._first_leader(), *producing, *links, *self._deaf(times), *self._failing(times)])

    def _before(self, place: int) -> SettingsState:
        state: SettingsState = self.steps[place - 1].state if place else self.begins
        return state

    def _elects(self, place: int) -> bool:
        """True if a leader epoch begins by a step."""
        return bool(self.steps[place].state.true_epoch[0] != self._before(place).true_epoch[0])

    def _times(self) -> list[int]:
        """The time of each step; what takes place by itself has that of the next one."""
        begin = BEGIN + (SESSION if any(self._ends_sooner(place) for place in range(len(self.steps))) else 0)
        heard = {last for _, _, last in self._late}
        time, failed, found = begin, begin, []
        for place, step in enumerate(self.steps):
            name = step.action.name
            if name == "expire":
                time = max(time, failed + SESSION)
            time += self._silence_before(place)
            found.append(time)
            sooner = self._ends_sooner(place)
            if name == "cut-off" and not sooner:
                time += SESSION
            elif name in _FAILS:
                failed = time
            moves = sooner or place in heard or place == self._writes_late > 0
            if name in (*_FAILS, "start", "elect-preferred") or moves:
                time += APART
            if self._is_back(place):
                time += RETURN
        return found

    @cached_property
    def _late(self) -> list[tuple[int, int, int]]:
        """Leaders that hear late that they were replaced, and at once that they lead again.

        Returns:
            Replica, place of the first decision that it misses, place where it hears.
        """
        found = list[tuple[int, int, int]]()
        for replica in range(REPLICAS) if self.held_back else ():
            unheard = list[int]()
            for place, step in enumerate(self.steps):
                if (step.action.name, *step.chosen) == ("hear", replica):
                    led = self._before(place).leader[replica] == replica
                    if len(unheard) > 1 and led and step.state.leader[replica] == replica:
                        found.append((replica, unheard[0], place))
                    unheard = []
                elif _is_gone(step.state, replica):
                    unheard = []
                elif self._elects(place):
                    unheard.append(place)
        return found

    def _lasts(self, place: int) -> int:
        """Time until a step that ends a leader's time has taken effect."""
        return SESSION if self.steps[place].action.name == "cut-off" else SECOND

    def _is_back(self, place: int) -> bool:
        """True if a broker is active again that was fenced while it ran."""
        if self.steps[place].action.name != "unfence":
            return False
        (replica,) = self.steps[place].chosen
        whys = (step.action.name for step in self.steps[:place] if step.chosen == (replica,))
        return [why for why in whys if why in ("start", "cut-off")][-1:] == ["cut-off"]

    def _ends_sooner(self, place: int) -> bool:
        """True if a broker that runs is fenced while the session of one that has failed goes on."""
        if not self.held_back or self.steps[place].action.name != "cut-off":
            return False
        before = self._before(place)
        return bool(before.active[0] & ~before.running[0])

    def _outlived_by(self, place: int) -> list[int]:
        """Places at which others went down, no later than a broker did, whose sessions go on past that broker's."""
        if not self.held_back or self.steps[place].action.name != "expire":
            return []
        before, (replica,) = self._before(place), self.steps[place].chosen
        down = before.active[0] & ~before.running[0]
        went = [self._went_down(place, other) for other in range(REPLICAS) if other != replica and (down >> other) & 1]
        return [other for other in went if other <= self._went_down(place, replica)]

    def _silence_before(self, place: int) -> int:
        """Time that has to pass before a broker goes down, in which those whose sessions end before its are silent."""
        outlived = map(self._outlived_by, range(place, len(self.steps)))
        return max((len(others) for others in outlived if place == min(others, default=-1)), default=0) * SOONER

    def _went_down(self, place: int, replica: int) -> int:
        """Last place before another at which a broker went down."""
        return max(at for at in range(place) if (self._before(at).running[0] >> replica) & 1)

    def _deaf(self, times: Sequence[int]) -> Iterator[Step]:
        """Lets brokers hear late of what the controller has decided."""
        for replica, first, last in self._late:
            begin = times[first] - SHORTLY
            yield step_at(begin, LateMetadata(node_of(replica), times[last] - begin))

    def _of_later_leaders(self, times: Sequence[int]) -> Iterator[Step]:
        """Keeps those from a later leader that do not fetch its records while it leads."""
        elected = [place for place in range(len(self.steps)) if self._elects(place)]
        for place, end in zip(elected, [*elected[1:], None], strict=True) if self.held_back else ():
            leader = self.steps[place].state.true_leader[0]
            until = SCENARIO.setup.duration if end is None else times[end] + self._lasts(end)
            if leader != NO_LEADER:
                yield from self._from_leader(leader, self.steps[place:end], times[place] - SHORTLY, until)

    def _from_leader(self, leader: int, term: Sequence[Taken], begin: int, until: int) -> Iterator[Step]:
        """Keeps those from a leader that never have all of its records while it leads."""
        ends = [max((log_end(step.state, replica) for step in term), default=0) for replica in range(REPLICAS)]
        for replica in range(REPLICAS):
            if ends[replica] < ends[leader]:
                yield step_at(begin, Cut(node_of(leader), node_of(replica), until - begin))

    def _first_leader(self) -> Iterator[Step]:
        """Has another than the preferred replica lead before records are written."""
        if self.leader:
            order = (self.leader, *(replica for replica in range(REPLICAS) if replica != self.leader))
            yield step_at(200 * MILLISECOND, Reassign(PARTITION, tuple(map(broker_of, order))))
            yield step_at(400 * MILLISECOND, ElectPreferred(PARTITION))
            yield step_at(600 * MILLISECOND, Reassign(PARTITION, tuple(map(broker_of, range(REPLICAS)))))

    def _kept_apart(self, times: Sequence[int]) -> Iterator[Step]:
        """Keeps those from the first leader that never had all of its records until it fails, or another leads."""
        ends = [place for place, step in enumerate(self.steps) if self._ends_leading(step)]
        last = ends[0] if ends else len(self.steps)
        until = times[last] + SECOND if ends else SCENARIO.setup.duration
        yield from self._from_leader(self.leader, self.steps[:last], JUST_BEFORE_WRITES, until)

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
            sooner = TIME_OUT if self._ends_sooner(place) else 0
            yield from away_from_controllers(replica, times[place] - sooner, until)

    def _silent(self, times: Sequence[int]) -> Iterator[Step]:
        """Keeps a broker from the controllers before it goes down, if its session has to end before others do."""
        for place, step in enumerate(self.steps):
            if others := self._outlived_by(place):
                silent = times[min(others)] - len(others) * SOONER
                yield from away_from_controllers(step.chosen[0], silent, times[place])

    def _writing(self, times: Sequence[int]) -> Iterator[Step]:
        """Has the producer start anew for records that are written late: it goes on where it was."""
        if self._writes_late:
            yield step_at(JUST_BEFORE_WRITES, Crash(PRODUCER))
            yield step_at(times[self._writes_late], Start(PRODUCER))

    def _failing(self, times: Sequence[int]) -> Iterator[Step]:
        for step, time in zip(self.steps, times, strict=True):
            name, chosen = step.action.name, step.chosen
            if name == "crash":
                yield step_at(time, Crash(node_of(chosen[0])))
            elif name == "lose-log":
                yield step_at(time, DiskLoss(node_of(chosen[0])))
            elif name == "lose-power":
                yield step_at(time, PowerLoss((node_of(chosen[0]),), chosen[1]))
            elif name == "all-lose-power":
                kept = [kept_of(chosen[0], replica, len(self.begins.written_in)) for replica in range(REPLICAS)]
                for many, alike in groupby(range(REPLICAS), key=kept.__getitem__):
                    yield step_at(time, PowerLoss(tuple(map(node_of, alike)), many))
            elif name == "start":
                yield step_at(time, Start(node_of(chosen[0])))
            elif name == "elect-preferred":
                yield step_at(time, ElectPreferred(PARTITION))


def _is_gone(state: SettingsState, replica: int) -> bool:
    """True if a broker does not run, or is fenced."""
    return not (state.running[0] >> replica) & 1 or not (state.active[0] >> replica) & 1


def _returns(state: SettingsState, replica: int) -> bool:
    """True if a broker does not run, or the controller counts it as active."""
    return not (state.running[0] >> replica) & 1 or bool((state.active[0] >> replica) & 1)
