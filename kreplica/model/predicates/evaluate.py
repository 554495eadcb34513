"""Evaluates expressions over the arrays of a snapshot: whole columns at a time, no loop over partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.expressions import Expression
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, IntListColumn, Mask, StringColumn

_COMPARISONS: dict[str, Callable[..., Mask]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

# Each handler takes the node class it is registered for, which a mapping by class cannot say.
Handler: TypeAlias = Callable[["Evaluator", Any], Column]


class Evaluator:
    """Evaluates expressions over rows of one snapshot; a subexpression met twice is computed once.

    Args:
        snapshot: The cluster, for what is the same in every row: brokers and their racks.
        columns: The rows' columns by name; the snapshot's partitions if left out.
    """

    def __init__(self, snapshot: ClusterSnapshot, columns: Mapping[str, Column] | None = None) -> None:
        self.snapshot = snapshot
        self.columns = snapshot.partitions.columns if columns is None else columns
        self.length = len(next(iter(self.columns.values())))
        self._known: dict[Expression, Column] = {}

    def column(self, expression: Expression) -> Column:
        """The expression's value for each partition."""
        if expression not in self._known:
            self._known[expression] = _HANDLERS[type(expression)](self, expression)
        return self._known[expression]

    def boolean(self, expression: Expression) -> BoolColumn:
        """A column known to be boolean."""
        column = self.column(expression)
        assert isinstance(column, BoolColumn), f"{expression} is not boolean"
        return column

    def integer(self, expression: Expression) -> IntColumn:
        """A column known to hold integers."""
        column = self.column(expression)
        assert isinstance(column, IntColumn), f"{expression} is not an integer"
        return column

    def list(self, expression: Expression) -> IntListColumn:
        """A column known to hold lists."""
        column = self.column(expression)
        assert isinstance(column, IntListColumn), f"{expression} is not a list"
        return column


def _read(evaluator: Evaluator, node: ex.Column) -> Column:
    column = evaluator.columns[node.name]
    assert not isinstance(column, StringColumn), "the language has no strings"
    return column


def _constant(evaluator: Evaluator, node: ex.Constant) -> Column:
    return IntColumn(np.full(evaluator.length, node.value, dtype=np.int64))


def _alive(evaluator: Evaluator, node: ex.Alive) -> Column:
    brokers = evaluator.integer(node.broker)
    distinct, inverse = np.unique(brokers.values, return_inverse=True)
    answers = [evaluator.snapshot.is_alive(int(broker)) for broker in distinct]
    values = np.array([bool(answer) for answer in answers], dtype=np.bool_)
    known = np.array([answer is not None for answer in answers], dtype=np.bool_)
    return BoolColumn(values[inverse], _both(brokers.valid, known[inverse]))


def _rack_count(evaluator: Evaluator, _: ex.RackCount) -> Column:
    racks = evaluator.snapshot.racks
    known = len(evaluator.snapshot.brokers) > 0 and len(racks) == len(evaluator.snapshot.brokers)
    values = np.full(evaluator.length, len(set(racks.values())), dtype=np.int64)
    return IntColumn(values, None if known else np.zeros(evaluator.length, np.bool_))


