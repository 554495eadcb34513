"""The life of a broker: its states, its settings that changed, leaderships gained and lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kreplica.history.coding import NOTHING, Coder
from kreplica.history.folding import Runs
from kreplica.history.lives.log_line import Moments, log_glances, told_stretches
from kreplica.history.lives.rows import BrokerStretch, Row, StretchTimes, changes
from kreplica.history.lives.stretches import Stretch, StretchKind, in_order
from kreplica.history.lives.told_line import Line, glances
from kreplica.history.selection import KeyFilter
from kreplica.history.tables import LOG_TABLES, TABLES
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS

_OF = {table.of.name: table for table in TABLES}
_PARTITIONS, _BROKERS, _CONFIGS = (_OF[schema.name] for schema in (PARTITIONS, BROKERS, CONFIGS))
_LOGGED_PARTITIONS, _LOGGED_BROKERS, _LOGGED_CONFIGS = LOG_TABLES
_LEADER = [one.name for one in _PARTITIONS.value_fields].index("leader")
assert _LOGGED_PARTITIONS.value_fields[_LEADER].name == "leader"


def broker_rows(line: Line, broker: int) -> list[Row]:
    """The stretches of a broker's life; none where neither a snapshot nor a log has it."""
    moments, some, key = Moments(line), KeyFilter("broker", broker), (broker,)
    told = glances(line, _BROKERS, some, key)
    found = told_stretches(moments, told, log_glances(moments, _LOGGED_BROKERS, some, key), ("alive", "rack"))
    if not any(one.kind is StretchKind.STATE for one in found):
        return []
    seen, logged = _leaderships(line, moments, broker), _logged_leaderships(moments, broker)
    rows: list[Row] = []
    settings = _settings(line, moments, broker)
    said = {id(one): text for one, text in settings}
    for one in in_order([*found, *(stretch for stretch, _ in settings), *moments.pauses()]):
        at, state = StretchTimes.of(one, moments.times), one.values
        leads = logged if one.exact else seen
        gained, lost = leads.between(one) if one.kind is StretchKind.STATE else (None, None)
        rows.append(
            BrokerStretch(
                broker=broker,
                kind=one.kind,
                valid_from=at.valid_from,
                last_seen=at.last_seen,
                valid_to=at.valid_to,
                alive=state.get("alive"),  # type: ignore[arg-type]
                fenced=state.get("fenced"),  # type: ignore[arg-type]
                rack=state.get("rack"),  # type: ignore[arg-type]
                gained=gained,
                lost=lost,
                changed=said.get(id(one)) or changes(one),
                snapshots=one.snapshots,
                exact=one.exact,
            )
        )
    return rows


def _settings(line: Line, moments: Moments, broker: int) -> list[tuple[Stretch, str]]:
    """A stretch for each moment at which settings changed, or a snapshot tells that they have."""
    logged = list(_logged_settings(moments, broker))
    names = frozenset(name for _, settings in logged for name in settings)
    found: list[tuple[Stretch, str]] = []
    for one, other in pairwise(logged):
        exact = moments.inside(one[0], other[0])
        text = _differences(one[1], other[1], names)
        if text:
            found.append((Stretch(StretchKind.SETTINGS, other[0], other[0], snapshots=0, exact=exact), text))
    for one, other in pairwise(_seen_settings(line, moments, broker)):
        told = one[1].keys() | other[1].keys()
        # What stands in the files of a broker is in no log.
        text = _differences(one[1], other[1], told - names if moments.inside(one[0], other[0]) else told)
        if text:
            found.append((Stretch(StretchKind.SETTINGS, other[0], other[0], snapshots=1), text))
    return found


def _differences(before: Mapping[str, object], now: Mapping[str, object], names: Collection[str]) -> str:
    changed = sorted(name for name in names if before.get(name) != now.get(name))
    return "; ".join(f"{name} {_setting(before, name)} -> {_setting(now, name)}" for name in changed)


