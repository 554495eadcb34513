"""Search that numba compiles: states in words, found again by a table of slots, in the order in which they were found.

Each function here is Python in the subset of numba. ``explore`` and ``refill`` get the functions that they call as
globals, the others by closures: ``build.py`` puts them together for one model.

The table has a slot for every second state or so: 0 if it is free, otherwise 1 + the number of the state whose words
hash to it or to an occupied one before it. States are compared word by word, so no state is taken for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kreplica.engine.explorer.symmetry import Order, ascending

COUNT, HEAD, DEPTH, LEVEL_END, UNBROKEN, OUT_OF_RANGE = range(6)
"""Numbers of the control array: states found; those whose actions were taken; levels begun; the end of the present
level; invariants that hold so far; 1 once a number did not fit its bits."""

DONE, PAUSED, FULL, CROWDED = range(4)
"""Reasons to return: nothing is left to do; as many states were taken as asked for; the states, or the slots, need
more room."""

UNBROKEN_YET, NOT_ASKED = -1, -2
"""Values of an invariant that no state has broken, and of one that is not checked."""

_MULTIPLIERS = (0x2545F4914F6CDD1D, 0x369DEA0F31A53F85)
_LOW_HALF = 0xFFFFFFFF


class Store(NamedTuple):
    """Arrays of a search.

    Args:
        words: The words of each state.
        parents: The state that each was first reached from, -1 of those that the model begins in.
        slots: The table.
        notes: A record: ``control``, the numbers of the search; ``broken``, the first state that breaks each invariant
            or one of the two values above; ``packed`` and ``tried``, the words of a state; ``ranks`` of replicas.
        state: A record with a state's fields, which actions change. Records are passed as one pointer, so that what
            takes a state compiles fast.
        other: The same, for a state with its replicas exchanged.
    """

    words: Any
    parents: Any
    slots: Any
    notes: Any
    state: Any
    other: Any


def slot_of(words: Any, slots: int) -> int:
    """The first slot of a state, as far into the table as the upper half of its hash is into 32 bits."""
    mixed = 0
    for word in words:
        mixed = (mixed ^ word) * _MULTIPLIERS[0]
        mixed ^= (mixed >> 32) & _LOW_HALF
    mixed *= _MULTIPLIERS[1]
    return (((mixed >> 32) & _LOW_HALF) * slots) >> 32


def same(one: Any, other: Any) -> bool:
    """True if two states have the same words."""
    for word in range(len(one)):  # noqa: SIM110 - numba compiles no generator of all()
        if one[word] != other[word]:
            return False
    return True


# -- closures over the functions of one model


def less(one: Any, other: Any) -> bool:
    """True if the words of a state come before those of another."""
    for word in range(len(one)):
        if one[word] != other[word]:
            return bool(one[word] < other[word])
    return False


def packs(pack: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what packs the state of the record."""

    def fill(store: Any) -> int:
        return int(pack(store.state, store.notes.packed))

    return fill


