"""Search that numba compiles: states in words, found again by a table of slots, in the order in which they were found.

Each function here is Python in the subset of numba. ``explore`` and ``refill`` get the functions that they call as
globals, the others by closures: ``build.py`` puts them together for one model.

The table has a slot for every second state or so: 0 if it is free, otherwise 1 + the number of the state whose words
hash to it or to an occupied one before it. States are compared word by word, so no state is taken for another.

States that actions lead to wait in a queue until there are ``BATCH`` of them: so what takes actions works on a few
records alone, and the arrays of the search are not passed through all of it. They are taken in as they came, and not at
all once nothing is left to check, so that a search finds the same states as one without a queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kreplica.engine.explorer.symmetry import Order, ascending

COUNT, HEAD, DEPTH, LEVEL_END, UNBROKEN, OUT_OF_RANGE, QUEUED, FETCHED = range(8)
"""Numbers of the control array: states found; those whose actions were taken; levels begun; the end of the present
level; invariants that hold so far; 1 once a number did not fit its bits; states that wait in the queue; a sum of what
was read ahead, which nobody reads: without it that reading would be compiled away."""

BATCH = 128
"""States that wait until they are taken in together."""

DONE, PAUSED, FULL, CROWDED = range(4)
"""Reasons to return: nothing is left to do; as many states were taken as asked for; the states, or the slots, need
more room."""

UNBROKEN_YET, NOT_ASKED = -1, -2
"""Values of an invariant that no state has broken, and of one that is not checked."""

_MULTIPLIERS = (0x2545F4914F6CDD1D, 0x369DEA0F31A53F85)
_LOW_HALF = 0xFFFFFFFF


class Scratch(NamedTuple):
    """Records that actions are taken on: passed as pointers, so that functions that call each other are cheap.

    Args:
        notes: A record: ``control``, the numbers of the search; ``broken``, the first state that breaks each invariant
            or one of the two values above; ``present``, the words of the state whose actions are taken; ``packed`` and
            ``tried``, the words of a state; ``ranks`` of replicas; ``queue``, the words of the states that wait, one
            after the other, ``queue_parents``, the state that each comes from, ``queue_hashes``, and ``queue_slots``,
            its first slot.
        state: A record with a state's fields, which actions change.
        other: The same, for a state with its replicas exchanged.
    """

    notes: Any
    state: Any
    other: Any


class Store(NamedTuple):
    """Arrays of a search.

    Args:
        words: The words of each state.
        parents: The state that each was first reached from, -1 of those that the model begins in.
        slots: The table.
        scratch: Records that the taking of actions works on.
    """

    words: Any
    parents: Any
    slots: Any
    scratch: Any


def hash_of(words: Any) -> int:
    """The hash of a state, 32 bits."""
    mixed = 0
    for word in words:
        mixed = (mixed ^ word) * _MULTIPLIERS[0]
        mixed ^= (mixed >> 32) & _LOW_HALF
    mixed *= _MULTIPLIERS[1]
    return (mixed >> 32) & _LOW_HALF


def slot_of(hashed: int, slots: int) -> int:
    """The first slot of a state, as far into the table as its hash is into 32 bits."""
    return (hashed * slots) >> 32


def same(words: Any, state: int, packed: Any) -> bool:
    """True if a known state has some words. No row is taken out of the array: numba would count who uses it."""
    for word in range(len(packed)):  # noqa: SIM110 - numba compiles no generator of all()
        if words[state, word] != packed[word]:
            return False
    return True


def bring(words: Any, state: int, packed: Any) -> None:
    """Copies the words of a known state into a record."""
    for word in range(len(packed)):
        packed[word] = words[state, word]


# -- closures over the functions of one model


def less(one: Any, other: Any) -> bool:
    """True if the words of a state come before those of another."""
    for word in range(len(one)):
        if one[word] != other[word]:
            return bool(one[word] < other[word])
    return False


def packs(pack: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what packs the state of the record."""

    def fill(scratch: Any) -> int:
        return int(pack(scratch.state, scratch.notes.packed))

    return fill


