"""Compiles the expressions of kreplica.model into Spark columns, of built-in functions only.

Spark sees what it computes, and no row ever passes through Python. Each node means what its docstring in
kreplica/model/predicates/expressions.py says; a test on generated rows, nulls included, holds this and evaluate.py
beside it equal. The functions are chosen so that they mean the same whether ANSI mode is on or off (``array_size`` and
not ``size``, ``get`` and not ``element_at``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.expressions import Expression

if TYPE_CHECKING:
    from pyspark.sql import Column

LIVE_BROKERS = "_live_brokers"
"""Ids of the snapshot's brokers that are alive; null if the source knows no brokers at all."""
UNSURE_BROKERS = "_unsure_brokers"
"""Ids of the snapshot's brokers that may or may not be alive."""
RACKS = "_racks"
"""Map from broker id to the number of its rack, brokers of no known rack left out; null if there are no brokers."""
RACK_COUNT = "_rack_count"
"""Distinct racks of all brokers; null if any broker has no known rack."""

CLUSTER_COLUMNS = (LIVE_BROKERS, UNSURE_BROKERS, RACKS, RACK_COUNT)
"""Columns with one value for all partitions of a snapshot; analyzers/reading/frames.py joins them to the partitions."""


class Sql(Expression, frozen=True):
    """A condition in Spark SQL, as a user's rule has it; only Spark evaluates it.

    Args:
        text: The condition.
    """

    text: str


_COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Compiler:
    """Turns expressions into columns of one DataFrame.

    Args:
        columns: Column by name; what is left out is read from the DataFrame's column of that name.
        parts: Columns of expressions that are computed already.
    """

    def __init__(
        self, columns: Mapping[str, Column] | None = None, parts: Mapping[Expression, Column] | None = None
    ) -> None:
        self._columns, self._parts = columns or {}, parts or {}

    def column(self, expression: Expression) -> Column:
        """The expression as a Spark column."""
        if expression in self._parts:
            return self._parts[expression]
        return _HANDLERS[type(expression)](self, expression)

    def read(self, name: str) -> Column:
        """The column of that name."""
        return self._columns[name] if name in self._columns else F.col(name)


def _read(compiler: Compiler, node: ex.Column) -> Column:
    return compiler.read(node.name)


def _constant(_: Compiler, node: ex.Constant) -> Column:
    return F.lit(node.value)


def _sql(_: Compiler, node: Sql) -> Column:
    return F.expr(f"({node.text}\n)")


def _alive(compiler: Compiler, node: ex.Alive) -> Column:
    broker = compiler.column(node.broker)
    live, unsure = compiler.read(LIVE_BROKERS), compiler.read(UNSURE_BROKERS)
    unknown = broker.isNull() | live.isNull() | F.array_contains(unsure, broker)
    return F.when(unknown, F.lit(None)).otherwise(F.array_contains(live, broker))


def _rack_count(compiler: Compiler, _: ex.RackCount) -> Column:
    return compiler.read(RACK_COUNT)


def _racks_of(compiler: Compiler, node: ex.RacksOf) -> Column:
    racks = compiler.read(RACKS)
    found = F.transform(compiler.column(node.brokers), lambda broker: F.try_element_at(racks, broker))
    # Wrapped into an array of one, the list has a name and is made once, not once for each use.
    distinct = F.transform(F.array(found), lambda some: F.when(_all_known(some), F.array_size(F.array_distinct(some))))
    return F.get(distinct, F.lit(0))


def _all_known(items: Column) -> Column:
    return ~F.exists(items, lambda item: item.isNull())


def _or_empty(compiler: Compiler, node: ex.OrEmpty) -> Column:
    return F.coalesce(compiler.column(node.items), F.array().cast("array<int>"))


def _size(compiler: Compiler, node: ex.Size) -> Column:
    return F.array_size(compiler.column(node.items))


def _difference(compiler: Compiler, node: ex.Difference) -> Column:
    return F.array_except(compiler.column(node.items), compiler.column(node.without))


def _contains(compiler: Compiler, node: ex.Contains) -> Column:
    return F.array_contains(compiler.column(node.items), compiler.column(node.element))


def _overlaps(compiler: Compiler, node: ex.Overlaps) -> Column:
    return F.arrays_overlap(compiler.column(node.left), compiler.column(node.right))


def _first(compiler: Compiler, node: ex.First) -> Column:
    return F.get(compiler.column(node.items), F.lit(0))


def _minus(compiler: Compiler, node: ex.Minus) -> Column:
    return compiler.column(node.left).cast("bigint") - compiler.column(node.right).cast("bigint")


def _times(compiler: Compiler, node: ex.Times) -> Column:
    return compiler.column(node.left).cast("bigint") * compiler.column(node.right).cast("bigint")


def _least(compiler: Compiler, node: ex.Least) -> Column:
    left, right = compiler.column(node.left), compiler.column(node.right)
    # Spark's least() passes over nulls; here one null makes the answer null.
    return F.when(left.isNotNull() & right.isNotNull(), F.least(left, right))


def _compare(compiler: Compiler, node: ex.Compare) -> Column:
    return _COMPARISONS[node.operator](compiler.column(node.left), compiler.column(node.right))


def _and(compiler: Compiler, node: ex.And) -> Column:
    # Spark stops at the first term that is false, so that what is dear comes last; the order means nothing else.
    terms = sorted(_terms(node), key=_cost)
    return reduce(and_, (compiler.column(term) for term in terms))


def _terms(node: Expression) -> list[Expression]:
    return [*_terms(node.left), *_terms(node.right)] if isinstance(node, ex.And) else [node]


_DEAR = (ex.Difference, ex.RacksOf)
"""Nodes that make a list of their own for each row."""


def _cost(node: Expression) -> int:
    return isinstance(node, _DEAR) + sum(map(_cost, node.operands()))


def _or(compiler: Compiler, node: ex.Or) -> Column:
    return compiler.column(node.left) | compiler.column(node.right)


def _not(compiler: Compiler, node: ex.Not) -> Column:
    return ~compiler.column(node.operand)


def _or_false(compiler: Compiler, node: ex.OrFalse) -> Column:
    return F.coalesce(compiler.column(node.operand), F.lit(False))


def _if(compiler: Compiler, node: ex.If) -> Column:
    then, otherwise = compiler.column(node.then), compiler.column(node.otherwise)
    return F.when(compiler.column(node.condition), then).otherwise(otherwise)


_HANDLERS: dict[type[Expression], Callable[..., Column]] = {
    ex.Column: _read,
    ex.Constant: _constant,
    ex.Alive: _alive,
    ex.RackCount: _rack_count,
    ex.RacksOf: _racks_of,
    ex.OrEmpty: _or_empty,
    ex.Size: _size,
    ex.Difference: _difference,
    ex.Contains: _contains,
    ex.Overlaps: _overlaps,
    ex.First: _first,
    ex.Minus: _minus,
    ex.Times: _times,
    ex.Least: _least,
    ex.Compare: _compare,
    ex.And: _and,
    ex.Or: _or,
    ex.Not: _not,
    ex.OrFalse: _or_false,
    ex.If: _if,
    Sql: _sql,
}
