"""Scenarios: a cluster, clients, faults, and the expected outcome by version and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kreplica.engine.checkers.outcome import Outcome, measure
from kreplica.engine.fault_plan import Plan
from kreplica.engine.fuzzing.plans import DEFAULT_PROFILE, Profile
from kreplica.engine.settings import SETTINGS, Value
from kreplica.engine.setup import Setup, scope_of
from kreplica.engine.trace import Event
from kreplica.engine.versions.features import feature_levels, same_level
from kreplica.engine.versions.supported import LATEST, ControllerKind, Version, order_of, version_named

ZOOKEEPER_MODE = (ControllerKind.ZOOKEEPER,)
"""For a case, or a scenario, that is about ZooKeeper mode alone."""

_MODES = {ControllerKind.ZOOKEEPER: "ZooKeeper", ControllerKind.KRAFT: "KRaft"}

Probe = Callable[[Sequence[Event]], object]
"""Measure of a scenario beyond the outcome: a fold over the events of a run."""


@dataclass(frozen=True, slots=True)
class Between:
    """An expected range: a number from ``low`` to ``high``."""

    low: float
    high: float = float("inf")

    def holds(self, value: object) -> bool:
        """True if the value is a number in this range."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"at least {self.low:g}" if self.high == float("inf") else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Case:
    """The expected outcome under one version, with some settings.

    Args:
        version: As ``--kafka-version`` takes it; the case holds for later ones too, up to the next case with the same
            settings.
        expected: By name of a measure (``kreplica.engine.checkers.outcome.measure``) or of a probe: a tuple is exactly
            these values, a number is the value or the number of values, ``Between`` is a range. Measures that are not
            named may have any value.
        settings: As ``--set`` and ``--feature`` give them, over those of the scenario.
        controllers: The modes it holds for. A version that ends in ``-kraft`` says KRaft alone by itself; a case that
            one controller decides names it, so that it is not taken for what the other one does.
    """

    version: str
    expected: Mapping[str, object]
    settings: Mapping[str, Value] = field(default_factory=dict)
    controllers: tuple[ControllerKind, ...] = tuple(ControllerKind)

    def holds_for(self, asked: Version) -> bool:
        """True if the case applies to a version: its own or a later one, in one of the case's modes."""
        return version_named(self.version).number <= asked.number and asked.controller in self.modes

    @property
    def modes(self) -> tuple[ControllerKind, ...]:
        """The modes that it is about."""
        stated = version_named(self.version).controller
        return (stated,) if stated is ControllerKind.KRAFT else self.controllers


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story that the simulator plays.

    Args:
        name: As the command takes it, words joined by hyphens.
        title: One line for the list.
        why: What it teaches: a paragraph for ``kreplica whatif show``.
        source: Where it is from: KIP, issue, book figure, report.
        setup: The cluster and its clients, with their settings.
        plan: Faults and operations.
        cases: Expected outcomes by version and settings; the first is played when no version is asked for.
        probes: Measures of its cases beyond the outcome.
        profile: Random faults that ``--runs`` plays on it.
        notes: Errors of a well-known text about it, corrected.
        since: The first version that has what it is about (0.11: transactions); empty for any.
        controllers: The modes that have it: ZooKeeper sessions end in one only, a quorum is lost in the other.
    """

    name: str
    title: str
    why: str
    source: str
    setup: Setup
    plan: Plan
    cases: tuple[Case, ...]
    probes: Mapping[str, Probe] = field(default_factory=dict)
    profile: Profile = DEFAULT_PROFILE
    notes: str = ""
    since: str = ""
    controllers: tuple[ControllerKind, ...] = tuple(ControllerKind)

    @property
    def default_version(self) -> str:
        """The version it is played under when none is asked for: that of its first case, the latest without any."""
        return self.cases[0].version if self.cases else LATEST.name

    @property
    def played_under(self) -> str:
        """Describes the versions that can play it."""
        modes = "" if len(self.controllers) > 1 else f"{_MODES[self.controllers[0]]} mode only"
        since = f"from {self.since} on" if self.since else ""
        return ", ".join(filter(None, (modes, since))) or "all versions"

    def is_played_under(self, version: Version) -> bool:
        """True if a version can play it."""
        old = bool(self.since) and order_of(version) < order_of(version_named(self.since))
        return version.controller in self.controllers and not old

    def case_for(self, version: str, settings: Mapping[str, Value]) -> Case | None:
        """The case that applies: of the mode, same settings, newest version not above; None if none."""
        asked = version_named(version)
        other = self._other_than_own(_other_levels(asked, settings))
        same = [case for case in self.cases if self._other_than_own(_other_levels(asked, case.settings)) == other]
        below = [case for case in same if case.holds_for(asked)]
        return max(below, key=lambda case: order_of(version_named(case.version))) if below else None

    def _other_than_own(self, settings: Mapping[str, Value]) -> dict[str, Value]:
        return {name: value for name, value in settings.items() if not self._has_already(name, value)}

    def _has_already(self, name: str, value: Value) -> bool:
        """True if the setting already has that value in the scenario, wherever it applies."""
        scope, default = SETTINGS[name].scope, self.setup.settings.get(name)
        holders = (*self.setup.topics, *self.setup.clients)
        found = [one.settings.get(name, default) for one in holders if scope_of(one) is scope] or [default]
        return all(one == value for one in found)


def _other_levels(version: Version, settings: Mapping[str, Value]) -> dict[str, Value]:
    """The settings without levels of features that a new cluster of the version has anyway."""
    levels = feature_levels(version)
    return {name: value for name, value in settings.items() if not same_level(name, value, levels.get(name))}


@dataclass(frozen=True, slots=True)
class Difference:
    """One expectation that did not come true."""

    name: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.name}: expected {_told(self.expected)}, found {_told(self.found)}"


def differences(scenario: Scenario, case: Case, outcome: Outcome, events: Sequence[Event]) -> tuple[Difference, ...]:
    """Compares an outcome with what the case expects.

    Args:
        scenario: Its probes are applied.
        case: The expected outcome.
        outcome: Of the run.
        events: Of the run, for the probes.

    Raises:
        KeyError: The case names neither a measure nor a probe.
    """
    found = {name: _value(scenario, name, outcome, events) for name in case.expected}
    return tuple(
        Difference(name, expected, found[name])
        for name, expected in case.expected.items()
        if not _fits(expected, found[name])
    )


def _value(scenario: Scenario, name: str, outcome: Outcome, events: Sequence[Event]) -> object:
    if name in scenario.probes:
        return scenario.probes[name](events)
    return measure(outcome, name)


def _fits(expected: object, found: object) -> bool:
    counted = len(found) if isinstance(found, tuple) else found
    if isinstance(expected, Between):
        return expected.holds(counted)
    if isinstance(expected, int) and not isinstance(expected, bool):
        return counted == expected
    return found == expected


def _told(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
