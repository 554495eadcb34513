"""The fewest waves in which nodes can be restarted, when some of them may not be down together.

A wave is a set of nodes that restart at the same time. A limit says how many of a set may be in one wave: with
min.insync.replicas 2 of 3 replicas in sync it is one of the three, with min.insync.replicas 1 it is two. Limits of one
make a graph, whose colouring with the fewest colours is wanted; the others make it a hypergraph. Either is NP-hard, so
a plan is found by a rule of thumb and held against lower bounds; where a gap is left, a search that is bounded by its
steps tries to close it from below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

MOST_STEPS = 2_000_000
"""Checks of whether a node can join a wave before the exact search gives up: some seconds."""

MOST_SEARCHED = 300
"""Most nodes for which the exact search is tried."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` of these nodes may be in one wave.

    Args:
        nodes: Indices into the problem's list of nodes, as a bitmask.
        most: Largest number of them in one wave; at least one.
    """

    nodes: int
    most: int


@dataclass(frozen=True, slots=True)
class WaveProblem:
    """Nodes and what keeps them apart.

    Args:
        nodes: Ids; limits name them by their index here.
        limits: Which of them may not be down together.
        most_in_wave: Most nodes in one wave, None for any number.
    """

    nodes: tuple[int, ...]
    limits: tuple[Limit, ...]
    most_in_wave: int | None = None


class BoundKind(StrEnum):
    """Reasons why there cannot be fewer waves."""

    NOTHING = "nothing"
    CLIQUE = "clique"
    LIMIT = "limit"
    MOST_IN_WAVE = "most-in-wave"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class Bound:
    """Lower bound of the number of waves.

    Args:
        waves: The number.
        kind: Why: nodes of which no two may be down together, one limit alone, the size of waves, or a search through
            all plans with one wave less.
        nodes: The nodes that show it, where there are such.
    """

    waves: int
    kind: BoundKind
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Waves of node ids, and how few there can be.

    Args:
        waves: Each wave's nodes, in order of ids; every node is in one wave.
        bound: Lower bound of the number of waves.
    """

    waves: tuple[tuple[int, ...], ...]
    bound: Bound

    @property
    def proven(self) -> bool:
        """True if no plan has fewer waves."""
        return len(self.waves) == self.bound.waves


def plan_waves(problem: WaveProblem, most_steps: int = MOST_STEPS) -> WavePlan:
    """As few waves as can be found, and a bound on how few there can be.

    Args:
        problem: Nodes and limits; every single node may be down alone.
        most_steps: Bounds the exact search; the same problem always gives the same plan.
    """
    assert all(limit.most >= 1 for limit in problem.limits), "a node that may not be down at all is no part of this"
    rules = _Rules(problem)
    best, bound = rules.greedy(), _bound(problem, rules)
    steps = most_steps if rules.count <= MOST_SEARCHED else 0
    while len(best) > bound.waves and steps > 0:
        found, steps = rules.search(bound.waves, steps)
        if found is not None:
            best = found
        elif steps > 0:
            bound = Bound(bound.waves + 1, BoundKind.SEARCH)
    waves = (tuple(sorted(problem.nodes[place] for place in _places(wave))) for wave in best)
    return WavePlan(tuple(sorted(waves)), bound)


