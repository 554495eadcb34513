"""Playing a scenario: one run, its events and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kreplica.engine.checkers.outcome import Outcome, observe
from kreplica.engine.fault_plan import Plan
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.plans.omissions import without
from kreplica.engine.plans.text import detail_of, name_of
from kreplica.engine.settings import Value, parse
from kreplica.engine.trace import Event, Kind
from kreplica.engine.versions.supported import Version, version_named
from kreplica.errors import UsageError
from kreplica.scenarios.scenario import Case, Difference, Scenario, differences


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario.

    Args:
        scenario: What was played.
        version: Under which version.
        settings: Other settings than the scenario's own.
        seed: Of its chance.
        plan: Of its faults.
        outcome: What came out.
        events: The trace.
        case: What had to come out; None where the scenario does not say.
        differences: Where something else came out.
        missed: Steps of the plan that never came about.
    """

    scenario: Scenario
    version: Version
    settings: Mapping[str, Value]
    seed: int
    plan: Plan
    outcome: Outcome
    events: Sequence[Event] = field(repr=False)
    case: Case | None = None
    differences: tuple[Difference, ...] = ()
    missed: Plan = ()

    @property
    def why(self) -> str:
        """The reason for which the scenario comes out as it does; empty of other faults than its own."""
        return " ".join(self.scenario.why.split()) if self.plan == self.scenario.plan else ""


def play(
    scenario: Scenario,
    version: str | None = None,
    settings: Mapping[str, Value] | None = None,
    seed: int = 0,
    plan: Plan | None = None,
) -> Run:
    """Plays a scenario once.

    Args:
        scenario: Of the library, or your own.
        version: Of Kafka, as ``0.11``; that of the scenario's first case if not given.
        settings: By Kafka's names; they win over the scenario's.
        seed: Same seed, same run.
        plan: Other faults than the scenario's; what then must come out, nobody says.

    Raises:
        UsageError: There is no such version, or it cannot play the scenario.
    """
    asked = scenario.default_version if version is None else version
    rules = version_named(asked)
    if plan is None and not scenario.is_played_under(rules):
        raise UsageError(f"{rules.name} cannot play {scenario.name}", scenario.played_under, "take another version")
    chosen = dict(settings or {})
    faults = scenario.plan if plan is None else plan
    outcome, events = observe(scenario.setup.with_settings(chosen), faults, rules, seed)
    case = scenario.case_for(asked, chosen) if plan is None else None
    found = differences(scenario, case, outcome, events) if case is not None else ()
    never = steps_missed(faults, events)
    return Run(scenario, rules, chosen, seed, faults, outcome, events, case, found, never)


def play_file(
    scenario: Scenario, file: PlanFile, version: str | None = None, others: Mapping[str, str] | None = None
) -> Run:
    """Plays the plan of a file once.

    Args:
        scenario: What it is a plan for.
        file: The plan, with the settings, the seed and what is left out of the scenario.
        version: Another version than the file's.
        others: Settings that win over the file's.

    Raises:
        UsageError: There is no such version or setting.
    """
    settings = {name: parse(name, text) for name, text in {**file.settings, **(others or {})}.items()}
    chosen = replace(scenario, setup=without(scenario.setup, file.leave_out))
    return play(chosen, version or file.kafka_version, settings, file.seed, file.steps)


def steps_missed(plan: Plan, events: Sequence[Event]) -> Plan:
    """The steps that never came about: what they wait for did not happen, or the run was over before."""
    done = Counter(event.values for event in events if event.kind == Kind.FAULT)
    missed = []
    for step in plan:
        told = (name_of(step.do), detail_of(step.do))
        if done[told]:
            done[told] -= 1
        else:
            missed.append(step)
    return tuple(missed)