def _racks_of(evaluator: Evaluator, node: ex.RacksOf) -> Column:
    brokers = evaluator.list(node.brokers)
    racks = evaluator.snapshot.racks
    numbers = {rack: number for number, rack in enumerate(sorted(set(racks.values())))}
    distinct, inverse = np.unique(brokers.values, return_inverse=True)
    places = (racks.get(int(broker)) for broker in distinct)
    codes = np.array([-1 if rack is None else numbers[rack] for rack in places], dtype=np.int64)
    racks_by_element = codes[inverse]
    rows = brokers.row_numbers()
    all_known = np.ones(len(brokers), dtype=np.bool_)
    placed = racks_by_element >= 0
    all_known[rows[~placed]] = False
    pairs = np.unique(rows[placed] * (len(numbers) + 1) + racks_by_element[placed])
    counts = np.bincount(pairs // (len(numbers) + 1), minlength=len(brokers)).astype(np.int64)
    return IntColumn(counts, _both(brokers.valid, all_known))


def _or_empty(evaluator: Evaluator, node: ex.OrEmpty) -> Column:
    items = evaluator.list(node.items)
    if items.valid is None:
        return items
    kept = np.repeat(items.valid, items.lengths())
    return _regrouped(items, kept, None)


def _size(evaluator: Evaluator, node: ex.Size) -> Column:
    items = evaluator.list(node.items)
    return IntColumn(items.lengths(), items.valid)


def _difference(evaluator: Evaluator, node: ex.Difference) -> Column:
    items, without = evaluator.list(node.items), evaluator.list(node.without)
    kept = ~_found_in(items, without) & ~_repeated(items)
    return _regrouped(items, kept, _both(items.valid, without.valid))


def _contains(evaluator: Evaluator, node: ex.Contains) -> Column:
    items, element = evaluator.list(node.items), evaluator.integer(node.element)
    hits = items.values == np.repeat(element.values, items.lengths())
    return BoolColumn(_any_by_row(items, hits), _both(items.valid, element.valid))


def _overlaps(evaluator: Evaluator, node: ex.Overlaps) -> Column:
    left, right = evaluator.list(node.left), evaluator.list(node.right)
    return BoolColumn(_any_by_row(left, _found_in(left, right)), _both(left.valid, right.valid))


def _first(evaluator: Evaluator, node: ex.First) -> Column:
    items = evaluator.list(node.items)
    filled = items.lengths() > 0
    values = np.zeros(len(items), dtype=np.int64)
    values[filled] = items.values[items.offsets[:-1][filled]]
    return IntColumn(values, _both(items.valid, None if bool(filled.all()) else filled))


def _minus(evaluator: Evaluator, node: ex.Minus) -> Column:
    left, right = evaluator.integer(node.left), evaluator.integer(node.right)
    return IntColumn(left.values - right.values, _both(left.valid, right.valid))


def _times(evaluator: Evaluator, node: ex.Times) -> Column:
    left, right = evaluator.integer(node.left), evaluator.integer(node.right)
    return IntColumn(left.values * right.values, _both(left.valid, right.valid))


def _least(evaluator: Evaluator, node: ex.Least) -> Column:
    left, right = evaluator.integer(node.left), evaluator.integer(node.right)
    return IntColumn(np.minimum(left.values, right.values), _both(left.valid, right.valid))


def _compare(evaluator: Evaluator, node: ex.Compare) -> Column:
    left, right = evaluator.integer(node.left), evaluator.integer(node.right)
    return BoolColumn(_COMPARISONS[node.operator](left.values, right.values), _both(left.valid, right.valid))


def _and(evaluator: Evaluator, node: ex.And) -> Column:
    left, right = evaluator.boolean(node.left), evaluator.boolean(node.right)
    true = left.is_true() & right.is_true()
    false = _is_false(left) | _is_false(right)
    return BoolColumn(true, _mask(true | false))


def _or(evaluator: Evaluator, node: ex.Or) -> Column:
    left, right = evaluator.boolean(node.left), evaluator.boolean(node.right)
    true = left.is_true() | right.is_true()
    false = _is_false(left) & _is_false(right)
    return BoolColumn(true, _mask(true | false))


def _not(evaluator: Evaluator, node: ex.Not) -> Column:
    operand = evaluator.boolean(node.operand)
    return BoolColumn(~operand.values, operand.valid)


def _or_false(evaluator: Evaluator, node: ex.OrFalse) -> Column:
    return BoolColumn(evaluator.boolean(node.operand).is_true())


def _if(evaluator: Evaluator, node: ex.If) -> Column:
    met = evaluator.boolean(node.condition).is_true()
    then, otherwise = evaluator.integer(node.then), evaluator.integer(node.otherwise)
    valid = np.where(met, _known(then), _known(otherwise))
    return IntColumn(np.where(met, then.values, otherwise.values), _mask(valid))


_SHORT = 16
"""Lists up to this length are compared index by index, 30 times faster than by the sorting of numpy's sets."""


def _found_in(items: IntListColumn, others: IntListColumn) -> Mask:
    """Marks each element that the other list of its row contains."""
    lengths = others.lengths()
    longest = int(lengths.max(initial=0))
    if longest > _SHORT:
        return np.isin(*_element_keys(items, others))
    found = np.zeros(len(items.values), dtype=np.bool_)
    rows = items.row_numbers()
    for place in range(longest):
        reaching = lengths > place
        other = np.zeros(len(others), dtype=np.int64)
        other[reaching] = others.values[others.offsets[:-1][reaching] + place]
        found |= (items.values == other[rows]) & reaching[rows]
    return found


def _repeated(items: IntListColumn) -> Mask:
    """Marks each element that equals an earlier one of its row."""
    longest = int(items.lengths().max(initial=0))
    rows = items.row_numbers()
    again = np.zeros(len(rows), dtype=np.bool_)
    if longest > _SHORT:
        keys, _ = _element_keys(items, items)
        again[:] = True
        again[np.unique(keys, return_index=True)[1]] = False
        return again
    for back in range(1, longest):
        again[back:] |= (items.values[back:] == items.values[:-back]) & (rows[back:] == rows[:-back])
    return again


def _element_keys(left: IntListColumn, right: IntListColumn) -> tuple[np.ndarray, np.ndarray]:
    """One integer for each (row, element), comparable between the two lists."""
    values = np.concatenate([left.values, right.values])
    low = int(values.min(initial=0))
    span = int(values.max(initial=0)) - low + 1
    return left.row_numbers() * span + (left.values - low), right.row_numbers() * span + (right.values - low)


def _regrouped(items: IntListColumn, kept: Mask, valid: Mask | None) -> IntListColumn:
    lengths = np.bincount(items.row_numbers()[kept], minlength=len(items))
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return IntListColumn(items.values[kept], offsets, valid)


def _any_by_row(items: IntListColumn, hits: Mask) -> Mask:
    found = np.zeros(len(items), dtype=np.bool_)
    found[items.row_numbers()[hits]] = True
    return found


def _known(column: IntColumn) -> Mask:
    return np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid


def _is_false(column: BoolColumn) -> Mask:
    return ~column.values if column.valid is None else ~column.values & column.valid


def _mask(valid: Mask) -> Mask | None:
    return None if bool(valid.all()) else valid


def _both(*masks: Mask | None) -> Mask | None:
    present = [mask for mask in masks if mask is not None]
    return _mask(reduce(np.logical_and, present)) if present else None


_HANDLERS: dict[type[Expression], Handler] = {
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
}
