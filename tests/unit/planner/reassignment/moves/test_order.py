"""The order of moves: replayed, limits hold at every moment; nothing that could begin is left waiting."""

from __future__ import annotations

import random
import time

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.reassignment.moves.order import GIB, MoveLimits, MoveWindow, Place, QueuedMove, schedule


@st.composite
def queues(draw: st.DrawFn) -> list[QueuedMove]:
    count = draw(st.integers(0, 25))
    moves = []
    for number in range(count):
        brokers = draw(st.permutations(range(5)))
        places = tuple((broker, "") for broker in brokers[1 : 1 + draw(st.integers(0, 2))])
        freed = ((brokers[4], ""),) if draw(st.booleans()) else ()
        moves.append(QueuedMove(("t", number), draw(st.integers(1, 30)), brokers[0], places, freed))
    return moves


LIMITS = st.builds(
    MoveLimits,
    bytes_per_broker=st.one_of(st.none(), st.integers(1, 40)),
    moves_per_broker=st.integers(1, 4),
    moves=st.integers(1, 6),
)
ROOM = st.dictionaries(st.tuples(st.integers(0, 4), st.just("")), st.integers(0, 120))


def keeps(in_flight: list[QueuedMove], limits: MoveLimits) -> bool:
    """The limits, stated by sums; a move above the limit of bytes goes alone."""
    if len(in_flight) > limits.moves:
        return False
    for broker in range(5):
        taking_part = [one for one in in_flight if one.places and broker in (one.source, *(p for p, _ in one.places))]
        sends = [one.size * len(one.places) for one in in_flight if one.source == broker and one.places and one.size]
        receives = [one.size for one in in_flight for place, _ in one.places if place == broker and one.size]
        if len(taking_part) > limits.moves_per_broker:
            return False
        most = limits.bytes_per_broker
        if most is not None and any(len(some) > 1 and sum(some) > most for some in (sends, receives)):
            return False
    return True


@given(queues(), LIMITS, ROOM, st.randoms(use_true_random=False))
@examples(1)
def test_limits_hold_at_every_moment_and_nothing_waits_that_could_begin(
    moves: list[QueuedMove], limits: MoveLimits, room: dict[Place, int], chance: random.Random
) -> None:
    window, in_flight, left = MoveWindow(limits, room), [], list(moves)
    free = dict(room)
    for move in moves:
        window.add(move)
    while True:
        for move in window.next_moves():
            in_flight.append(move)
            left.remove(move)
            free |= {place: free[place] - move.size for place in move.places if place in free}
        assert keeps(in_flight, limits)
        assert min(free.values(), default=0) >= 0, "a disk would be full"
        for place, move in enumerate(left):
            fits = all(free.get(place, move.size) >= move.size for place in move.places)
            if fits and not any(set(move.brokers) & set(earlier.brokers) for earlier in left[:place]):
                assert not keeps([*in_flight, move], limits), f"{move} could begin"
        if not in_flight:
            break
        ended = in_flight.pop(chance.randrange(len(in_flight)))
        window.end(ended.key)
        free |= {place: free[place] + ended.size for place in ended.freed if place in free}
    assert [move for move, _ in window.waiting()] == left
    for move in left:
        assert any(free.get(place, move.size) < move.size for place in move.places), "only disks keep one for ever"


@given(queues(), LIMITS, ROOM)
@examples(1)
def test_a_schedule_has_every_move_once(moves: list[QueuedMove], limits: MoveLimits, room: dict[Place, int]) -> None:
    found = schedule(moves, limits, room)
    assert sorted([*found.moves, *(move for move, _ in found.impossible)], key=str) == sorted(moves, key=str)
    assert found == schedule(moves, limits, room), "the same moves give the same order"


def test_a_move_above_the_limit_goes_alone() -> None:
    moves = [QueuedMove(("t", n), size, 1, ((2, ""),)) for n, size in enumerate((5, 100, 5))]
    found = schedule(moves, MoveLimits(bytes_per_broker=10))
    assert [(one.key[1], after) for one, after in zip(found.moves, found.rounds, strict=True)] == [
        (0, 0),
        (2, 0),
        (1, 2),
    ]


def test_a_move_waits_for_the_disk_that_another_frees() -> None:
    full = QueuedMove(("t", 0), 10, 1, ((2, ""),))
    frees = QueuedMove(("t", 1), 10, 2, ((3, ""),), ((2, ""),))
    found = schedule([full, frees], room={(2, ""): 4, (3, ""): 100})
    assert [one.key[1] for one in found.moves] == [1, 0]
    alone = schedule([full], room={(2, ""): 4})
    assert [why for _, why in alone.impossible] == ["it waits for room on the disk of broker 2, which nothing frees"]


def test_a_move_taken_back_gives_its_room_back() -> None:
    window = MoveWindow(room={(2, ""): 10})
    first, second = (QueuedMove(("t", number), 10, 1, ((2, ""),)) for number in (0, 1))
    window.add(first)
    window.add(second)
    assert window.next_moves() == [first]
    window.end(first.key, made=False)
    assert window.next_moves() == [second]


def within(number: int, source: str, destination: str, size: int = 10) -> QueuedMove:
    """A replica of broker 1 that changes its log directory."""
    return QueuedMove(("t", number, 1), size, None, ((1, destination),), ((1, source),))


def test_a_directory_is_left_and_entered_by_as_many_as_it_may() -> None:
    """Where replicas come from counts as where they go to, and a move of another partition to it does not."""
    window = MoveWindow(MoveLimits(moves_per_directory=1))
    leaves, leaves_too, enters, apart = (
        within(number, *paths) for number, paths in enumerate((("/a", "/b"), ("/a", "/c"), ("/d", "/b"), ("/e", "/f")))
    )
    arrives = QueuedMove(("t", 9), 10, 2, ((1, "/a"),))
    for move in (leaves, leaves_too, enters, apart, arrives):
        window.add(move)
    assert window.next_moves() == [leaves, apart, arrives]
    told = {move.key: why for move, why in window.waiting()}
    assert told[leaves_too.key] == "other moves of log directory /a of broker 1"
    assert told[enters.key] == "other moves of log directory /b of broker 1"
    window.end(leaves.key)
    assert window.next_moves() == [leaves_too, enters]


def test_bytes_between_directories_are_bounded_and_a_larger_one_goes_alone() -> None:
    window = MoveWindow(MoveLimits(moves_per_directory=9, bytes_per_directory=25))
    moves = [within(number, "/a", "/b", size) for number, size in enumerate((10, 15, 10, 30))]
    for move in moves:
        window.add(move)
    begun = []
    while found := window.next_moves():
        begun.append([move.size for move in found])
        for move in found:
            window.end(move.key)
    assert begun == [[10, 15], [10], [30]]


@pytest.mark.one_python
def test_sixty_thousand_moves_take_less_than_ten_seconds() -> None:
    chance = random.Random(1)
    moves = []
    for number in range(60_000):
        source, to, gone = chance.sample(range(1000), 3)
        size = chance.randrange(20 * GIB)
        moves.append(QueuedMove((f"t{number % 600}", number), size, source, ((to, ""),), ((gone, ""),)))
    began = time.process_time()
    found = schedule(moves, room={(broker, ""): 1 << 50 for broker in range(1000)})
    assert len(found.moves) == 60_000
    assert time.process_time() - began < 10
