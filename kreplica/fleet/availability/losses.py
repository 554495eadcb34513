"""Impact of the loss of each broker and each rack on each state that partitions were in.

The rules are those of `kreplica whatif fail`. Which brokers hold the replicas makes no difference to them, only which
of the replicas lead, are in sync, are alive or are lost: each such state is played once, however many partitions and
brokers were in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kreplica.engine.projection.failure import Failure, fail
from kreplica.engine.projection.states import PartitionStates, partition_states
from kreplica.health.impact.fail import UNTOUCHED, controller_left, played_step
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS
from kreplica.health.quorum import quorum_without
from kreplica.model.settings import ELR_FEATURE, METADATA_VERSION
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, Integers, IntListColumn
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table

ALIVE, DEAD, UNSURE = range(3)
HARMLESS = UNTOUCHED
"""In place of an impact: nothing gets worse."""

_LISTS = ("replicas", "isr", "elr", "last_known_elr", "offline_replicas")
_SETTINGS = ("min_isr", "unclean_leader_election")


class LostKind(StrEnum):
    """Kinds of what may be lost."""

    BROKER = "broker"
    RACK = "rack"


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """A broker, or all brokers of a rack.

    Args:
        kind: Which of both.
        broker: The broker's id; -1 for a rack.
        rack: The rack; empty for a broker.
    """

    kind: LostKind
    broker: int = -1
    rack: str = ""

    @property
    def lost(self) -> str:
        """Its name."""
        return str(self.broker) if self.kind is LostKind.BROKER else self.rack

    def brokers(self, snapshot: ClusterSnapshot) -> list[int]:
        """The brokers that are lost."""
        if self.kind is LostKind.BROKER:
            return [self.broker]
        return sorted(broker for broker, rack in snapshot.racks.items() if rack == self.rack)


class _Rules(NamedTuple):
    """Facts that the rules ask of a cluster as a whole."""

    mode: MetadataMode | None
    elr: bool
    brokers_known: bool
    controller_left: bool


class _State(NamedTuple):
    """A partition's state without the names of its brokers; sets are bitmasks over their places, None if not known."""

    places: int
    leader: int | None
    replicas: int
    isr: int | None
    elr: int | None
    last_known_elr: int | None
    offline: int | None
    min_isr: int | None
    unclean: bool | None
    dead: int
    unsure: int
    lost: int


@dataclass(frozen=True, slots=True, eq=False)
class Harms:
    """Harm that losses do to states of partitions: one entry for each pair of a state and a loss that harms it.

    Args:
        states: Numbers of the states, in order.
        losses: Numbers of the losses.
        impacts: What becomes of it, as an index into FAILURE_IMPACTS.
    """

    states: Integers
    losses: Integers
    impacts: Integers


