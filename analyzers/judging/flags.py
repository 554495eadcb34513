"""Each row of partitions classified once: all conditions that an audit asks for, as the bits of one number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from analyzers.columns import Compiler
from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.expressions import Expression

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FLAGS = "flags"
MOST = 31
"""Conditions that fit into one number of 64 bits."""
_TRUE, _UNKNOWN = 1, 2


class Flags:
    """Conditions, two bits of the column ``flags`` for each: true, not known, or neither where it is false.

    Args:
        conditions: The conditions; one that is there twice has one place.
    """

    def __init__(self, conditions: Iterable[Expression]) -> None:
        self._places = {condition: at for at, condition in enumerate(dict.fromkeys(conditions))}
        assert len(self._places) <= MOST, f"{len(self._places)} conditions do not fit into one number"

    @property
    def conditions(self) -> Iterable[Expression]:
        """The conditions, each once."""
        return self._places

    def column(self, compiler: Compiler) -> Column:
        """The number of a row."""
        numbers = [F.coalesce(compiler.column(one).cast("int"), F.lit(_UNKNOWN)) for one in self._places]
        shifted = [F.shiftleft(number.cast("bigint"), 2 * at) for at, number in enumerate(numbers)]
        return reduce(lambda left, right: left.bitwiseOR(right), shifted)

    def true_bits(self, *conditions: Expression) -> int:
        """The bits of which one is set where one of the conditions holds."""
        return self._bits(_TRUE, conditions)

    def unknown_bits(self, *conditions: Expression) -> int:
        """The bits of which one is set where one of the conditions is not known."""
        return self._bits(_UNKNOWN, conditions)

    def _bits(self, bit: int, conditions: Iterable[Expression]) -> int:
        return sum({bit << 2 * self._places[condition] for condition in conditions})

    def is_true(self, *conditions: Expression) -> Column:
        """True if one of them holds."""
        return _has(self.true_bits(*conditions))

    def is_unknown(self, *conditions: Expression) -> Column:
        """True if one of them is not known."""
        return _has(self.unknown_bits(*conditions))

    def only(self, conditions: Iterable[Expression]) -> Column:
        """The number with the bits of all others left out."""
        bits = sum({3 << 2 * self._places[condition] for condition in conditions})
        return F.col(FLAGS).bitwiseAND(F.lit(bits).cast("bigint"))


def _has(bits: int) -> Column:
    return F.col(FLAGS).bitwiseAND(F.lit(bits).cast("bigint")) != F.lit(0)


def with_shared_parts(rows: DataFrame, expressions: Iterable[Expression]) -> tuple[DataFrame, Compiler]:
    """The rows with a column for each part that several expressions have in common, and a compiler that reads them."""
    uses: Counter[Expression] = Counter()
    for expression in expressions:
        _count(expression, uses)
    shared = [part for part, count in uses.items() if count > 1 and not isinstance(part, _SIMPLE)]
    names: dict[Expression, str] = {}
    for height in sorted({_height(part) for part in shared}):
        layer = [part for part in shared if _height(part) == height]
        compiler = Compiler(parts=_columns(names))
        fresh = {part: f"_part_{len(names) + at}" for at, part in enumerate(layer)}
        rows = rows.withColumns({name: compiler.column(part) for part, name in fresh.items()})
        names |= fresh
    return rows, Compiler(parts=_columns(names))


_SIMPLE = (ex.Column, ex.Constant, ex.RackCount)


def _columns(names: Mapping[Expression, str]) -> dict[Expression, Column]:
    return {part: F.col(name) for part, name in names.items()}


def _count(expression: Expression, uses: Counter[Expression]) -> None:
    uses[expression] += 1
    if uses[expression] == 1:
        for operand in expression.operands():
            _count(operand, uses)


def _height(expression: Expression) -> int:
    return 1 + max((_height(operand) for operand in expression.operands()), default=0)
