"""Causes of outages as they began.

The state of brokers and log directories explains most of them, whatever else goes on in the cluster: then the
partitions concerned are looked at alone. Where it does not, partitions are compared with all others of the cluster.
What the timeline does not hold, as older snapshots told it, is asked of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np

from kreplica.fleet.availability.outages import Outage
from kreplica.fleet.availability.timeline import Timeline, rows_of
from kreplica.fleet.pieces import Pieces
from kreplica.health.causes.cause import KINDS
from kreplica.health.causes.explain import Explanation, explain
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.history.moments.decoded import DecodedMonths
from kreplica.history.tables import TABLES
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices
from kreplica.model.tables.schema import BROKERS, CONFIGS, LOG_DIRS, PARTITIONS, TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import ids
from kreplica.system.stores.storage import Storage

NOT_KNOWN = "not-known"
"""In place of a cause that the facts do not single out."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = [kind.value for kind in KINDS]
_READ = {
    PARTITIONS: ("leader", "replicas", "isr", "elr", "offline_replicas", "adding", "removing"),
    BROKERS: ("alive", "fenced", "rack"),
    LOG_DIRS: ("error",),
    CONFIGS: ("value",),
}
"""Columns that causes are found by, of each table."""
Begun = tuple[str, int, int]
"""An outage by topic, partition and the moment that shows it first."""


class OutageCauses:
    """Causes of the outages of one cluster.

    Args:
        storage: Place of the history.
        timeline: The cluster at every moment.
        since: Whether the timeline begins where the user wants it to, so that there may be older snapshots.
    """

    def __init__(self, storage: Storage, timeline: Timeline, *, since: bool = False) -> None:
        self._storage, self._timeline, self._since = storage, timeline, since
        self._decoded = DecodedMonths()

    def of(self, outages: Iterable[Outage]) -> dict[Begun, str]:
        """The cause of each outage as it began, in words."""
        at: dict[int, list[Outage]] = {}
        for one in outages:
            at.setdefault(one.least[0], []).append(one)
        found: dict[Begun, str] = {}
        for begin, some in sorted(at.items()):
            explanation, rows = self._explained(begin, some)
            told = zip(some, explanation.causes(rows), explanation.down_in_sync(rows), strict=True)
            for one, causes, down in told:
                missing = [(str(cause["kind"]), int(str(cause["broker"]))) for cause in causes]
                found[one.topic, one.partition, begin] = _worst(
                    missing or [(kind.value, broker) for kind, broker in down]
                )
        return found

    def _explained(self, begin: int, some: Sequence[Outage]) -> tuple[Explanation, Indices]:
        """Causes of missing replicas, and the rows of the partitions."""
        if not self._is_told(begin):
            moment = _EPOCH + timedelta(milliseconds=begin)
            snapshot = cluster_as_of(self._storage, self._timeline.cluster, moment, self._decoded)
            return explain(Evaluator(snapshot)), _rows(snapshot, some)
        keys = [self._keys[one.topic, one.partition] for one in some]
        explanation, rows = self._by_timeline(begin, keys, alone=True)
        return (explanation, rows) if explanation.needs_no_others else self._by_timeline(begin, keys, alone=False)

    def _is_told(self, moment: int) -> bool:
        """True if the timeline holds all that was told of brokers, log directories and settings before a moment."""
        return not self._since or moment >= self._all_told_since

    @cached_property
    def _all_told_since(self) -> float:
        """The first moment at which snapshots of the timeline have listed all rows of all of these tables."""
        return max(self._listed_first(of) for of in _READ)

    def _listed_first(self, of: TableSchema) -> float:
        table = next(one for one in TABLES if one.of is of)
        whole = (
            int(month.times[one.place])
            for month, _ in self._timeline.line.numbered()
            for one in month.told(table)
            if one.whole and one.place in month.inside
        )
        return min(whole, default=float("inf"))

    def _by_timeline(self, moment: int, keys: Sequence[int], *, alone: bool) -> tuple[Explanation, Indices]:
        """Causes at a moment, and the rows of the partitions of these keys.

        Args:
            moment: The moment.
            keys: Keys of the partitions.
            alone: Whether no other partition is looked at.
        """
        tables = {of: self._rows_at(of, moment) for of in _READ}
        pieces, rows = self._pieces[PARTITIONS][0], tables[PARTITIONS]
        own = np.flatnonzero(np.isin(pieces.coded.keys[rows], keys))
        rows, own = (rows[own], np.arange(len(own))) if alone else (rows, own)
        place = dict(zip(pieces.coded.keys[rows[own]].tolist(), own.tolist(), strict=True))
        snapshot = ClusterSnapshot(
            cluster_id=None,
            name="",
            taken_at=_EPOCH,
            source="",
            partitions=self._pieces[PARTITIONS][1].take(rows),
            brokers=self._pieces[BROKERS][1].take(tables[BROKERS]),
            log_dirs=self._pieces[LOG_DIRS][1].take(tables[LOG_DIRS]),
            configs=self._pieces[CONFIGS][1].take(tables[CONFIGS]),
        )
        return explain(Evaluator(snapshot)), np.array([place[key] for key in keys], np.intp)

    def _rows_at(self, of: TableSchema, moment: int) -> Indices:
        pieces = self._pieces[of][0]
        return np.flatnonzero((pieces.begin <= moment) & (pieces.end > moment))

    @cached_property
    def _pieces(self) -> Mapping[TableSchema, tuple[Pieces, Table]]:
        found = {}
        for of, columns in _READ.items():
            coder, pieces = self._timeline.rows(of, columns)
            found[of] = pieces, rows_of(coder, pieces.coded)
        return found

    @cached_property
    def _keys(self) -> dict[tuple[object, object], int]:
        pieces, table = self._pieces[PARTITIONS]
        names = zip(table["topic"].to_list(), table["partition"].to_list(), strict=True)
        return dict(zip(names, pieces.coded.keys.tolist(), strict=True))


def _rows(snapshot: ClusterSnapshot, some: Iterable[Outage]) -> Indices:
    return np.array([snapshot.row_number(one.topic, one.partition) for one in some], np.intp)


def _worst(causes: Sequence[tuple[str, int]]) -> str:
    """The first kind of the causes, with its brokers."""
    if not causes:
        return NOT_KNOWN
    first = min((kind for kind, _ in causes), key=_KINDS.index)
    return f"{first} {ids(sorted({broker for kind, broker in causes if kind == first}))}"