@dataclass(eq=False)
class LossRules:
    """Plays losses; remembers what came of each state that it has played."""

    played: dict[tuple[_Rules, _State], int] = field(default_factory=dict)

    def harms(self, around: ClusterSnapshot, elr: bool, partitions: Table, losses: Sequence[Loss]) -> Harms:
        """Harm that the loss of each broker and rack does to partitions.

        Args:
            around: The cluster, with its brokers; its partitions are not looked at.
            elr: Whether eligible leader replicas are on.
            partitions: The states of partitions.
            losses: What may be lost.
        """
        snapshot = ClusterSnapshot(
            cluster_id=None,
            name=around.name,
            taken_at=around.taken_at,
            source=around.source,
            partitions=partitions,
            brokers=around.brokers,
            quorum=around.quorum,
            features=around.features,
        )
        states = partition_states(snapshot)
        plain = _plain_states(snapshot, states)
        left = [_controller_left(around, loss) for loss in losses]
        rows, numbers, lost = _touched(around, states, losses)
        found = [
            _Found(np.array(rows), np.array(numbers), self._impacts(around, elr, plain, rows, lost, numbers, left))
        ]
        for there in sorted(set(left)):
            found.append(
                self._of_untouched(around, elr, plain, found[0], np.flatnonzero(np.array(left) == there), there)
            )
        rows = np.concatenate([one.rows for one in found])
        every = [np.concatenate([getattr(one, name) for one in found]) for name in ("rows", "losses", "impacts")]
        harmed = every[2] != HARMLESS
        order = np.argsort(every[0][harmed], kind="stable")
        return Harms(*(one[harmed][order] for one in every))

    def _of_untouched(
        self, around: ClusterSnapshot, elr: bool, plain: _Plain, touched: _Found, losses: Integers, left: bool
    ) -> _Found:
        """Harm to partitions without a replica on what is lost: the controller looks at them, too."""
        rows = np.arange(len(plain.numbers))
        nothing = np.zeros(len(rows), np.int64)
        impacts = self._impacts(around, elr, plain, rows, nothing, nothing, [left])
        some = rows[impacts != HARMLESS]
        if not len(some):
            return _Found(nothing[:0], nothing[:0], nothing[:0])
        pairs = np.repeat(some, len(losses)), np.tile(losses, len(some))
        width = int(max(touched.losses.max(initial=0), losses.max(initial=0))) + 1
        apart = ~np.isin(pairs[0] * width + pairs[1], touched.rows * width + touched.losses)
        return _Found(pairs[0][apart], pairs[1][apart], impacts[pairs[0][apart]])

    def _impacts(
        self,
        around: ClusterSnapshot,
        elr: bool,
        plain: _Plain,
        rows: npt.NDArray[Any],
        lost: npt.NDArray[Any],
        losses: Integers,
        left: Sequence[bool],
    ) -> Integers:
        """The impact of each pair of a row and a set of lost places."""
        codes, masks = np.unique(lost, return_inverse=True)
        there = np.array(left, np.int64)[losses] if len(left) else np.zeros(0, np.int64)
        pairs, inverse = np.unique((plain.numbers[rows] * len(codes) + masks) * 2 + there, return_inverse=True)
        keys = []
        for pair in pairs.tolist():
            state, mask = divmod(pair // 2, max(len(codes), 1))
            rules = _Rules(around.mode, elr, len(around.brokers) > 0, bool(pair % 2))
            keys.append((rules, plain.states[state]._replace(lost=int(codes[mask]))))
        self._play([key for key in keys if key not in self.played])
        found = np.array([self.played[key] for key in keys], np.int64)
        impacts: Integers = found[inverse] if len(found) else np.zeros(0, np.int64)
        return impacts

    def _play(self, keys: Iterable[tuple[_Rules, _State]]) -> None:
        by_rules: dict[_Rules, list[_State]] = {}
        for rules, state in keys:
            if state.elr and not rules.elr:
                self.played[rules, state] = HARMLESS  # never at once: where any is listed, they are on
            else:
                by_rules.setdefault(rules, []).append(state)
        for rules, states in by_rules.items():
            for state, impact in zip(states, _impacts_of(rules, states), strict=True):
                self.played[rules, state] = impact


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Pairs of a row and a loss, with their impacts."""

    rows: Integers
    losses: Integers
    impacts: Integers


@dataclass(frozen=True, slots=True, eq=False)
class _Plain:
    """States without names, and for each partition the number of its own."""

    states: Sequence[_State]
    numbers: Integers


def _controller_left(around: ClusterSnapshot, loss: Loss) -> bool:
    nodes = loss.brokers(around)
    return controller_left(around, nodes, quorum_without(around, nodes))


def _plain_states(snapshot: ClusterSnapshot, states: PartitionStates) -> _Plain:
    distinct = np.unique(states.places.values).tolist()
    alive = {broker: snapshot.is_alive(broker) for broker in distinct}
    leader = snapshot.integers("leader")
    sets = (states.replicas, states.isr, states.elr, states.last_known_elr, states.offline)
    columns: list[Sequence[object]] = [states.places.lengths().tolist()]
    columns.append(_known(states.leader.tolist(), leader))
    columns += [_known(masks.tolist(), snapshot.lists(name)) for masks, name in zip(sets, _LISTS, strict=True)]
    columns += [snapshot.partitions[name].to_list() for name in _SETTINGS]
    for answer in (False, None):
        columns.append(states.on([broker for broker in distinct if alive[broker] is answer]).tolist())
    known: dict[tuple[object, ...], int] = {}
    numbers = [known.setdefault(cells, len(known)) for cells in zip(*columns, strict=True)]
    found = [_State._make((*cells, 0)) for cells in known]
    return _Plain(found, np.array(numbers, np.int64))


def _known(values: list[Any], column: Column) -> list[Any]:
    if column.valid is None:
        return values
    return [value if known else None for value, known in zip(values, column.valid.tolist(), strict=True)]


def _touched(
    around: ClusterSnapshot, states: PartitionStates, losses: Sequence[Loss]
) -> tuple[Integers, Integers, npt.NDArray[Any]]:
    """Pairs of a partition and a loss that it has a replica on, and the places that are lost."""
    of_broker: dict[int, list[int]] = {}
    for number, loss in enumerate(losses):
        for broker in loss.brokers(around):
            of_broker.setdefault(broker, []).append(number)
    rows, places = states.places.row_numbers(), states.places
    bits = np.arange(len(places.values)) - np.repeat(places.offsets[:-1], places.lengths())
    masks = np.left_shift(1, bits.astype(object)) if states.replicas.dtype == object else np.left_shift(1, bits)
    distinct, inverse = np.unique(places.values, return_inverse=True)
    most = max((len(some) for some in of_broker.values()), default=0)
    parts = []
    for turn in range(most):
        own = [of_broker.get(broker, [])[turn : turn + 1] for broker in distinct.tolist()]
        numbers = np.array([one[0] if one else -1 for one in own], np.int64)[inverse]
        parts.append(((rows * len(losses) + numbers)[numbers >= 0], masks[numbers >= 0]))
    none = np.zeros(0, np.int64)
    pairs = np.concatenate([none, *(one for one, _ in parts)])
    every = np.concatenate([none.astype(masks.dtype), *(one for _, one in parts)])
    found, where = np.unique(pairs, return_inverse=True)
    lost = np.zeros(len(found), masks.dtype)
    np.bitwise_or.at(lost, where, every)
    return found // max(len(losses), 1), found % max(len(losses), 1), lost


def _impacts_of(rules: _Rules, states: Sequence[_State]) -> list[int]:
    """Plays states side by side: the broker of a place is named by the place, and by whether it is alive and lost."""
    before = _cluster(rules, states)
    lost = [_name(place, state) for state in states for place in range(state.places) if state.lost >> place & 1]
    failed = fail(before, Failure(sorted(set(lost)), (), rules.controller_left))
    step = played_step(tuple(sorted(set(lost))), before, failed, None)
    harmful = np.array([impact.harmful for impact in FAILURE_IMPACTS])
    counts = (step.impacts != UNTOUCHED) & ~step.already & harmful[step.impacts]
    found: list[int] = np.where(counts, step.impacts, HARMLESS).tolist()
    return found


def _name(place: int, state: _State) -> int:
    standing = DEAD if state.dead >> place & 1 else UNSURE if state.unsure >> place & 1 else ALIVE
    return (place * 3 + standing) * 2 + (state.lost >> place & 1)


def _cluster(rules: _Rules, states: Sequence[_State]) -> ClusterSnapshot:
    names = [[_name(place, state) for place in range(state.places)] for state in states]
    every = {name: name // 2 % 3 for some in names for name in some}
    answers: Mapping[int, bool | None] = {ALIVE: True, DEAD: False, UNSURE: None}
    brokers = [{"broker": name, "alive": answers[standing]} for name, standing in sorted(every.items())]
    features = {METADATA_VERSION: 1} if rules.mode is MetadataMode.KRAFT else {}
    columns: dict[str, Column] = {
        name: _lists([getattr(state, _FIELDS[name]) for state in states], names) for name in _LISTS
    }
    leaders = [_broker_at(state.leader, some) for state, some in zip(states, names, strict=True)]
    columns["leader"] = _integers(leaders)
    columns["min_isr"] = _integers([state.min_isr for state in states])
    unclean = [state.unclean for state in states]
    columns["unclean_leader_election"] = BoolColumn(
        np.array([bool(one) for one in unclean]), np.array([one is not None for one in unclean])
    )
    columns["internal"] = BoolColumn(np.zeros(len(states), np.bool_))
    empty = Table.from_rows(PARTITIONS, [{"internal": False, "replicas": [], "isr": []}] * len(states))
    return ClusterSnapshot(
        cluster_id=None,
        name="",
        taken_at=datetime(1970, 1, 1, tzinfo=UTC),
        source="zookeeper" if rules.mode is MetadataMode.ZOOKEEPER else "",
        partitions=Table(PARTITIONS, {**empty.columns, **columns}),
        brokers=Table.from_rows(BROKERS, brokers if rules.brokers_known else []),
        features={**features, **({ELR_FEATURE: 1} if rules.elr else {})},
    )


_FIELDS = {**{name: name for name in _LISTS}, "offline_replicas": "offline"}


def _broker_at(place: int | None, names: Sequence[int]) -> int | None:
    return place if place is None or place < 0 else names[place]


def _integers(values: Sequence[int | None]) -> IntColumn:
    valid = np.array([value is not None for value in values], np.bool_)
    return IntColumn(np.array([value or 0 for value in values], np.int64), valid)


def _lists(masks: Sequence[int | None], names: Sequence[Sequence[int]]) -> IntListColumn:
    some = [
        [name for place, name in enumerate(own) if (mask or 0) >> place & 1]
        for mask, own in zip(masks, names, strict=True)
    ]
    offsets = np.cumsum([0, *map(len, some)])
    valid = np.array([mask is not None for mask in masks], np.bool_)
    return IntListColumn(np.array([name for own in some for name in own], np.int64), offsets, valid)
