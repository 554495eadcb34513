"""The life of one thing as stretches of time: states, absences, times in which no source knew it, and pauses."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kreplica.history.lives.told_line import Glance


class StretchKind(StrEnum):
    """Kind of a stretch of time."""

    STATE = "state"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    PAUSE = "pause"
    SETTINGS = "settings"


@dataclass(eq=False)
class Stretch:
    """A stretch of a life; first, last and ended are numbers of observations.

    Args:
        kind: Kind of the stretch.
        first: The first observation in it.
        last: The last one in it.
        ended: The first later one that said otherwise; None if there is none.
        snapshots: Number of observations that told it.
        values: Values of a state.
        before: Values of the state before it, if there is one.
        lacking: Columns that were not told, of an unknown stretch inside a state.
        exact: Whether a metadata log tells all of it.
    """

    kind: StretchKind
    first: int
    last: int
    ended: int | None = None
    snapshots: int = 1
    values: dict[str, Hashable] = field(default_factory=dict)
    before: Mapping[str, Hashable] | None = None
    lacking: tuple[str, ...] = ()
    exact: bool = False

    @property
    def until(self) -> int:
        """The observation that ended it, the last one in it if none did."""
        return self.last if self.ended is None else self.ended

    @property
    def changed(self) -> list[str]:
        """Columns in which a state differs from the one before, as far as both know them."""
        before = self.before or {}
        return [name for name, value in self.values.items() if name in before and before[name] != value]


def stretches(seen: Iterable[Glance], shown: Collection[str]) -> list[Stretch]:
    """The life of one thing, in order; a state goes on over months and over observations that do not know it.

    Args:
        seen: What each observation told of it, in order.
        shown: Columns that count as not told where an observation lacks them.
    """
    life = _Life(shown)
    for glance in seen:
        if glance.row is not None:
            life.see(glance.number, glance.row, logged=glance.logged)
        elif glance.whole:
            life.miss(glance.number)
        elif glance.logged:
            life.end(StretchKind.UNKNOWN, glance.number)
        else:
            life.go_on(StretchKind.UNKNOWN, glance.number)
    return life.found


@dataclass(eq=False)
class _Life:
    """The stretches so far; open ones may go on."""

    shown: Collection[str]
    found: list[Stretch] = field(default_factory=list)
    open: dict[StretchKind, Stretch] = field(default_factory=dict)
    before: Mapping[str, Hashable] | None = None

    def see(self, number: int, row: Mapping[str, Hashable], *, logged: bool) -> None:
        """The thing was seen; what the row lacks is known where a log tells of it."""
        state = self.open.get(StretchKind.STATE)
        if state is not None and _contradicts(state.values, row):
            self.end(StretchKind.STATE, number)
        self.end(StretchKind.ABSENT, number)
        state = self.open.get(StretchKind.STATE)
        known = state.values if state is not None else {}
        lacking = () if logged else tuple(name for name in self.shown if name in known and name not in row)
        if not lacking:
            self.end(StretchKind.UNKNOWN, number)
        self.go_on(StretchKind.STATE, number).values.update(row)
        if lacking:
            self.go_on(StretchKind.UNKNOWN, number, lacking)

    def miss(self, number: int) -> None:
        """The thing was not there."""
        self.end(StretchKind.STATE, number)
        self.end(StretchKind.UNKNOWN, number)
        self.go_on(StretchKind.ABSENT, number)

    def go_on(self, kind: StretchKind, number: int, lacking: tuple[str, ...] = ()) -> Stretch:
        """The stretch of a kind, one observation longer; a new one where none is open that lacks the same columns."""
        if kind in self.open and self.open[kind].lacking != lacking:
            self.end(kind, number)
        stretch = self.open.get(kind)
        if stretch is None:
            before = self.before if kind is StretchKind.STATE else None
            stretch = self.open[kind] = Stretch(kind, number, number, snapshots=0, before=before, lacking=lacking)
            self.found.append(stretch)
        stretch.last = number
        stretch.snapshots += 1
        return stretch

    def end(self, kind: StretchKind, number: int) -> None:
        """Ends the stretch of a kind, if one is open."""
        ended = self.open.pop(kind, None)
        if ended is not None:
            ended.ended = number
            self.before = ended.values if kind is StretchKind.STATE else self.before


def _contradicts(values: Mapping[str, Hashable], row: Mapping[str, Hashable]) -> bool:
    return any(name in values and values[name] != value for name, value in row.items())


def in_order(found: Iterable[Stretch]) -> list[Stretch]:
    """The stretches by their beginnings."""
    order = list(StretchKind)
    return sorted(found, key=lambda one: (one.first, order.index(one.kind)))
