"""Every node of the expression language, over arrays, against an interpreter that goes row by row."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st
from plain import reference as plain_reference

from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Expression
from kreplica.model.tables.columns import column_from_values
from kreplica.model.tables.schema import Kind

Row = Mapping[str, Any]

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
STATES = (True, False, None)


class Plain:
    """Interprets an expression for one row; written from the nodes' docstrings."""

    def __init__(self, row: Row, brokers: list[dict[str, Any]]) -> None:
        self.row, self.brokers = row, brokers

    def value(self, node: Expression) -> Any:
        name = type(node).__name__
        if name in ("Column", "Constant", "Alive", "RackCount", "RacksOf", "OrEmpty", "OrFalse", "And", "Or", "If"):
            return getattr(self, f"of_{name.lower()}")(node)
        operands = [self.value(operand) for operand in node.operands()]
        return None if None in operands else getattr(self, f"on_{name.lower()}")(node, *operands)

    def of_column(self, node: ex.Column) -> Any:
        return self.row[node.name]

    def of_constant(self, node: ex.Constant) -> Any:
        return node.value

    def of_alive(self, node: ex.Alive) -> Any:
        broker = self.value(node.broker)
        states = {row["broker"]: row["alive"] for row in self.brokers}
        return None if broker is None or not states else states.get(broker, False)

    def of_rackcount(self, _: ex.RackCount) -> Any:
        racks = [row["rack"] for row in self.brokers]
        return None if not racks or None in racks else len(set(racks))

    def of_racksof(self, node: ex.RacksOf) -> Any:
        brokers = self.value(node.brokers)
        return None if brokers is None else plain_reference.racks_of({"replicas": brokers}, self.brokers)

    def of_orempty(self, node: ex.OrEmpty) -> Any:
        return self.value(node.items) or []

    def of_orfalse(self, node: ex.OrFalse) -> Any:
        return self.value(node.operand) is True

    def of_and(self, node: ex.And) -> Any:
        both = (self.value(node.left), self.value(node.right))
        return False if False in both else None if None in both else True

    def of_or(self, node: ex.Or) -> Any:
        both = (self.value(node.left), self.value(node.right))
        return True if True in both else None if None in both else False

    def of_if(self, node: ex.If) -> Any:
        return self.value(node.then if self.value(node.condition) is True else node.otherwise)

    def on_size(self, _: ex.Size, items: list[int]) -> int:
        return len(items)

    def on_difference(self, _: ex.Difference, items: list[int], without: list[int]) -> list[int]:
        return [item for item in dict.fromkeys(items) if item not in without]

    def on_contains(self, _: ex.Contains, items: list[int], element: int) -> bool:
        return element in items

    def on_overlaps(self, _: ex.Overlaps, left: list[int], right: list[int]) -> bool:
        return bool(set(left) & set(right))

    def on_first(self, _: ex.First, items: list[int]) -> int | None:
        return items[0] if items else None

    def on_minus(self, _: ex.Minus, left: int, right: int) -> int:
        return left - right

    def on_times(self, _: ex.Times, left: int, right: int) -> int:
        return left * right

    def on_least(self, _: ex.Least, left: int, right: int) -> int:
        return min(left, right)

    def on_compare(self, node: ex.Compare, left: int, right: int) -> bool:
        return bool(COMPARISONS[node.operator](left, right))

    def on_not(self, _: ex.Not, operand: bool) -> bool:
        return not operand


def lists(depth: int = 2) -> st.SearchStrategy[Expression]:
    columns = st.sampled_from([ex.Column(name) for name in ("replicas", "isr", "adding", "removing", "elr")])
    if not depth:
        return columns
    below = lists(depth - 1)
    return st.one_of(columns, st.builds(ex.OrEmpty, below), st.builds(ex.Difference, below, below))


def integers(depth: int = 2) -> st.SearchStrategy[Expression]:
    leaves = st.sampled_from(
        [ex.Column("leader"), ex.Column("min_isr"), ex.Constant(2), ex.Constant(0), ex.RackCount()]
    )
    if not depth:
        return leaves
    below, items = integers(depth - 1), lists(depth - 1)
    return st.one_of(
        leaves,
        *(st.builds(node, items) for node in (ex.Size, ex.First, ex.RacksOf)),
        *(st.builds(node, below, below) for node in (ex.Minus, ex.Times, ex.Least)),
        st.builds(ex.If, booleans(depth - 1), below, below),
    )


def booleans(depth: int = 2) -> st.SearchStrategy[Expression]:
    leaves = st.sampled_from([ex.Column("unclean_leader_election"), ex.Alive(ex.Column("leader"))])
    if not depth:
        return leaves
    below, numbers, items = booleans(depth - 1), integers(depth - 1), lists(depth - 1)
    return st.one_of(
        leaves,
        st.builds(ex.Alive, numbers),
        st.builds(ex.Contains, items, numbers),
        st.builds(ex.Overlaps, items, items),
        st.builds(ex.Compare, st.sampled_from(list(COMPARISONS)), numbers, numbers),
        *(st.builds(node, below, below) for node in (ex.And, ex.Or)),
        *(st.builds(node, below) for node in (ex.Not, ex.OrFalse)),
    )


