"""Proof of a model within bounds: whether its invariants hold, and the shortest way to a state that breaks one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Annotated, Any

from msgspec import Struct

from kreplica.engine.explorer import plain_search
from kreplica.engine.explorer.explored import Explored, Progress, beginning, retraced
from kreplica.engine.explorer.families import Family, ProofBounds, family_of
from kreplica.engine.explorer.layout import OutOfRangeError, State
from kreplica.engine.explorer.model import Goal, Invariant, Model, Property, Taken
from kreplica.engine.explorer.models.one_partition.state import PartitionState, epoch_at, leads, log_end, record_at
from kreplica.engine.explorer.models.one_partition.trace import broker_of, brokers_of, record_name
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.trace import Event
from kreplica.errors import ExitCode, UsageError
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.model.wording.words import counted_in_thousands
from kreplica.system.packages import line_that_adds

DEFAULT_MODEL = "kip-320"
DEFAULT_MEMORY = 2 << 30

PLAIN_STATES = 50_000
"""States that plain Python finds while numba would still compile."""


class ProofStep(Struct, frozen=True):
    """One action of a counterexample, and the state after it."""

    invariant: Annotated[str, Meaning("invariant that the steps lead to a breach of")]
    step: Annotated[Int32, Meaning("0 of the state in which the model begins")]
    action: Annotated[str | None, Meaning("name of the action, null of step 0")]
    what: Annotated[str, Meaning("the action as a sentence")]
    leader: Annotated[Int32 | None, Meaning("leader that the controller has decided on, null if none")]
    leader_epoch: Annotated[Int32 | None, Meaning("its leader epoch, null before the first")]
    isr: Annotated[Sequence[int], Meaning("the ISR, as last written")]
    brokers: Annotated[
        Sequence[Any],
        Meaning(
            "each broker, of the quorum each controller: id, leads (whether it takes itself for the leader), leader,"
            " leader_epoch and isr as it knows them, high_watermark, log (record and leader epoch of each offset; of"
            " the transaction coordinator the producer epoch); of a consumer group each client, its partitions as a log"
        ),
    ]


@dataclass(frozen=True, slots=True)
class Proof:
    """Result of a search for states that break invariants.

    Args:
        model: The model.
        family: The models that it is one of.
        bounds: Its bounds.
        invariants: Those that were checked, and goals.
        found: The states.
        steps: For each broken invariant the actions that lead to the breach.
        seconds: How long it took.
        warnings: Remarks.
    """

    model: Model
    family: Family
    bounds: ProofBounds
    invariants: Sequence[Property]
    found: Explored
    steps: Mapping[str, Sequence[Taken]]
    seconds: float
    warnings: Sequence[str]

    @property
    def holds(self) -> bool | None:
        """True if every invariant holds; None if none was seen broken, but not all states were found."""
        if self.found.broken:
            return False
        return True if self.found.complete else None

    @property
    def exit_code(self) -> ExitCode:
        """1 with a counterexample, 5 without one if not all states were found."""
        codes = {True: ExitCode.OK, False: ExitCode.FINDINGS, None: ExitCode.INCOMPLETE}
        return codes[self.holds]

    @property
    def verdict(self) -> dict[str, object]:
        """The verdict, with the bounds that it holds for."""
        return {
            "model": self.model.name,
            **self.family.limits(self.bounds),
            "symmetry": self.model.symmetry is not None,
            "complete": self.found.complete,
            "distinct": self.found.distinct,
            "depth": self.found.depth,
            "holds": self.holds,
            "seconds": round(self.seconds, 3),
            "invariants": [self._of(invariant) for invariant in self.invariants],
        }

    def _of(self, invariant: Property) -> dict[str, object]:
        states = self.found.broken.get(invariant.name)
        return {
            "name": invariant.name,
            "promise": invariant.promise,
            "holds": False if states is not None else True if self.found.complete else None,
            "counterexample_states": None if states is None else len(states),
        }

    @property
    def rows(self) -> list[ProofStep]:
        """The steps of each counterexample."""
        return [row for name in self.found.broken for row in self._rows_of(name)]

    def _rows_of(self, invariant: str) -> list[ProofStep]:
        seen, told, before = self.family.seen, self.family.told, self.begins(invariant)
        leader = broker_of(seen(before).true_leader[0])
        rows = [_row(invariant, 0, None, self.family.begins.format(leader=leader), seen(before))]
        for number, step in enumerate(self.steps[invariant], 1):
            rows.append(_row(invariant, number, step.action.name, told(before, step), seen(step.state)))
            before = step.state
        return rows

    def events(self, invariant: str) -> list[Event]:
        """A counterexample as a trace, for the diagrams of ``kreplica.report``."""
        return self.family.events_of(self.begins(invariant), self.steps[invariant])

    def begins(self, invariant: str) -> State:
        """The state in which a counterexample begins."""
        return beginning(self.model, self.found.broken[invariant][0])


def whatif_prove(
    model: str = DEFAULT_MODEL,
    bounds: ProofBounds | None = None,
    invariants: Sequence[str] = (),
    *,
    symmetry: bool = False,
    memory: int = DEFAULT_MEMORY,
    report: Callable[[Progress], None] | None = None,
) -> Proof:
    """Explores every schedule of a model within bounds and checks invariants in each state.

    Args:
        model: Name of a model.
        bounds: Its bounds, ``Bounds``, ``AsyncBounds``, ``KraftBounds``, ``SettingsBounds``, ``QuorumBounds``,
            ``ClientBounds``, ``CoordinatorBounds``, ``GroupBounds``, ``MembershipBounds`` or ``AnswersBounds``; None
            for those of the command.
        invariants: Names of invariants and goals, the first invariant of the model if there is none; the search ends
            early once each is broken and no goal is asked.
        symmetry: Whether states that differ only in which replica is which are taken for one.
        memory: Bytes that the states may take.
        report: Called now and then with how far it is.

    Raises:
        UsageError: There is no such model or invariant, the bounds are not of this model or too narrow, or it has no
            symmetry.
    """
    family = family_of(model)
    limits = family.default if bounds is None else bounds
    if not isinstance(limits, type(family.default)):
        raise UsageError(f"the bounds of {model} are {type(family.default).__name__}, not {type(limits).__name__}")
    chosen = family.model_of(model, limits)
    if symmetry:
        chosen = _symmetric(family, chosen, limits)
    asked = [_invariant(chosen, name) for name in dict.fromkeys(invariants)] or list(chosen.invariants[:1])
    begun = time.monotonic()
    try:
        found, warnings = _explored(chosen, asked, memory, report)
    except OutOfRangeError as error:
        raise UsageError(
            f"a state of {model} does not fit within these bounds: {error}", "", family.more_room
        ) from None
    seconds = time.monotonic() - begun
    if found.out_of_memory:
        states = counted_in_thousands(found.distinct, "state")
        warnings.append(f"ended after {states}: the next did not fit into {counted_in_thousands(memory, 'byte')}")
    steps = {name: retraced(chosen, states) for name, states in found.broken.items()}
    return Proof(chosen, family, limits, asked, found, steps, seconds, warnings)


def _symmetric(family: Family, model: Model, bounds: ProofBounds) -> Model:
    if family.symmetry is None:
        fix = f"leave it out; models of one partition, such as {DEFAULT_MODEL}, take it"
        raise UsageError(f"--symmetry is no option of {model.name}", "", fix)
    return replace(model, symmetry=family.symmetry(bounds))


def _invariant(model: Model, name: str) -> Property:
    every: list[Property] = [*model.invariants, *model.goals]
    known = {one.name: one for one in every}
    if name not in known:
        raise UsageError(f"there is no invariant {name!r}", "", nearest_or_known(name, known))
    return known[name]


def _explored(
    model: Model, asked: Sequence[Property], memory: int, report: Callable[[Progress], None] | None
) -> tuple[Explored, list[str]]:
    """Searches in plain Python as long as compiling takes longer, then compiled if there is numba."""
    invariants = [one for one in asked if isinstance(one, Invariant)]
    goals = [one for one in asked if isinstance(one, Goal)]
    if not model.compiles:
        return plain_search.search(model, invariants, memory, report, goals), []
    if find_spec("numba") is None:
        found = plain_search.search(model, invariants, memory, report, goals)
        slow = found.distinct > PLAIN_STATES
        return found, [f"searched without numba, so slowly; faster with: {line_that_adds('prove')}"] if slow else []
    few = min(memory, PLAIN_STATES * plain_search.bytes_a_state(model.layout))
    found = plain_search.search(model, invariants, few, report, goals)
    if not found.out_of_memory or few == memory:
        return found, []
    from kreplica.engine.explorer.compiled import search as compiled_search

    return compiled_search.search(model, invariants, memory, report, goals), []


def _row(invariant: str, number: int, action: str | None, what: str, state: PartitionState) -> ProofStep:
    return ProofStep(
        invariant=invariant,
        step=number,
        action=action,
        what=what,
        leader=_known(broker_of(state.true_leader[0])),
        leader_epoch=_known(state.begun[0] - 1),
        isr=brokers_of(state.true_isr[0]),
        brokers=[_broker(state, replica) for replica in range(len(state.leader))],
    )


def _broker(state: PartitionState, replica: int) -> dict[str, object]:
    return {
        "id": broker_of(replica),
        "leads": leads(state, replica),
        "leader": _known(broker_of(state.leader[replica])),
        "leader_epoch": _known(state.epoch[replica]),
        "isr": list(brokers_of(state.isr[replica])),
        "high_watermark": state.high_watermark[replica],
        "log": [
            {"record": record_name(state, record_at(state, replica, at)), "leader_epoch": epoch_at(state, replica, at)}
            for at in range(log_end(state, replica))
        ],
    }


def _known(number: int) -> int | None:
    return None if number == NO_LEADER else number