def _seen_settings(line: Line, moments: Moments, broker: int) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Settings of a broker as each snapshot that tells any told them, with its number."""
    coder = Coder(_CONFIGS)
    before: dict[str, object] = {}
    for number, told, rows in line.told(coder, KeyFilter("entity", str(broker))):
        columns = coder.columns(rows)
        cells = zip(*(columns[name].to_list() for name in ("entity_type", "name", "value")), strict=True)
        now = {str(name): value for kind, name, value in cells if kind == "broker"}
        if not told.whole:
            now = {**before, **now}
        if now:
            yield int(moments.seen[number]), now
        before = now or before


def _logged_settings(moments: Moments, broker: int) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Settings of a broker in metadata logs, at each moment at which one changed or a log begins or ends."""
    coder = Coder(_LOGGED_CONFIGS)
    for part in moments.log.parts:
        runs = part.month.exact_runs(coder, KeyFilter("entity", str(broker)))
        columns = coder.columns(runs.coded)
        cells = zip(*(columns[name].to_list() for name in ("entity_type", "name", "value")), strict=True)
        places = map(part.places, runs.first.tolist(), runs.last.tolist())
        every = zip(places, cells, strict=True)
        held = [(at, str(name), value) for at, (kind, name, value) in every if kind == "broker"]
        for place in part.borders(moments.log.spans, [at for at, _, _ in held]):
            now = {name: value for (first, last), name, value in held if first <= place <= last}
            yield int(moments.logged[place]), now


def _setting(some: Mapping[str, object], name: str) -> str:
    return str(some[name]) if some.get(name) is not None else "not set" if name not in some else "null"


@dataclass(frozen=True, slots=True, eq=False)
class _Leaderships:
    """Numbers of the observations that tell of a leadership gained or lost, one for each partition."""

    gained: Integers
    lost: Integers

    def between(self, one: Stretch) -> tuple[int, int]:
        end = np.iinfo(np.int64).max if one.ended is None else one.ended
        inside = [int(((at >= one.first) & (at < end)).sum()) for at in (self.gained, self.lost)]
        return inside[0], inside[1]


def _leaderships(line: Line, moments: Moments, broker: int) -> _Leaderships:
    """Changes of leaders from and to a broker as snapshots tell them."""
    coder = Coder(_PARTITIONS)
    found = [_no_leaders()]
    for month, shift in line.numbered():
        if len(month.inside):
            runs = month.runs(coder)
            runs = runs.take((runs.last >= month.inside[0]) & (runs.first <= month.inside[-1]))
            at = moments.seen[np.maximum(runs.first, month.inside[0]) + shift]
            found.append(_leaders(runs, at))
    return _changes_of_leaders(found, broker)


def _logged_leaderships(moments: Moments, broker: int) -> _Leaderships:
    """Changes of leaders from and to a broker as metadata logs tell them."""
    coder = Coder(_LOGGED_PARTITIONS)
    found = [_no_leaders()]
    for part in moments.log.parts:
        runs = part.month.exact_runs(coder)
        first, last = np.searchsorted(part.steps, runs.first), np.searchsorted(part.steps, runs.last, side="right")
        held = first < last
        found.append(_leaders(runs.take(held), moments.logged[first[held] + part.shift]))
    return _changes_of_leaders(found, broker)


def _no_leaders() -> tuple[Integers, Integers, Integers]:
    none = np.zeros(0, np.int64)
    return none, none, none


def _leaders(runs: Runs, at: Integers) -> tuple[Integers, Integers, Integers]:
    """Keys, moments and leaders of the runs that know one."""
    leaders = runs.coded.values[:, _LEADER]
    known = leaders > NOTHING
    return runs.coded.keys[known], at[known], leaders[known]


def _changes_of_leaders(found: Sequence[tuple[Integers, Integers, Integers]], broker: int) -> _Leaderships:
    """Changes from and to a broker, of partitions whose leader before is known."""
    key, at, leader = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((at, key))
    key, at, leader = key[order], at[order], leader[order]
    known = np.concatenate([np.zeros(1, np.bool_), key[1:] == key[:-1]])[: len(key)]
    before = np.concatenate([leader[:1], leader[:-1]])
    return _Leaderships(
        at[known & (leader == broker) & (before != broker)], at[known & (leader != broker) & (before == broker)]
    )