class _Rules:
    """The problem in the form the searches need: who may not be with whom, and the limits that are left."""

    def __init__(self, problem: WaveProblem) -> None:
        self.count = len(problem.nodes)
        self.most = problem.most_in_wave or self.count
        self.apart = [0] * self.count
        wide = {limit for limit in problem.limits if limit.nodes.bit_count() > limit.most}
        for limit in wide:
            if limit.most == 1:
                for place in _places(limit.nodes):
                    self.apart[place] |= limit.nodes & ~(1 << place)
        self.limits: list[list[Limit]] = [[] for _ in range(self.count)]
        for limit in wide:
            if limit.most > 1:
                for place in _places(limit.nodes):
                    self.limits[place].append(limit)

    def fits(self, place: int, wave: int) -> bool:
        """True if a node can join a wave."""
        if wave & self.apart[place] or wave.bit_count() >= self.most:
            return False
        joined = wave | 1 << place
        return all((limit.nodes & joined).bit_count() <= limit.most for limit in self.limits[place])

    def greedy(self) -> list[int]:
        """Waves by DSATUR: next is the node with the fewest waves left to join, of these the one with most limits."""
        waves: list[int] = []
        left = set(range(self.count))
        closed = [0] * self.count  # the waves that a node can no longer join, as a bitmask
        while left:
            place = max(left, key=lambda one: (closed[one].bit_count(), self._weight(one), -one))
            left.remove(place)
            number = next((index for index, wave in enumerate(waves) if self.fits(place, wave)), len(waves))
            if number == len(waves):
                waves.append(0)
            waves[number] |= 1 << place
            for other in _places(self.apart[place]):
                closed[other] |= 1 << number
        return waves

    def _weight(self, place: int) -> int:
        return self.apart[place].bit_count() * len(self.limits) + len(self.limits[place])

    def search(self, number: int, steps: int) -> tuple[list[int] | None, int]:
        """Waves of that number, None if there are none or the steps ran out, and the steps that are left."""
        self._steps = steps
        order = sorted(range(self.count), key=self._weight, reverse=True)
        return self._place(order, [0] * number, 0), self._steps

    def _place(self, left: list[int], waves: list[int], used: int) -> list[int] | None:
        """Puts the node with the fewest choices first; of the empty waves only the first is tried, all are alike."""
        if not left:
            return waves
        choices, place = self._tightest(left, waves, used)
        rest = [one for one in left if one != place]
        for number in choices:
            if self._steps <= 0:
                return None
            joined = [*waves[:number], waves[number] | 1 << place, *waves[number + 1 :]]
            found = self._place(rest, joined, max(used, number + 1))
            if found is not None:
                return found
        return None

    def _tightest(self, left: Sequence[int], waves: Sequence[int], used: int) -> tuple[list[int], int]:
        tried = min(used + 1, len(waves))
        best: tuple[list[int], int] | None = None
        for place in left:
            self._steps -= tried
            choices = [number for number in range(tried) if self.fits(place, waves[number])]
            if best is None or len(choices) < len(best[0]):
                best = choices, place
            if not choices:
                break
        assert best is not None, "something is left"
        return best


def _bound(problem: WaveProblem, rules: _Rules) -> Bound:
    """The best of the bounds that need no search."""
    count = len(problem.nodes)
    if count == 0:
        return Bound(0, BoundKind.NOTHING)
    clique = _clique(rules.apart)
    found = [Bound(len(clique), BoundKind.CLIQUE, _ids(problem, clique))]
    wide = [limit for limit in problem.limits if limit.most > 1]
    for limit in sorted(wide, key=lambda one: -one.nodes.bit_count() / one.most)[:1]:
        waves = -(-limit.nodes.bit_count() // limit.most)
        found.append(Bound(waves, BoundKind.LIMIT, _ids(problem, _places(limit.nodes))))
    if problem.most_in_wave is not None:
        found.append(Bound(-(-count // problem.most_in_wave), BoundKind.MOST_IN_WAVE))
    return max(found, key=lambda bound: bound.waves)


def _ids(problem: WaveProblem, places: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(problem.nodes[place] for place in places))


def _clique(apart: Sequence[int]) -> list[int]:
    """Nodes of which no two may be together: the largest that is found from any node by always taking the best."""
    best: list[int] = []
    for start in range(len(apart)):
        clique, candidates = [start], apart[start]
        while candidates:
            place = max(_places(candidates), key=lambda one: ((apart[one] & candidates).bit_count(), -one))
            clique.append(place)
            candidates &= apart[place]
        if len(clique) > len(best):
            best = clique
    return best


def _places(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def allowed(problem: WaveProblem, wave: Iterable[int]) -> bool:
    """True if these nodes, by id, may be down together."""
    chosen = 0
    for node in wave:
        chosen |= 1 << problem.nodes.index(node)
    within = problem.most_in_wave is None or chosen.bit_count() <= problem.most_in_wave
    return within and all((limit.nodes & chosen).bit_count() <= limit.most for limit in problem.limits)


def kept_apart(groups: Iterable[Iterable[int]]) -> tuple[Limit, ...]:
    """Limits by which no two nodes of different groups, given by their indices, are in one wave."""
    masks = [sum(1 << place for place in group) for group in groups]
    return tuple(
        Limit(1 << one | 1 << other, 1)
        for first, second in combinations(masks, 2)
        for one in _places(first)
        for other in _places(second)
    )
