"""Explanations of one change of a partition: by the record that opens or closes its operation, or by a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from kreplica.engine.simulator.broker.partition_state import PartitionState as EngineState
from kreplica.engine.simulator.kraft.decisions import Circumstances, directory_assigned
from kreplica.engine.traces.kraft import (
    Brokers,
    Explanation,
    agrees,
    by_broker_back,
    by_broker_leaving,
    by_directory_that_is_not_registered,
    by_requests,
    comparable,
)
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.formats.metadata_log.directories import LOST, MIGRATING, first_directory, is_online
from kreplica.formats.metadata_log.image import BrokerState, PartitionChange, PartitionState
from kreplica.formats.traces.kraft.facts import PartitionFacts, Unwritten, engine_state
from kreplica.formats.traces.kraft.timers import InSync

Candidates = Callable[[EngineState, EngineState, Circumstances], Iterator[Explanation]]


@dataclass(frozen=True, slots=True)
class Step:
    """A change of a partition, with what held before it.

    Args:
        change: The change; both of its states are there.
        facts: What decided besides.
        brokers: The brokers as the controller knew them.
        registered: The same with their directories.
        began: Replicas that its leader began with as caught up; None if that is not known.
    """

    change: PartitionChange
    facts: PartitionFacts
    brokers: Brokers
    registered: dict[int, BrokerState]
    began: InSync | None = None

    @property
    def states(self) -> tuple[EngineState, EngineState]:
        """The partition before and after it, as the engine has it."""
        name = f"{self.change.topic}-{self.change.partition}"
        return engine_state(name, self.before), engine_state(name, self.after)

    @property
    def before(self) -> PartitionState:
        """The partition before it."""
        assert self.change.before is not None, "a step changes a partition"
        return self.change.before

    @property
    def after(self) -> PartitionState:
        """The partition after it."""
        assert self.change.after is not None, "a step changes a partition"
        return self.change.after


@dataclass(frozen=True, slots=True)
class Found:
    """Result of the search for an explanation.

    Args:
        rule: The decision that made the change; None if there is none.
        possible: Settings outside the log under which it does.
        nearest: The decision that comes nearest, where none makes it.
    """

    rule: TraceRule | None
    possible: frozenset[Unwritten]
    nearest: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """A broker that leaves ISRs within one operation.

    Args:
        broker: The broker.
        rule: Why it leaves.
        unclean: Whether it may have lost records; both are tried where the log does not say.
        directories: Only partitions in one of these directories of it; None for all.
    """

    broker: int
    rule: TraceRule
    unclean: tuple[bool, ...] = (False,)
    directories: frozenset[str] | None = None

    def concerns(self, state: PartitionState) -> bool:
        """True if the partition is one of those that it leaves."""
        if self.directories is None:
            return True
        return dict(zip(state.replicas, state.directories, strict=False)).get(self.broker) in self.directories

    def candidates(self, old: EngineState, _seen: EngineState, facts: Circumstances) -> Iterator[Explanation]:
        """The decisions on one partition."""
        return by_broker_leaving(old, self.broker, facts, self.rule, self.unclean)


def back(old: EngineState, _seen: EngineState, facts: Circumstances) -> Iterator[Explanation]:
    """The decisions on one partition when a broker is unfenced."""
    return by_broker_back(old, facts)


def explained(step: Step, possible: frozenset[Unwritten], candidates: Candidates) -> Found:
    """Searches the decisions for one that gives the state that was seen."""
    old, seen = step.states
    allowed: list[Unwritten] = []
    rule, nearest = None, None
    for facts, unwritten in step.facts.circumstances(possible):
        for one in candidates(old, seen, facts):
            if agrees(one.state, seen):
                rule = rule or one.rule
                allowed += unwritten
                break
            if one.state != old and (nearest is None or _distance(one, seen) < _distance(nearest, seen)):
                nearest = one
    return Found(rule, frozenset(allowed), nearest)


def by_any_request(step: Step, possible: frozenset[Unwritten]) -> Found:
    """Searches what brokers, operators and timers ask for at any time, directories included."""
    if _in_other_directories(step):
        assigned = explained(step, possible, partial(by_directory, keeps_elr=step.facts.version.assigned_keep_elr))
        if assigned.rule is not None:
            return assigned

    def candidates(old: EngineState, seen: EngineState, facts: Circumstances) -> Iterator[Explanation]:
        lost = (
            by_broker_leaving(old, broker, facts, TraceRule.directory_failed)
            for broker in old.members(old.isr)
            if directory_lost(step, broker)
        )
        return chain(by_requests(old, seen, facts, step.brokers), *lost)

    return explained(step, possible, candidates)


def by_directory(old: EngineState, _seen: EngineState, facts: Circumstances, keeps_elr: bool) -> Iterator[Explanation]:
    """The decision on one partition when a broker says which directory has its replica.

    The release that wrote a log may be later than its metadata.version says, and keep the ELR.
    """
    for keeps in {keeps_elr, True}:
        yield Explanation(TraceRule.directory_assigned, directory_assigned(old, facts, keeps))


def by_assignment_before(earlier: Step, step: Step, possible: frozenset[Unwritten]) -> Found | None:
    """Searches what goes with a directory that a broker has assigned before it registered it.

    Args:
        earlier: A step of the same operation.
        step: The one to explain.
        possible: Settings outside the log that are possible so far.

    Returns:
        None where the earlier one is no such assignment of the same partition.
    """
    broker = assigner(earlier)
    if broker is None or earlier.states[0].partition != step.states[0].partition or not directory_lost(step, broker):
        return None
    before, _ = earlier.states

    def candidates(now: EngineState, _seen: EngineState, facts: Circumstances) -> Iterator[Explanation]:
        return by_directory_that_is_not_registered(now, before, broker, facts)

    return explained(step, possible, candidates)


def assigner(step: Step) -> int | None:
    """The broker whose replica is in another directory than before; None if there is none."""
    known = _directories(step.before)
    moved = (one for one, directory in _directories(step.after).items() if known.get(one, directory) != directory)
    return next(moved, None)


def _in_other_directories(step: Step) -> bool:
    """True if a replica that stays is in another directory than before."""
    return assigner(step) is not None


def _directories(state: PartitionState) -> dict[int, str]:
    """The directory of each replica."""
    return dict(zip(state.replicas, state.directories or [MIGRATING] * len(state.replicas), strict=False))


def directory_lost(step: Step, broker: int) -> bool:
    """True if a broker has said that its replica is in a directory that is offline."""
    known = step.registered.get(broker)
    directory = dict(zip(step.before.replicas, step.before.directories, strict=False)).get(broker)
    return known is not None and not is_online(known, directory)


def _distance(one: Explanation, seen: EngineState) -> int:
    other = comparable(seen)
    return sum(other[name] != value for name, value in comparable(one.state).items())


def differences(one: Explanation, seen: EngineState) -> str:
    """Differences between a decision and what was seen, as words."""
    other = comparable(seen)
    told = [
        f"{name} {_words(value)}, found {_words(other[name])}"
        for name, value in comparable(one.state).items()
        if other[name] != value
    ]
    return "; ".join(told)


def _words(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def wrong_directories(step: Step, *, assigned: bool, later: Sequence[Step] = ()) -> str | None:
    """The fault in a change's directories, None if there is none: each is kept, or that of a new replica or report.

    A broker may report a directory while its former life is registered, which has none such: it leaves the ISR then.

    Args:
        step: The change.
        assigned: Whether a broker's report made it, which may end a move as well.
        later: The steps after it until the next other record.
    """
    before, after = step.before, step.after
    if not before.directories and not after.directories:
        return None
    old = _directories(before)
    if len(after.directories) != len(after.replicas):
        return f"{len(after.directories)} directories for {len(after.replicas)} replicas"
    expected = [old.get(one) or first_directory(step.registered.get(one)) for one in after.replicas]
    changed = [at for at, (want, found) in enumerate(zip(expected, after.directories, strict=True)) if want != found]
    if not changed:
        return None
    if len(changed) > 1 or (not assigned and list(before.replicas) != list(after.replicas)):
        return f"directories {', '.join(expected)} expected, found {', '.join(after.directories)}"
    broker, directory = after.replicas[changed[0]], after.directories[changed[0]]
    known = step.registered.get(broker)
    if known is None or (directory != LOST and directory not in known.directories):
        leaves = known is not None and assigned and _leaves(broker, step, later)
        return None if leaves else f"broker {broker} has no directory {directory}"
    return None


def _leaves(broker: int, step: Step, later: Sequence[Step]) -> bool:
    """True if a broker is out of the ISR after a step, or after a later one of its partition."""
    name = step.states[1].partition
    isrs = [step.after.isr, *(one.after.isr for one in later if one.states[1].partition == name)]
    return any(broker not in isr for isr in isrs)
