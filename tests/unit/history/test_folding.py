"""The fold over arrays against the definition: the same runs, in one go or step by step, and every observation back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from examples import examples
from histories.observations import observations, observed
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.history import model
from kreplica.history.coding import UNKNOWN, Coded, Coder, Paths
from kreplica.history.folding import Exceptions, Fold, Runs, Told, fold, told_rows
from kreplica.history.months.alignment import Beside, differing_rows, known_columns
from kreplica.history.tables import TABLES, is_told, is_whole
from kreplica.model.snapshot import Gap
from kreplica.model.tables import schema
from kreplica.model.tables.columns import IntListColumn, column_from_values
from kreplica.model.tables.table import Table

PARTITIONS = TABLES[0]
MEANT = {"leader": (0, 7, -1), "elr": ([], [1], [1, -2]), "topic_id": ("", "a", "ä")}
"""Values that the numbers of the drawn observations stand for, in columns of three kinds."""
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
        rows = table_of(one)
        found.append((Told(place, known_columns(PARTITIONS, rows), one.whole), coder.code(rows)))
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
    for month in months(some):
        coder = Coder(PARTITIONS)
        found = fold(len(PARTITIONS.value_fields), coded(coder, month)).exceptions()
        assert plain_exceptions(coder, found) == unknown_inside(month)


def plain_exceptions(coder: Coder, found: Exceptions) -> list[tuple[object, ...]]:
    names = [field.name for field in PARTITIONS.value_fields]
    keys = [column.to_list() for column in coder.key_columns(found.keys).values()]
    columns = ["whole row" if at < 0 else names[at] for at in found.columns.tolist()]
    return sorted(zip(found.places.tolist(), zip(*keys, strict=True), columns, strict=True))


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


def test_few_rows_of_a_large_table_have_the_codes_of_all_of_it() -> None:
    rows = [{"topic": f"t{number}", "partition": 0, "topic_id": (None, "a", "b")[number % 3]} for number in range(9)]
    table = Table.from_rows(schema.PARTITIONS, [{**row, "internal": False, "replicas": [], "isr": []} for row in rows])
    coder, few = Coder(PARTITIONS), table.take(np.array([6, 1, 2]))
    first = plain_rows(coder, coder.code(few))
    assert first == [(("t6", 0), first[0][1]), (("t1", 0), first[1][1]), (("t2", 0), first[2][1])]
    assert ["'topic_id', 'a'" in row[1] for row in first] == [False, True, False]
    assert np.array_equal(coder.keys(table)[[6, 1, 2]], coder.keys(few))
    assert np.array_equal(coder.values(table)[[6, 1, 2]], coder.values(few))
    assert len(coder.code(table.take(np.array([], np.int64))).keys) == 0


def test_a_null_that_is_a_value_is_known() -> None:
    coder = Coder(TABLES[2])
    online = coder.code(Table.from_rows(schema.LOG_DIRS, [{"broker": 1, "path": "/data"}]))
    failed = coder.code(Table.from_rows(schema.LOG_DIRS, [{"broker": 1, "path": "/data", "error": "KAFKA_STORAGE"}]))
    names = [field.name for field in coder.table.value_fields]
    assert [name for name, code in zip(names, online.values[0], strict=True) if code != UNKNOWN] == ["error"]
    assert online.values[0, names.index("error")] != failed.values[0, names.index("error")]
    assert coder.columns(online)["error"].to_list() == [None]


@pytest.mark.parametrize(
    ("leaders", "places"),
    [
        ({"a": [1, 2], "b": [3]}, []),
        ({"a": [1, 7], "b": [3]}, [1]),
        ({"a": [None, 2], "b": [None]}, [0, 2]),
        ({"a": [1, 2]}, None),
        ({"a": [1], "b": [2, 3]}, None),
        ({"a": [1, 2], "c": [3]}, None),
    ],
    ids=["the same", "another leader", "not known", "fewer", "other numbers", "another topic"],
)
def test_rows_that_differ_from_stored_runs(leaders: dict[str, list[int | None]], places: list[int] | None) -> None:
    runs = [("a", 0, 1), ("a", 1, 2), ("b", 0, 3)]
    fixed = {"internal": False, "replicas": [1], "isr": [1]}

    def stored(*last: int | None) -> Table:
        rows = zip(runs, last, strict=True)
        return Table.from_rows(
            PARTITIONS.runs,
            [
                {"topic": run[0], "partition": run[1], "leader": run[2], **fixed, "first_observation": 0}
                | {"last_observation": place}
                for run, place in rows
            ],
        )

    some = [(topic, number, one) for topic, of in leaders.items() for number, one in enumerate(of)]
    rows = Table.from_rows(
        schema.PARTITIONS, [{"topic": some[0], "partition": some[1], "leader": some[2], **fixed} for some in some]
    )
    found = differing_rows(PARTITIONS, stored(None, None, None), rows)
    assert (None if found is None else found.tolist()) == places
    if places is not None:
        missed = differing_rows(PARTITIONS, stored(None, 4, None), rows)
        assert missed is not None
        assert set(missed.tolist()) == {*places, 1}


def test_runs_that_were_folded_take_their_places_among_the_others() -> None:
    table = Table.from_rows(schema.BROKERS, [{"broker": number, "rack": "ab"[number % 2]} for number in range(4)])
    others = Table.from_rows(schema.BROKERS, [{"broker": 1, "rack": "c"}, {"broker": 3}])
    beside = Beside(table, np.array([1, 3]))
    assert beside.with_rows(others)["rack"].to_list() == ["a", "c", "a", None]
    assert beside.with_rows(others)["broker"].to_list() == [0, 1, 2, 3]


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
        ("kcat-json-topic", None, {table.name for table in TABLES}),
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


def told_of(*rows: dict[str, int]) -> model.Observation:
    """What an observation knows of the partitions of one topic."""
    return model.Observation(0, "", whole=True, rows={("a", number): row for number, row in enumerate(rows)})


IN_SYNC = told_of({"leader": 0, "isr": 1}, {"leader": 0, "isr": 1})
ONE_UNKNOWN = told_of({"leader": 0}, {"leader": 0, "isr": 1})
MOVED = told_of({"leader": 1, "isr": 1}, {"leader": 0, "isr": 1})


def in_order(*some: model.Observation) -> list[model.Observation]:
    return [replace(one, taken_at=number, digest=f"{number}") for number, one in enumerate(some)]


@examples(0.6)
@example(in_order(IN_SYNC, ONE_UNKNOWN, IN_SYNC), [2])
@example(in_order(IN_SYNC, MOVED, IN_SYNC), [1, 2])
@given(observations(), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_rows_that_are_told_again_fold_by_the_definition(some: list[model.Observation], times: list[int]) -> None:
    """Of files with the same bytes rows or columns are one object, which is not compared again."""
    for first in months(some):
        month: list[model.Observation] = []
        steps: list[tuple[Told, Coded]] = []
        coder = Coder(PARTITIONS)
        before: Table | None = None
        for number, one in enumerate(first):
            table = before = with_columns_of(table_of(one), before)
            told = known_columns(PARTITIONS, table)
            for again in range(times[number % len(times)]):
                month.append(replace(one, digest=f"{one.digest} {again}"))
                steps.append((Told(len(steps), told, one.whole), coder.code(table)))
        found = fold(len(PARTITIONS.value_fields), steps)
        assert plain_runs(coder, every_run(found), month) == defined_runs(month)
        assert plain_exceptions(coder, found.exceptions()) == unknown_inside(month)


def with_columns_of(table: Table, before: Table | None) -> Table:
    """The table; columns that are equal to those of another are the same objects."""
    if before is None:
        return table
    columns = {
        name: before[name] if before[name].to_list() == column.to_list() else column
        for name, column in table.columns.items()
    }
    return Table(table.schema, columns)