@given(clusters(), st.lists(st.one_of(lists(), integers(), booleans()), min_size=1, max_size=4))
def test_any_expression_gives_what_its_nodes_say(cluster: Cluster, expressions: list[Expression]) -> None:
    evaluator, brokers = Evaluator(cluster.snapshot()), cluster.brokers
    for expression in expressions:
        expected = [Plain(row, brokers).value(expression) for row in cluster.partitions]
        found = evaluator.column(expression).to_list()
        assert found == expected, expression
        assert [type(value) for value in found] == [type(value) for value in expected]


def test_the_strategies_reach_every_node() -> None:
    nodes = {node for node in vars(ex).values() if isinstance(node, type) and issubclass(node, Expression)}
    names = {node.__name__ for node in nodes if node is not Expression}
    interpreted = {name[3:] for name in dir(Plain) if name.startswith(("of_", "on_"))}
    assert interpreted == {name.lower() for name in names}


def over_states(count: int) -> tuple[Evaluator, list[tuple[bool | None, ...]]]:
    """An evaluator over every combination of true, false and null in columns p, q, r."""
    rows: list[tuple[bool | None, ...]] = [()]
    for _ in range(count):
        rows = [(*row, state) for row in rows for state in STATES]
    columns = {
        name: column_from_values(Kind.BOOL, values)
        for name, values in zip("pqr", zip(*rows, strict=True), strict=False)
    }
    return Evaluator(snapshot_of([]), columns), rows


TRUTH = {
    (True, True): (True, True),
    (True, False): (False, True),
    (True, None): (None, True),
    (False, True): (False, True),
    (False, False): (False, False),
    (False, None): (False, None),
    (None, True): (None, True),
    (None, False): (False, None),
    (None, None): (None, None),
}
"""SQL's and, or."""


def test_truth_tables_of_and_and_or() -> None:
    evaluator, rows = over_states(2)
    p, q = ex.Column("p"), ex.Column("q")
    assert evaluator.boolean(p & q).to_list() == [TRUTH[row][0] for row in rows]  # type: ignore[index]
    assert evaluator.boolean(p | q).to_list() == [TRUTH[row][1] for row in rows]  # type: ignore[index]


def test_truth_tables_of_not_and_or_false() -> None:
    evaluator, rows = over_states(1)
    assert rows == [(True,), (False,), (None,)]
    assert evaluator.boolean(~ex.Column("p")).to_list() == [False, True, None]
    assert evaluator.boolean(ex.OrFalse(ex.Column("p"))).to_list() == [True, False, False]


def test_a_condition_that_is_null_is_not_met() -> None:
    evaluator, _ = over_states(1)
    chosen = ex.If(ex.Column("p"), ex.Constant(1), ex.Constant(2))
    assert evaluator.integer(chosen).to_list() == [1, 2, 2]


def test_null_taken_by_a_condition_stays_null() -> None:
    snapshot = snapshot_of(
        [partition(number=0, leader=None), partition(number=1, leader=None, unclean_leader_election=True)]
    )
    chosen = ex.If(ex.Column("unclean_leader_election"), ex.Column("leader"), ex.Constant(5))
    assert Evaluator(snapshot).integer(chosen).to_list() == [5, None]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (ex.Difference(ex.Column("replicas"), ex.Column("isr")), [3, 1]),
        (ex.Size(ex.Column("replicas")), 5),
        (ex.First(ex.Column("elr")), None),
        (ex.Contains(ex.Column("isr"), ex.Constant(2)), True),
        (ex.Contains(ex.Column("elr"), ex.Constant(2)), False),
    ],
)
def test_repeats_and_empty_lists(expression: Expression, expected: object) -> None:
    row = partition(replicas=[3, 2, 3, 1, 2], isr=[2], elr=[])
    assert Evaluator(snapshot_of([row])).column(expression)[0] == expected


def test_lists_of_one_row_say_nothing_about_its_neighbours() -> None:
    rows = [partition(number=0, replicas=[1], isr=[2]), partition(number=1, replicas=[2], isr=[1])]
    evaluator = Evaluator(snapshot_of(rows))
    overlap = ex.Overlaps(ex.Column("replicas"), ex.Column("isr"))
    assert evaluator.boolean(overlap).to_list() == [False, False]
    assert evaluator.list(ex.Difference(ex.Column("replicas"), ex.Column("isr"))).to_list() == [[1], [2]]


