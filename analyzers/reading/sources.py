"""Sources of the rows of a history: snapshots and metadata logs of each cluster, month by month. No Spark in here.

Where a metadata log tells of the time it tells all, elsewhere snapshots do: ``kreplica.history.lives.log_line`` says
which tells when. Each moment that tells is one observation of the audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import msgspec
import numpy as np

from analyzers.reading.timeline import Observation, Timeline
from kreplica.errors import InputError
from kreplica.history.lives.log_line import Moments
from kreplica.history.lives.told_line import Line
from kreplica.history.months.month import RESTORE
from kreplica.history.months.observations import Seen
from kreplica.history.selection import Chosen, HistoryMonth
from kreplica.model.snapshot import Gap
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import PARTITIONS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_METADATA_LOG = "kraft-metadata"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A month's snapshots, or what metadata logs tell of it.

    Args:
        month: The month.
        logged: Whether it is metadata logs.
        inside: First and last number, in the month, of the snapshots or steps that are wanted.
        places: Numbers in the month of those that tell, in order.
        numbers: Number of the observation that each of them is.
        since: Numbers in the month of all that are wanted, and of each the first observation that is not before it.
    """

    month: HistoryMonth
    logged: bool
    inside: tuple[int, int]
    places: Integers
    numbers: Integers
    since: tuple[Integers, Integers]


class Sources:
    """The sources of what is wanted of a history, and their observations.

    Args:
        chosen: The months.
        logs: Whether metadata logs are asked, too.

    Raises:
        InputError: What one of them says is damaged.
    """

    def __init__(self, chosen: Chosen, *, logs: bool = True) -> None:
        self._moments = {
            cluster: Moments(Line(months), logs=logs) for cluster, months in sorted(chosen.by_cluster().items())
        }
        self.snapshots = [_seen(month, month.seen[place]) for month in chosen.months for place in month.inside]
        """All snapshots that are wanted."""
        usual = {cluster: moments.usual for cluster, moments in self._moments.items()}
        self.timeline = Timeline(self._observed(), named=True, usual=usual)

    @property
    def logged(self) -> int:
        """Number of the clusters of which a metadata log tells something."""
        return sum(bool(moments.spans) for moments in self._moments.values())

    def _observed(self) -> Iterator[Observation]:
        places = {(one.cluster, one.taken_at, one.digest): one for one in self.snapshots}
        for cluster, moments in self._moments.items():
            seen = {int(number): one for number, one in zip(moments.seen, moments.line.seen, strict=True)}
            for number, log in zip(moments.asked.tolist(), moments.logs.tolist(), strict=True):
                if log < 0:
                    one = seen[number]
                    yield places[cluster, _time(one.taken_ms), one.digest]
                else:
                    yield _of_log(moments, number, log)

    @cached_property
    def every(self) -> list[Source]:
        """The sources, by cluster and month."""
        found: list[Source] = []
        first = 0
        for moments in self._moments.values():
            found += _sources(moments, first)
            first += len(moments.asked)
        return found


def _sources(moments: Moments, first: int) -> Iterator[Source]:
    """The sources of a cluster, whose first observation has this number."""
    asked = moments.asked
    for month, shift in moments.line.numbered():
        if not len(month.inside):
            continue
        places = np.arange(month.inside.start, month.inside.stop)
        seen = moments.seen[places + shift]
        at = np.searchsorted(asked, seen)
        tells = asked[np.minimum(at, len(asked) - 1)] == seen
        inside = month.inside[0], month.inside[-1]
        yield Source(month, False, inside, places[tells], at[tells] + first, (places, at + first))
    for part in moments.log.parts:
        numbers = np.searchsorted(asked, moments.logged[part.shift : part.shift + len(part.steps)]) + first
        inside = int(part.steps[0]), int(part.steps[-1])
        yield Source(part.month, True, inside, part.steps, numbers, (part.steps, numbers))


def _seen(month: HistoryMonth, seen: Seen) -> Observation:
    row = seen.row
    try:
        gaps = msgspec.json.decode(str(row["gaps"]), type=tuple[Gap, ...])
    except msgspec.DecodeError as error:
        reason = f"what its observations say is damaged: {error}"
        raise InputError(month.month.folder, "", reason, RESTORE) from None
    cluster_id, epoch, offset = row["cluster_id"], row["controller_epoch"], row["metadata_offset"]
    return Observation(
        cluster=month.cluster,
        cluster_id=None if cluster_id is None else str(cluster_id),
        name=str(row["name"]),
        source=str(row["source"]),
        taken_at=_time(seen.taken_ms),
        digest=seen.digest,
        whole=bool(row[f"{PARTITIONS.name}_whole"]),
        gaps=gaps,
        controller_epoch=epoch if isinstance(epoch, int) else None,
        metadata_offset=offset if isinstance(offset, int) else None,
    )


def _of_log(moments: Moments, number: int, log: int) -> Observation:
    month = moments.line.months[-1]
    newest = month.seen[-1].row["cluster_id"] if month.seen else None
    return Observation(
        cluster=month.cluster,
        cluster_id=None if newest is None else str(newest),
        name=month.name,
        source=_METADATA_LOG,
        taken_at=_time(int(moments.times[number])),
        digest=f"{number:012}",
        whole=True,
        log=log,
    )


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
