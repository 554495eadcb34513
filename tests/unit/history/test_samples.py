"""Samples of what is measured: those of the definition, in any order of arrival, and small."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from examples import examples
from histories.folders import candidate, contents, newest_files
from histories.observations import KEYS, MARCH, observed
from hypothesis import given
from hypothesis import strategies as st

from kreplica.history.ingest import ingest
from kreplica.history.model import Observation, sampled
from kreplica.history.selection import KeyFilter, choose
from kreplica.history.tables import TABLES
from kreplica.system.stores.storage import LocalStorage

HOUR = 3_600_000
DAY = 24 * HOUR
MEASURED = ("log_start_offset", "high_watermark")
ORDERS, OTHERS = ("orders", 0), ("orders", 1)


@st.composite
def measurements(draw: st.DrawFn) -> list[Observation]:
    """Up to seven snapshots of three days over a month's end; each knows some offsets, not of every partition."""
    found = []
    for number in range(draw(st.integers(0, 7))):
        told = [name for name in MEASURED if draw(st.booleans())]
        keys = sorted(draw(st.sets(st.sampled_from(KEYS))))
        rows = {key: {name: draw(st.integers(0, 9)) for name in told if draw(st.integers(0, 3))} for key in keys}
        found.append(observed(draw(st.integers(-20, 40)), rows, whole=draw(st.booleans()), digest=f"{number}"))
    return found


def stored_samples(root: Path) -> list[tuple[object, ...]]:
    """The samples of partitions as they stand in Parquet: time, key, what is known."""
    tables = [pq.ParquetFile(path).read().to_pylist() for path in newest_files(root).get("partitions samples", [])]
    return sorted(
        (
            round(row["taken_at"].timestamp() * 1000),
            (row["topic"], row["partition"]),
            sorted((name, row[name]) for name in MEASURED if row[name] is not None),
        )
        for rows in tables
        for row in rows
    )


def defined_samples(some: Sequence[Observation]) -> list[tuple[object, ...]]:
    found = sampled(some, frozenset(MEASURED), DAY)
    return sorted((one.taken_at, key, sorted(known.items())) for one, key, known in found)


def taken_in(root: Path, some: Sequence[Observation], *, compact: bool = False) -> None:
    ingest([candidate(one) for one in some], LocalStorage(root), compact=compact)


@examples(0.3)
@given(measurements(), st.data())
def test_any_order_gives_the_samples_of_the_definition_and_the_same_bytes(
    some: list[Observation], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        once, one_by_one = Path(folder, "once"), Path(folder, "one by one")
        taken_in(once, some)
        for one in data.draw(st.permutations(some)):
            taken_in(one_by_one, [one])
        assert stored_samples(once) == stored_samples(one_by_one) == defined_samples(some)
        taken_in(one_by_one, some, compact=True)
        assert contents(one_by_one) == contents(once)


def test_a_day_has_the_samples_of_the_first_snapshot_that_tells_any(tmp_path: Path) -> None:
    some = [
        observed(4, {ORDERS: {"leader": 1}}),
        observed(5, {ORDERS: {"high_watermark": 7}, OTHERS: {}}),
        observed(6, {ORDERS: {"high_watermark": 8}, OTHERS: {"high_watermark": 3}}),
        observed(28, {ORDERS: {"high_watermark": 9}}),
    ]
    expected = [(5, ORDERS, [("high_watermark", 7)]), (28, ORDERS, [("high_watermark", 9)])]
    for one in some:
        taken_in(tmp_path, [one])
    assert stored_samples(tmp_path) == [(MARCH + hours * HOUR, *rest) for hours, *rest in expected]


def test_the_samples_of_some_keys_are_read(tmp_path: Path) -> None:
    some = [
        observed(hours, {ORDERS: {"high_watermark": hours}, ("audit", 0): {"log_start_offset": hours}})
        for hours in (5, 30)
    ]
    for one in some:
        taken_in(tmp_path, [one])
    (month,) = choose(LocalStorage(tmp_path)).months
    rows = list(month.samples(TABLES[0], KeyFilter("topic", "orders")).rows())
    assert [(row["topic"], row["observation"], row["high_watermark"]) for row in rows] == [
        ("orders", 0, 5),
        ("orders", 1, 30),
    ]
    assert len(month.samples(TABLES[0])) == 4
    assert len(month.samples(TABLES[1])) == 0


def test_samples_are_of_columns_that_are_measured() -> None:
    assert {table.name: (table.sampled, table.sample_ms // HOUR) for table in TABLES if table.sampled} == {
        "partitions": (MEASURED, 24),
        "log_dirs": (("usable_bytes",), 1),
        "replicas": (("size",), 24),
        "groups": (("offset",), 24),
    }
    assert all(set(table.sampled) <= table.measured for table in TABLES)