L, R, M, N = ex.Column("l"), ex.Column("r"), ex.Column("m"), ex.Column("n")


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        (ex.Contains(L, N), True),
        (ex.Overlaps(L, R), True),
        (ex.Difference(L, R), []),
        (ex.Minus(M, N), 0),
        (ex.Times(M, N), 1),
        (ex.Least(M, N), 1),
        *((ex.Compare(name, M, N), compare(1, 1)) for name, compare in COMPARISONS.items()),
        (ex.Size(L), 1),
        (ex.First(L), 1),
        (ex.Not(ex.Compare("<", M, N)), True),
        (ex.RacksOf(L), 1),
        (ex.Alive(M), True),
    ],
)
def test_what_works_on_null_gives_null(expression: Expression, first: object) -> None:
    lists, numbers = [[1], None, [1], None], [1, None, 1, None]
    columns = {
        "l": column_from_values(Kind.INT_LIST, lists),
        "r": column_from_values(Kind.INT_LIST, [[1], [1], None, None]),
        "m": column_from_values(Kind.INT32, numbers),
        "n": column_from_values(Kind.INT32, [1, 1, None, None]),
    }
    brokers = [{"broker": 1, "rack": "a", "alive": True}]
    found = Evaluator(snapshot_of([], brokers), columns).column(expression).to_list()
    alone = len(expression.column_names()) == 1
    assert found == [first, None, first if alone else None, None]


def test_racks_are_counted_where_all_are_known() -> None:
    brokers = [{"broker": number, "rack": rack} for number, rack in enumerate(["a", "b", "a", "c", None])]
    lists = [[0], [3], [0, 2], [0, 1], [1, 2, 3, 0], [], [0, 4], [9]]
    snapshot = snapshot_of([partition(number=n, replicas=replicas) for n, replicas in enumerate(lists)], brokers)
    racks = Evaluator(snapshot).integer(ex.RacksOf(ex.Column("replicas")))
    assert racks.to_list() == [1, 1, 1, 2, 3, 0, None, None]
    assert Evaluator(snapshot).integer(ex.RackCount()).to_list() == [None] * len(lists)
    known = snapshot_of([partition()], brokers[:4])
    assert Evaluator(known).integer(ex.RackCount()).to_list() == [3]
    assert Evaluator(snapshot_of([partition()])).integer(ex.RackCount()).to_list() == [None]


@given(st.lists(st.tuples(*[st.lists(st.integers(-2, 30), max_size=24)] * 2), min_size=1, max_size=5))
def test_lists_of_any_length(rows: list[tuple[list[int], list[int]]]) -> None:
    """Far longer than lists of replicas are: where the evaluator takes another way."""
    columns = {
        name: column_from_values(Kind.INT_LIST, values)
        for name, values in zip("lr", zip(*rows, strict=True), strict=True)
    }
    evaluator, left, right = Evaluator(snapshot_of([]), columns), ex.Column("l"), ex.Column("r")
    assert evaluator.list(ex.Difference(left, right)).to_list() == [
        [item for item in dict.fromkeys(one) if item not in other] for one, other in rows
    ]
    assert evaluator.boolean(ex.Overlaps(left, right)).to_list() == [bool(set(one) & set(other)) for one, other in rows]


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 40])
def test_lists_around_the_length_where_the_way_changes(length: int) -> None:
    evaluator = Evaluator(
        snapshot_of([partition(replicas=[7, 99, 7], isr=list(range(8, 8 + length)) + [7] * (length > 0))])
    )
    found = evaluator.list(ex.Difference(ex.Column("replicas"), ex.Column("isr")))[0]
    assert found == ([99] if length else [7, 99])


def test_operators_build_the_trees_they_stand_for() -> None:
    a, b = ex.Column("a"), ex.Column("b")
    assert (a & b, a | b, ~a) == (ex.And(a, b), ex.Or(a, b), ex.Not(a))
    assert (a - b, a * 3) == (ex.Minus(a, b), ex.Times(a, ex.Constant(3)))
    assert (a > 1, a < b) == (ex.Compare(">", a, ex.Constant(1)), ex.Compare("<", a, b))
    assert (a.equals(b), a.differs(2)) == (ex.Compare("==", a, b), ex.Compare("!=", a, ex.Constant(2)))


def test_an_expression_knows_the_columns_it_reads() -> None:
    tree = ex.If(ex.Overlaps(ex.Column("a"), ex.OrEmpty(ex.Column("b"))), ex.Size(ex.Column("a")), ex.Constant(1))
    assert tree.column_names() == {"a", "b"}
    assert ex.RackCount().column_names() == frozenset()


def test_an_expression_of_another_type_is_refused() -> None:
    evaluator = Evaluator(snapshot_of([partition()]))
    for read, expression in (
        (evaluator.boolean, ex.Column("leader")),
        (evaluator.integer, ex.Column("isr")),
        (evaluator.list, ex.Column("leader")),
        (evaluator.column, ex.Column("topic")),
    ):
        with pytest.raises(AssertionError):
            read(expression)