def packs_representative(
    orders: tuple[Order, ...],
    places: tuple[Order, ...],
    rank: Callable[..., Any],
    permute: Callable[..., Any],
    pack: Callable[..., Any],
) -> Callable[..., Any]:
    """Builds what packs the state that stands for the one of the record: ``symmetry.representative_of``."""

    def fill(scratch: Any) -> int:
        packed, tried, ranks = scratch.notes.packed, scratch.notes.tried, scratch.notes.ranks
        for replica in range(len(ranks)):
            ranks[replica] = rank(scratch.state, replica)
        over, found = 0, False
        for number in range(len(orders)):
            if not ascending(ranks, orders[number]):
                continue
            permute(scratch.state, orders[number], places[number], scratch.other)
            over |= pack(scratch.other, tried)
            if not found or less(tried, packed):
                for word in range(len(packed)):
                    packed[word] = tried[word]
            found = True
        return over

    return fill


def arrives(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what puts the state of the record into the queue, hashed while its words are at hand."""

    def arrive(scratch: Any, parent: int) -> None:
        notes = scratch.notes
        if fill(scratch) != 0:
            notes.control[OUT_OF_RANGE] = 1
            return
        place, size = notes.control[QUEUED], len(notes.packed)
        notes.control[QUEUED] = place + 1
        for word in range(size):
            notes.queue[place * size + word] = notes.packed[word]
        notes.queue_hashes[place] = hash_of(notes.packed)
        notes.queue_parents[place] = parent

    return arrive


def fetch(notes: Any, words: Any, slots: Any) -> None:
    """Notes the first slot of each state that waits, and reads that slot and the state in it.

    Table and states are larger than a processor's cache: what these readings wait for, they wait for together.
    """
    count, fetched = notes.control[QUEUED], 0
    for place in range(count):
        slot = slot_of(notes.queue_hashes[place], len(slots))
        notes.queue_slots[place] = slot
        fetched += slots[slot]
    for place in range(count):
        held = slots[notes.queue_slots[place]]
        if held != 0:
            fetched += words[held - 1, 0]
    notes.control[FETCHED] = fetched


def takes_in(unpack: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what takes in the states that wait: those that are new are added and checked, until nothing is to check.

    Then it is as if no action of a later state had been taken.
    """

    def take_in(store: Any) -> None:
        notes, words, slots, parents = store.scratch.notes, store.words, store.slots, store.parents
        control, packed, size = notes.control, notes.packed, len(notes.packed)
        fetch(notes, words, slots)
        last = control[HEAD] - 1
        for place in range(control[QUEUED]):
            if control[UNBROKEN] == 0 and notes.queue_parents[place] != last:
                break
            for word in range(size):
                packed[word] = notes.queue[place * size + word]
            slot = notes.queue_slots[place]
            known = slots[slot]
            while known != 0:
                if same(words, known - 1, packed):
                    break
                slot = slot + 1 if slot + 1 < len(slots) else 0
                known = slots[slot]
            if known != 0:
                continue
            new, unbroken = control[COUNT], control[UNBROKEN]
            control[COUNT] = new + 1
            slots[slot] = new + 1
            for word in range(size):
                words[new, word] = packed[word]
            parents[new] = notes.queue_parents[place]
            unpack(packed, store.scratch.state)
            check(store.scratch, new)
            if unbroken > 0 and control[UNBROKEN] == 0:
                last = notes.queue_parents[place]
        control[QUEUED] = 0
        if last != control[HEAD] - 1:
            control[HEAD] = last + 1
            control[OUT_OF_RANGE] = 0

    return take_in


def checks_nothing() -> Callable[..., Any]:
    """The end of the invariants."""

    def check(scratch: Any, new: int) -> None:
        pass

    return check


def checks(place: int, holds: Callable[..., Any], rest: Callable[..., Any]) -> Callable[..., Any]:
    """Builds the check of one invariant, and of those behind it."""

    def check(scratch: Any, new: int) -> None:
        if scratch.notes.broken[place] == UNBROKEN_YET and not holds(scratch.state):
            scratch.notes.broken[place] = new
            scratch.notes.control[UNBROKEN] -= 1
        rest(scratch, new)

    return check


def takes_nothing() -> Callable[..., Any]:
    """The end of the actions."""

    def expand(scratch: Any, parent: int) -> None:
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

    def expand(scratch: Any, parent: int) -> None:
        for first in range(firsts):
            if take(scratch.state, first):
                arrive(scratch, parent)
                unpack(scratch.notes.present, scratch.state)
        rest(scratch, parent)

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

    def expand(scratch: Any, parent: int) -> None:
        for first in range(firsts):
            for second in range(seconds):
                if take(scratch.state, first, second):
                    arrive(scratch, parent)
                    unpack(scratch.notes.present, scratch.state)
        rest(scratch, parent)

    return expand


# -- goals, by the states that lead to them


def finds(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Builds what finds the place of the state of the record among those that are known."""

    def find(store: Any) -> int:
        packed, words, slots = store.scratch.notes.packed, store.words, store.slots
        fill(store.scratch)
        slot = slot_of(hash_of(packed), len(slots))
        while slots[slot] != 0:
            if same(words, slots[slot] - 1, packed):
                return int(slots[slot] - 1)
            slot = slot + 1 if slot + 1 < len(slots) else 0
        store.scratch.notes.control[OUT_OF_RANGE] = 1
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
            if take(store.scratch.state, first):
                if marks[find(store)]:
                    return True
                unpack(store.words[state], store.scratch.state)
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
                if take(store.scratch.state, first, second):
                    if marks[find(store)]:
                        return True
                    unpack(store.words[state], store.scratch.state)
        return bool(rest(store, marks, state))

    return reaches


def mark(store: Any, marks: Any) -> None:
    """Marks each state in which the goal is not reached."""
    for state in range(store.scratch.notes.control[COUNT]):
        unpack(store.words[state], store.scratch.state)  # type: ignore[name-defined] # noqa: F821
        marks[state] = not reached(store.scratch.state)  # type: ignore[name-defined] # noqa: F821


def spread(store: Any, marks: Any) -> bool:
    """Marks states from which one step leads to a marked one, the last first; True if there were any."""
    changed = False
    for state in range(store.scratch.notes.control[COUNT] - 1, -1, -1):
        if not marks[state]:
            unpack(store.words[state], store.scratch.state)  # type: ignore[name-defined] # noqa: F821
            if reaches(store, marks, state):  # type: ignore[name-defined] # noqa: F821
                marks[state] = changed = True
    return changed


# -- what is called from outside


def begin(store: Any) -> None:
    """Takes in a state that the model begins in, which stands in the record."""
    arrive(store.scratch, -1)  # type: ignore[name-defined] # noqa: F821
    take_in(store)  # type: ignore[name-defined] # noqa: F821


def explore(store: Any, most: int, states: int) -> int:
    """Takes every action of up to so many states.

    Args:
        store: The arrays.
        most: The most states that one state can lead to.
        states: How many states.

    Returns:
        Why it returns; no state waits then.
    """
    control, present, slots = store.scratch.notes.control, store.scratch.notes.present, store.slots
    end = control[HEAD] + states
    while True:
        needed = control[COUNT] + control[QUEUED] + most
        full, crowded = needed > len(store.parents), 3 * needed > 2 * len(slots)
        ends = control[HEAD] in (end, control[LEVEL_END], control[COUNT]) or control[OUT_OF_RANGE] != 0
        if control[QUEUED] > 0 and (control[QUEUED] >= BATCH or full or crowded or ends):
            take_in(store)  # type: ignore[name-defined] # noqa: F821
            continue
        head = control[HEAD]
        if head == control[COUNT] or control[UNBROKEN] == 0 or control[OUT_OF_RANGE] != 0:
            return DONE
        if head == end:
            return PAUSED
        if full:
            return FULL
        if crowded:
            return CROWDED
        if head == control[LEVEL_END]:
            control[DEPTH] += 1
            control[LEVEL_END] = control[COUNT]
        bring(store.words, head, present)
        unpack(present, store.scratch.state)  # type: ignore[name-defined] # noqa: F821
        expand(store.scratch, head)  # type: ignore[name-defined] # noqa: F821
        control[HEAD] = head + 1


def refill(store: Any) -> None:
    """Puts every state into a new table."""
    words, slots, packed = store.words, store.slots, store.scratch.notes.packed
    for state in range(store.scratch.notes.control[COUNT]):
        bring(words, state, packed)
        slot = slot_of(hash_of(packed), len(slots))
        while slots[slot] != 0:
            slot = slot + 1 if slot + 1 < len(slots) else 0
        slots[slot] = state + 1
