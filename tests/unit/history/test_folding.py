"""The fold over arrays against the definition: the same runs, in one go or step by step, and every observation back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pytest
from examples import examples
from histories import observations, observed
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.history import model
from kreplica.history.coding import UNKNOWN, Coded, Coder, Paths
from kreplica.history.folding import Exceptions, Fold, Runs, Told, fold, told_rows
from kreplica.history.tables import TABLES, is_told, is_whole
from kreplica.model import schema
from kreplica.model.columns import IntListColumn, column_from_values
from kreplica.model.snapshot import Gap
from kreplica.model.table import Table

PARTITIONS = TABLES[0]
MEANT = {"leader": (0, 7, -1), "elr": ([], [1], [1, -2]), "topic_id": ("", "a", "ä")}
"""What the numbers of the drawn observations stand for, in columns of three kinds."""
NAMES = {"leader": "leader", "isr": "elr", "topic_id": "topic_id"}
Place = tuple[int, str]


def table_of(one: model.Observation) -> Table:
    rows = []
    for (topic, number), known in one.rows.items():
        values = {NAMES[name]: MEANT[NAMES[name]][value] for name, value in known.items()}
        rows.append({"topic": topic, "partition": number, **values})
    return Table.from_rows(schema.PARTITIONS, rows)


def months(some: Sequence[model.Observation]) -> list[list[model.Observation]]:
    distinct = {one.digest: one for one in some}
    ordered = sorted(distinct.values(), key=lambda one: one.place)
    return [list(month) for _, month in groupby(ordered, key=lambda one: model.month_of(one.taken_at))]


def coded(coder: Coder, month: Sequence[model.Observation]) -> list[tuple[Told, Coded]]:
    found = []
    for place, one in enumerate(month):
        rows = coder.code(table_of(one))
        found.append((Told(place, rows.told, one.whole), rows))
    return found


def plain_rows(coder: Coder, rows: Coded) -> list[tuple[object, ...]]:
    """Key and known values of each row."""
    columns = coder.columns(rows)
    names, lists = list(columns), [column.to_list() for column in columns.values()]
    plain = [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]
    keys = [tuple(row.pop(name) for name in coder.table.keys) for row in plain]
    known = [{name: value for name, value in row.items() if value is not None} for row in plain]
    return [(key, repr(sorted(row.items()))) for key, row in zip(keys, known, strict=True)]


def plain_runs(coder: Coder, runs: Runs, month: Sequence[model.Observation]) -> list[tuple[object, ...]]:
    times = zip(runs.first.tolist(), runs.last.tolist(), runs.ended.tolist(), strict=True)
    places = [tuple(None if at < 0 else month[at].place for at in row) for row in times]
    return sorted((*row, *at) for row, at in zip(plain_rows(coder, runs.coded), places, strict=True))


def defined_runs(month: Sequence[model.Observation]) -> list[tuple[object, ...]]:
    found = []
    for run in model.fold(month):
        values = sorted((NAMES[name], MEANT[NAMES[name]][value]) for name, value in run.values.items())
        found.append((run.key, repr(values), run.first.place, run.last.place, run.ended and run.ended.place))
    return sorted(found)


def every_run(found: Fold) -> Runs:
    width = len(PARTITIONS.value_fields)
    return Runs.joined([found.closed_runs(), found.open_runs()], width)


@examples(0.6)
@given(observations())
def test_arrays_give_the_runs_of_the_definition(some: list[model.Observation]) -> None:
    for month in months(some):
        coder = Coder(PARTITIONS)
        found = fold(len(PARTITIONS.value_fields), coded(coder, month))
        assert plain_runs(coder, every_run(found), month) == defined_runs(month)


@examples(0.6)
@given(observations(), st.data())
def test_a_fold_that_goes_on_from_stored_runs_gives_the_same(
    some: list[model.Observation], data: st.DataObject
) -> None:
    width = len(PARTITIONS.value_fields)
    for month in months(some):
        cut = data.draw(st.integers(0, len(month)))
        coder = Coder(PARTITIONS)
        steps = coded(coder, month)
        before = fold(width, steps[:cut])
        kept = before.exceptions()
        after = Fold(width, before.told, before.open_runs(), kept)
        for told, rows in steps[cut:]:
            after.observe(told, rows)
        runs = Runs.joined([before.closed_runs(), every_run(after)], width)
        assert plain_runs(coder, runs, month) == defined_runs(month)
        whole = fold(width, steps)
        assert cells(Exceptions.joined([kept, after.exceptions()])) == cells(whole.exceptions())


def cells(some: Exceptions) -> list[tuple[int, int, int]]:
    return sorted(zip(some.places.tolist(), some.keys.tolist(), some.columns.tolist(), strict=True))


@examples(0.6)
@given(observations())
def test_runs_and_exceptions_give_every_observation_back(some: list[model.Observation]) -> None:
    for month in months(some):
        coder = Coder(PARTITIONS)
        steps = coded(coder, month)
        found = fold(len(PARTITIONS.value_fields), steps)
        exceptions = found.exceptions()
        assert len(set(cells(exceptions))) == len(exceptions)
        back = list(told_rows(every_run(found), exceptions, found.told))
        assert [sorted(plain_rows(coder, rows)) for _, rows in back] == [
            sorted(plain_rows(coder, rows)) for _, rows in steps
        ]


def unknown_inside(month: Sequence[model.Observation]) -> list[tuple[object, ...]]:
    """By the definition: what observations inside a run lack of what it knows, in columns that they tell at all."""
    found: list[tuple[object, ...]] = []
    for run in model.fold(month):
        for place, one in enumerate(month):
            if not run.first.place <= one.place <= run.last.place:
                continue
            if run.key not in one.rows:
                found.append((place, run.key, "whole row"))
                continue
            told = {name for row in one.rows.values() for name in row}
            lacking = told & run.values.keys() - one.rows[run.key].keys()
            found += [(place, run.key, NAMES[name]) for name in lacking]
    return sorted(found)


FIRST, SECOND = ("orders", 0), ("orders", 1)
LATER_KNOWN = [
    observed(0, {FIRST: {"leader": 0}, SECOND: {"isr": 0}}),
    observed(1, {SECOND: {"isr": 0}}, whole=False),
    observed(2, {FIRST: {"leader": 0, "isr": 1}}, whole=False),
]


@examples(0.6)
@example(LATER_KNOWN)
@given(observations())
def test_exceptions_are_what_observations_did_not_know_and_no_more(some: list[model.Observation]) -> None:
    names = [field.name for field in PARTITIONS.value_fields]
    for month in months(some):
        coder = Coder(PARTITIONS)
        found = fold(len(names), coded(coder, month)).exceptions()
        keys = [column.to_list() for column in coder.key_columns(found.keys).values()]
        columns = ["whole row" if at < 0 else names[at] for at in found.columns.tolist()]
        plain = zip(found.places.tolist(), zip(*keys, strict=True), columns, strict=True)
        assert sorted(plain) == unknown_inside(month)


@examples(0.5)
@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=8))
def test_lists_come_back_from_their_numbers(lists: list[list[int]]) -> None:
    paths = Paths()
    column = column_from_values(schema.Kind.INT_LIST, [*lists, *lists[:2]])
    assert isinstance(column, IntListColumn)
    numbers = paths.of_lists(column)
    assert paths.lists(numbers, None).to_list() == [*lists, *lists[:2]]
    assert len(set(numbers.tolist())) == len({tuple(one) for one in lists})


def test_of_two_rows_of_one_key_the_first_counts() -> None:
    rows = [{"broker": 1, "rack": "a"}, {"broker": 0, "rack": "z"}, {"broker": 1, "rack": "b"}]
    coder = Coder(TABLES[1])
    assert plain_rows(coder, coder.code(Table.from_rows(schema.BROKERS, rows))) == [
        ((0,), "[('rack', 'z')]"),
        ((1,), "[('rack', 'a')]"),
    ]


def test_a_null_that_is_a_value_is_known() -> None:
    coder = Coder(TABLES[2])
    online = coder.code(Table.from_rows(schema.LOG_DIRS, [{"broker": 1, "path": "/data"}]))
    failed = coder.code(Table.from_rows(schema.LOG_DIRS, [{"broker": 1, "path": "/data", "error": "KAFKA_STORAGE"}]))
    names = [field.name for field in coder.table.value_fields]
    assert [name for name, code in zip(names, online.values[0], strict=True) if code != UNKNOWN] == ["error"]
    assert online.values[0, names.index("error")] != failed.values[0, names.index("error")]
    assert coder.columns(online)["error"].to_list() == [None]


def test_every_column_of_a_snapshot_is_a_key_or_state_or_measured() -> None:
    assert [table.of for table in TABLES] == list(schema.TABLES)
    for table in TABLES:
        parts = [*table.keys, *(field.name for field in table.value_fields), *table.measured]
        assert sorted(parts) == sorted(table.of.names)
        assert table.null_says <= {field.name for field in table.value_fields if field.nullable}


@pytest.mark.parametrize(
    ("source", "kind", "partial"),
    [
        ("kafka", None, set()),
        ("kafka", "hidden-topics", {"partitions", "replicas", "configs", "groups"}),
        ("zookeeper", "silent-brokers", {"log_dirs", "replicas", "configs"}),
        ("kcat-json", "torn-read", {table.name for table in TABLES}),
        ("kafka", "of another version", {table.name for table in TABLES}),
        ("describe-text", None, {table.name for table in TABLES}),
        ("parquet", None, {table.name for table in TABLES}),
    ],
)
def test_tables_of_which_a_snapshot_may_lack_rows(
    snapshot_with, source: str, kind: str | None, partial: set[str]
) -> None:
    gaps = () if kind is None else (Gap(kind, "", 1),)
    snapshot = snapshot_with([], source=source, gaps=gaps)
    assert {table.name for table in TABLES if not is_whole(table, snapshot)} == partial
    assert [table.name for table in TABLES if is_told(table, snapshot)] == ["partitions"]


def test_keys_are_numbered_without_holes() -> None:
    coder = Coder(PARTITIONS)
    rows = [{"topic": topic, "partition": number} for topic in "ba" for number in (70_000, 3)]
    numbers = coder.code(Table.from_rows(schema.PARTITIONS, rows)).keys
    assert sorted(numbers.tolist()) == [0, 1, 2, 3]
    assert coder.key_count == 4
    assert np.array_equal(coder.keys(Table.from_rows(schema.PARTITIONS, rows[:1])), numbers[-1:])