def packs_representative(
    orders: tuple[Order, ...],
    places: tuple[Order, ...],
    rank: Callable[..., Any],
    permute: Callable[..., Any],
    pack: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds what packs the state that stands for the one of the record: ``symmetry.representative_of``."""

    def fill(store: Any) -> int:
        packed, tried, ranks = store.notes.packed, store.notes.tried, store.notes.ranks
        for replica in range(len(ranks)):
            ranks[replica] = rank(store.state, replica)
        over, found = 0, False
        for number in range(len(orders)):
            if not ascending(ranks, orders[number]):
                continue
            permute(store.state, orders[number], places[number], store.other)
            over |= pack(store.other, tried)
            if not found or less(tried, packed):
                for word in range(len(packed)):
                    packed[word] = tried[word]
            found = True
        return over

    return fill


def arrives(fill: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what takes in the state of the record: packs it, looks it up and adds it if it is new."""

    def arrive(store: Any, parent: int) -> None:
        packed, words, slots, control = store.notes.packed, store.words, store.slots, store.notes.control
        if fill(store) != 0:
            control[OUT_OF_RANGE] = 1
            return
        slot = slot_of(packed, len(slots))
        while slots[slot] != 0:
            if same(words[slots[slot] - 1], packed):
                return
            slot = slot + 1 if slot + 1 < len(slots) else 0
        new = control[COUNT]
        control[COUNT] = new + 1
        slots[slot] = new + 1
        for word in range(len(packed)):
            words[new, word] = packed[word]
        store.parents[new] = parent
        check(store, new)

    return arrive


def checks_nothing() -> Callable[..., Any]:
    """The end of the invariants."""

    def check(store: Any, new: int) -> None:
        pass

    return check


def checks(place: int, holds: Callable[..., Any], rest: Callable[..., Any]) -> Callable[..., Any]:
    """Builds the check of one invariant, and of those behind it."""

    def check(store: Any, new: int) -> None:
        if store.notes.broken[place] == UNBROKEN_YET and not holds(store.state):
            store.notes.broken[place] = new
            store.notes.control[UNBROKEN] -= 1
        rest(store, new)

    return check


def takes_nothing() -> Callable[..., Any]:
    """The end of the actions."""

    def expand(store: Any, parent: int) -> None:
        pass

    return expand


def takes_one(
    take: Callable[..., Any],
    firsts: int,
    arrive: Callable[..., Any],
    unpack: Callable[..., Any],
    rest: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds the taking of an action with one choice, and of those behind it."""

    def expand(store: Any, parent: int) -> None:
        for first in range(firsts):
            if take(store.state, first):
                arrive(store, parent)
                unpack(store.words[parent], store.state)
        rest(store, parent)

    return expand


def takes_two(
    take: Callable[..., Any],
    choices: tuple[int, int],
    arrive: Callable[..., Any],
    unpack: Callable[..., Any],
    rest: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds the taking of an action with two choices, and of those behind it."""

    firsts, seconds = choices

    def expand(store: Any, parent: int) -> None:
        for first in range(firsts):
            for second in range(seconds):
                if take(store.state, first, second):
                    arrive(store, parent)
                    unpack(store.words[parent], store.state)
        rest(store, parent)

    return expand


# -- goals, by the states that lead to them


def finds(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what finds the place of the state of the record among those that are known."""

    def find(store: Any) -> int:
        packed, words, slots = store.notes.packed, store.words, store.slots
        fill(store)
        slot = slot_of(packed, len(slots))
        while slots[slot] != 0:
            if same(words[slots[slot] - 1], packed):
                return int(slots[slot] - 1)
            slot = slot + 1 if slot + 1 < len(slots) else 0
        store.notes.control[OUT_OF_RANGE] = 1
        return 0

    return find


def reaches_nothing() -> Callable[..., Any]:
    """The end of the actions."""

    def reaches(_store: Any, _marks: Any, _state: int) -> bool:
        return False

    return reaches


def reaches_by_one(
    take: Callable[..., Any],
    firsts: int,
    find: Callable[..., Any],
    unpack: Callable[..., Any],
    rest: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds what tells if an action with one choice, or one behind it, leads to a marked state."""

    def reaches(store: Any, marks: Any, state: int) -> bool:
        for first in range(firsts):
            if take(store.state, first):
                if marks[find(store)]:
                    return True
                unpack(store.words[state], store.state)
        return bool(rest(store, marks, state))

    return reaches


def reaches_by_two(
    take: Callable[..., Any],
    choices: tuple[int, int],
    find: Callable[..., Any],
    unpack: Callable[..., Any],
    rest: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds what tells if an action with two choices, or one behind it, leads to a marked state."""

    firsts, seconds = choices

    def reaches(store: Any, marks: Any, state: int) -> bool:
        for first in range(firsts):
            for second in range(seconds):
                if take(store.state, first, second):
                    if marks[find(store)]:
                        return True
                    unpack(store.words[state], store.state)
        return bool(rest(store, marks, state))

    return reaches


def mark(store: Any, marks: Any) -> None:
    """Marks each state in which the goal is not reached."""
    for state in range(store.notes.control[COUNT]):
        unpack(store.words[state], store.state)  # type: ignore[name-defined] # noqa: F821
        marks[state] = not reached(store.state)  # type: ignore[name-defined] # noqa: F821


def spread(store: Any, marks: Any) -> bool:
    """Marks states from which one step leads to a marked one, the last first; True if there were any."""
    changed = False
    for state in range(store.notes.control[COUNT] - 1, -1, -1):
        if not marks[state]:
            unpack(store.words[state], store.state)  # type: ignore[name-defined] # noqa: F821
            if reaches(store, marks, state):  # type: ignore[name-defined] # noqa: F821
                marks[state] = changed = True
    return changed


# -- what is called from outside


def begin(store: Any) -> None:
    """Takes in a state that the model begins in, which stands in the record."""
    arrive(store, -1)  # type: ignore[name-defined] # noqa: F821


def explore(store: Any, most: int, states: int) -> int:
    """Takes every action of up to so many states.

    Args:
        store: The arrays.
        most: The most states that one state can lead to.
        states: How many states.

    Returns:
        Why it returns.
    """
    control, slots = store.notes.control, store.slots
    end = control[HEAD] + states
    while control[HEAD] < control[COUNT] and control[UNBROKEN] > 0 and control[OUT_OF_RANGE] == 0:
        head = control[HEAD]
        if head == end:
            return PAUSED
        if control[COUNT] + most > len(store.parents):
            return FULL
        if 3 * (control[COUNT] + most) > 2 * len(slots):
            return CROWDED
        if head == control[LEVEL_END]:
            control[DEPTH] += 1
            control[LEVEL_END] = control[COUNT]
        unpack(store.words[head], store.state)  # type: ignore[name-defined] # noqa: F821
        expand(store, head)  # type: ignore[name-defined] # noqa: F821
        control[HEAD] = head + 1
    return DONE


def refill(store: Any) -> None:
    """Puts every state into a new table."""
    words, slots = store.words, store.slots
    for state in range(store.notes.control[COUNT]):
        slot = slot_of(words[state], len(slots))
        while slots[slot] != 0:
            slot = slot + 1 if slot + 1 < len(slots) else 0
        slots[slot] = state + 1
