"""Every scenario comes out as it says, under every version and with all settings that it names."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kreplica.engine.checkers.causal_slice import Fate, causal_slice, sent_values
from kreplica.engine.simulator.plan_player import PlanPlayer
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Kind, Trace, rule_of
from kreplica.engine.versions.supported import VERSIONS, Version, version_named
from kreplica.errors import UsageError
from kreplica.report.explain import rule_source, rule_summary
from kreplica.report.heading import Heading
from kreplica.report.moments import moments
from kreplica.report.svg.run import run_picture
from kreplica.scenarios import MODULES, Case, Scenario, scenario_named, scenarios
from kreplica.scenarios.playing import Run, play
from tests.support.answers.pictures import unreadable

ALL = scenarios()
CASES = [(scenario, case) for scenario in ALL for case in scenario.cases]


MESSAGES = {Kind.MESSAGE, Kind.DROPPED}
FAULTS = {Kind.FAULT, Kind.STARTED, Kind.STOPPED, Kind.CRASHED, Kind.PAUSED, Kind.RESUMED, Kind.DISK_LOST}
APART = MESSAGES | FAULTS | {Kind.PROCESSED}
"""Events that no rule of Kafka decides: messages, what the plan does to processes, what applications do themselves."""


def check_rules(run: Run) -> None:
    """Nine of ten events name their rule, and each rule names Kafka's class."""
    rules = [rule_of(event) for event in run.events if event.kind not in APART]
    assert sum(map(bool, rules)) >= 0.9 * len(rules)
    for rule in set(rules) - {""}:
        assert rule_summary(rule), f"{rule} is no rule"
        assert rule_source(rule), f"{rule} names no class of Kafka's"


def check_picture(run: Run) -> None:
    """It can be drawn so that it can be read."""
    assert moments(run.events)
    told = run.outcome.histories
    heading = Heading(run.scenario.name, "what came out", "good", run.scenario.why)
    root = ET.fromstring(run_picture(heading, run.events, None, told.lost, told.duplicated))
    assert unreadable(root) == []


def check_fates(run: Run) -> None:
    """A causal slice comes to what the histories of clients say, and ends with events of the record."""
    told = run.outcome.histories
    for fate, values in ((Fate.LOST, told.lost), (Fate.DOUBLED, told.duplicated), (Fate.UNSEEN, told.unseen)):
        for value in values[:2]:
            found = causal_slice(run.events, value)
            assert found.fate is fate, found.conclusion
            assert [cause.number for cause in found.causes] == sorted({cause.number for cause in found.causes})
            assert 2 <= len(found.causes) <= 40
    wrong = {*told.lost, *told.duplicated, *told.unseen}
    for value in [value for value in sent_values(run.events) if value not in wrong][:2]:
        assert causal_slice(run.events, value).fate in (Fate.STANDS, Fate.GONE)


def told(scenario: Scenario, case: Case) -> str:
    settings = "".join(f" {name}={value}" for name, value in case.settings.items())
    return f"{scenario.name} {case.version}{settings}"


def once(scenario: Scenario, case: Case) -> object:
    """On a second Python the first case of a scenario tells that it is played there, but for two that take seconds."""
    first = case is scenario.cases[0] and scenario.name not in ("lag-max-messages", "late-heartbeat")
    return pytest.param(scenario, case, id=told(scenario, case), marks=[] if first else [pytest.mark.one_python])


@pytest.mark.parametrize(("scenario", "case"), [once(*each) for each in CASES])
def test_it_comes_out_as_it_says_can_be_drawn_and_names_its_rules(scenario: Scenario, case: Case) -> None:
    run = play(scenario, case.version, case.settings)
    assert run.case is case, "another case with the same version and settings stands before it"
    assert run.differences == (), f"{told(scenario, case)}: {'; '.join(map(str, run.differences))}"
    if case is scenario.cases[0]:
        check_picture(run)
        check_rules(run)
        check_fates(run)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_it_comes_out_as_it_says_under_every_version(scenario: Scenario) -> None:
    """A case holds for later versions of its modes; those that a case names itself are played above."""
    named = {case.version for case in scenario.cases if not case.settings}
    played = [version for version in VERSIONS if version.name not in named and scenario.is_played_under(version)]
    missing, wrong = [], []
    for version in played:
        run = play(scenario, version.name)
        wrong += [f"{version.name}: {difference}" for difference in run.differences]
        missing += [version.name] if run.case is None and said_before(scenario, version) else []
    assert wrong == []
    assert missing == [], "a mode that is played and of which no case says anything"


def said_before(scenario: Scenario, version: Version) -> bool:
    """Whether a case says, of this version or an earlier one in any mode, what comes out without other settings."""
    own = [version_named(case.version) for case in scenario.cases if scenario.case_for(case.version, {}) is case]
    return any(stated.number <= version.number for stated in own)


def test_the_same_seed_gives_the_same_run() -> None:
    """One of each: ZooKeeper, KRaft, transactions, groups of both protocols."""
    for name, version in (("isr-flap", "0.9"), ("elr-overrun", "4.1"), ("zombie-transaction", "4.0")):
        scenario = scenario_named(name)
        first, again = play(scenario, version, seed=7), play(scenario, version, seed=7)
        assert first.outcome.trace_hash == again.outcome.trace_hash, name
    groups = scenario_named("consumer-dup-on-rebalance")
    for protocol in ("classic", "consumer"):
        first, again = (play(groups, "4.1", {"group.protocol": protocol}, seed=7) for _ in range(2))
        assert first.outcome.trace_hash == again.outcome.trace_hash, protocol


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_it_says_what_a_reader_needs(scenario: Scenario) -> None:
    assert scenario.name in MODULES
    assert scenario.title
    assert len(scenario.title) <= 100
    assert scenario.why
    assert scenario.source
    assert scenario.cases
    for case in scenario.cases:
        assert case.expected
        version_named(case.version)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_it_says_which_versions_can_play_it(scenario: Scenario) -> None:
    """Every other version refuses its cluster or its plan before anything is played."""
    assert all(scenario.is_played_under(version_named(case.version)) for case in scenario.cases)
    for version in VERSIONS:
        assert is_accepted(scenario, version) is scenario.is_played_under(version), version.name


def is_accepted(scenario: Scenario, version: Version) -> bool:
    try:
        PlanPlayer(build(scenario.setup, version, 0, Trace(keep=False)), scenario.plan).arm()
    except UsageError:
        return False
    return True


def test_a_version_that_cannot_play_it_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match=r"4\.1 cannot play unfenced-fetch; ZooKeeper mode only"):
        play(scenario_named("unfenced-fetch"), "4.1")
