"""Views of what is measured, by the samples that a history keeps: space that is left, offsets that groups committed."""

from __future__ import annotations

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.views.view import View, ViewRows
from kreplica.model.tables.columns import Column, Integers, column_from_values
from kreplica.model.tables.schema import GROUPS, LOG_DIRS, PARTITIONS, Field, Kind

_DISK = tuple(LOG_DIRS.field(name) for name in ("broker", "path", "usable_bytes", "total_bytes"))
_OFFSET = (
    *(GROUPS.field(name) for name in ("group", "topic", "partition", "offset")),
    *(PARTITIONS.field(name) for name in ("log_start_offset", "high_watermark")),
    Field("lag", Kind.INT64, nullable=True, doc="records from the committed offset up to the high watermark"),
)


def _disks(history: ClusterHistory) -> ViewRows:
    samples, told = history.samples(LOG_DIRS), history.log_dirs
    totals = told.columns["total_bytes"]
    known: dict[tuple[object, object], list[int]] = {}
    for place, key in enumerate(zip(told.columns["broker"].to_list(), told.columns["path"].to_list(), strict=True)):
        known.setdefault(key, []).append(place)
    keys = zip(samples.rows["broker"].to_list(), samples.rows["path"].to_list(), strict=True)
    first, ended = told.runs.first.tolist(), told.runs.ended.tolist()
    total = []
    for key, number in zip(keys, samples.numbers.tolist(), strict=True):
        there = (at for at in known.get(key, ()) if first[at] <= number and not 0 <= ended[at] <= number)
        row = next(there, None)
        total.append(None if row is None else totals[row])
    columns = {name: samples.rows[name] for name in ("broker", "path", "usable_bytes")}
    return _sampled(columns | {"total_bytes": column_from_values(Kind.INT64, total)}, samples.keys(), samples.numbers)


def _offsets(history: ClusterHistory) -> ViewRows:
    samples, logs = history.samples(GROUPS), history.samples(PARTITIONS)
    names = ("log_start_offset", "high_watermark")
    keys = zip(logs.rows["topic"].to_list(), logs.rows["partition"].to_list(), logs.numbers.tolist(), strict=True)
    known = dict(zip(keys, zip(*(logs.rows[name].to_list() for name in names), strict=True), strict=True))
    asked = zip(
        *(samples.rows[name].to_list() for name in ("topic", "partition")), samples.numbers.tolist(), strict=True
    )
    found = [known.get(key, (None, None)) for key in asked]
    offsets = samples.rows["offset"].to_list()
    lags = [
        None if offset is None or ends[1] is None else max(ends[1] - offset, 0)
        for offset, ends in zip(offsets, found, strict=True)
    ]
    columns: dict[str, Column] = {name: samples.rows[name] for name in ("group", "topic", "partition", "offset")}
    for at, name in enumerate(names):
        columns[name] = column_from_values(Kind.INT64, [ends[at] for ends in found])
    columns["lag"] = column_from_values(Kind.INT64, lags)
    return _sampled(columns, samples.keys(), samples.numbers)


def _sampled(columns: dict[str, Column], things: Integers, numbers: Integers) -> ViewRows:
    """Rows of samples, each of which holds up to the next one of the same thing."""
    order = np.lexsort((numbers, things))
    things, first = things[order], numbers[order].astype(np.int64)
    goes_on = np.append(things[1:] == things[:-1], False)[: len(things)]
    ended = np.where(goes_on, np.append(first[1:], -1)[: len(first)], -1)
    none = np.full(len(first), -1, np.int64)
    taken = {name: column.take(order) for name, column in columns.items()}
    return ViewRows(taken, things, first, first, ended, none, np.unique(first))


DISKS = View("disks", "a sample, once an hour, of the volume of a log directory", _DISK, _disks, sampled=True)
OFFSETS = View(
    "offsets",
    "a sample, once a day, of what a consumer group had committed of a partition",
    _OFFSET,
    _offsets,
    sampled=True,
)
