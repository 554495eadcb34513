"""Symmetry: states that differ only in which replica is which are taken for one.

Of the states that an exchange of replicas makes of each other, one stands for all: the one whose words are the least
among those that have their replicas in ascending order of ``rank``. A rank is what can be told of a replica without
naming another, so exchanging replicas exchanges their ranks; only replicas of equal rank are tried both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from types import FunctionType

from kreplica.engine.explorer.layout import Field, Layout, State
from kreplica.engine.explorer.packing import BITS_A_WORD, generated, pack_source, words_of
from kreplica.engine.rules.replication.replica_set import NO_LEADER

Order = tuple[int, ...]
"""For each replica of the new state the one that it was before."""


@dataclass(frozen=True)
class Symmetry:
    """Replicas that may be exchanged for each other, and the fields that tell of them.

    Args:
        replicas: How many there are.
        each: Fields with so many numbers of each replica, those of one after those of another.
        leaders: Fields whose numbers are replicas, or ``NO_LEADER``.
        sets: Fields whose numbers are sets of replicas.
    """

    replicas: int
    each: tuple[str, ...]
    leaders: tuple[str, ...]
    sets: tuple[str, ...]

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """Every order of the replicas."""
        return tuple(permutations(range(self.replicas)))

    @cached_property
    def places(self) -> tuple[Order, ...]:
        """For each order the place of each replica in it; ``NO_LEADER``, which is -1, finds itself at the end."""
        assert NO_LEADER == -1
        return tuple((*(order.index(replica) for replica in range(self.replicas)), NO_LEADER) for order in self.orders)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Generated functions of one layout and symmetry, in the subset of Python that numba compiles.

    Args:
        rank: Rank of a replica: state, replica.
        permute: Fills another state: state, order, places, other state.
        pack: Packs a state into words.
    """

    rank: FunctionType
    permute: FunctionType
    pack: FunctionType


def exchange_of(layout: Layout, symmetry: Symmetry) -> Exchange:
    """The functions of a layout."""
    rank, permute = rank_source(layout, symmetry), permute_source(layout, symmetry)
    return Exchange(generated(rank), generated(permute), generated(pack_source(layout)))


def permute_source(layout: Layout, symmetry: Symmetry) -> str:
    """Source of ``permute(state, order, places, other)``."""
    lines = ["def permute(state, order, places, other):"]
    for name, field in layout.fields.items():
        of_one = field.count // symmetry.replicas
        for at in range(field.count):
            source = f"state.{name}[{at}]"
            if name in symmetry.each:
                replica, rest = divmod(at, of_one)
                source = f"state.{name}[order[{replica}] * {of_one} + {rest}]"
            if name in symmetry.leaders:
                source = f"places[{source}]"
            if name in symmetry.sets:
                bits = [f"((({source}) >> order[{replica}]) & 1) << {replica}" for replica in range(symmetry.replicas)]
                source = " | ".join(f"({bit})" for bit in bits)
            lines.append(f"    other.{name}[{at}] = {source}")
    return "\n".join([*lines, ""])


def rank_source(layout: Layout, symmetry: Symmetry) -> str:
    """Source of ``rank(state, replica)``: as much as a word holds of what is told of a replica."""
    parts: list[str] = []
    shift = 0
    for name, field in layout.fields.items():
        for told, width in _told(name, field, symmetry):
            if shift + width <= BITS_A_WORD:
                parts.append(f"(({told}) << {shift})")
                shift += width
    return f"def rank(state, replica):\n    return {' | '.join(parts) or 0}\n"


def _told(name: str, field: Field, symmetry: Symmetry) -> list[tuple[str, int]]:
    """Expressions for what a field tells of one replica without naming another, each with its bits."""
    names = name in symmetry.leaders or name in symmetry.sets
    own = name in symmetry.each
    if not (own or names):
        return []
    of_one = field.count // symmetry.replicas if own else field.count
    first = f"replica * {of_one} + " if own else ""
    numbers = [f"state.{name}[{first}{at}]" for at in range(of_one)]
    if name in symmetry.leaders:
        return [(f"int({number} == replica)", 1) for number in numbers]
    if name in symmetry.sets:
        return [(f"({number} >> replica) & 1", 1) for number in numbers]
    return [(f"{number} - {field.least}", field.width) for number in numbers]


def ascending(ranks: Sequence[int], order: Order) -> bool:
    """True if an order puts no replica before one of a lower rank."""
    for place in range(1, len(order)):  # noqa: SIM110 - numba compiles no generator of all()
        if ranks[order[place]] < ranks[order[place - 1]]:
            return False
    return True


def representative_of(layout: Layout, symmetry: Symmetry) -> Callable[[State], State]:
    """Builds what finds the state that stands for a state."""
    exchange = exchange_of(layout, symmetry)
    words = [0] * words_of(layout)

    def representative(state: State) -> State:
        ranks = [exchange.rank(state, replica) for replica in range(symmetry.replicas)]
        least, found = None, state
        for order, places in zip(symmetry.orders, symmetry.places, strict=True):
            if not ascending(ranks, order):
                continue
            other = layout.copy(state)
            exchange.permute(state, order, places, other)
            exchange.pack(other, words)
            if least is None or words < least:
                least, found = list(words), other
        return found

    return representative
