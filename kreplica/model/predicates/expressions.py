"""A small language of expressions over the columns of a partition.

A predicate is declared once in it (partitions.py) and evaluated where the data is: over arrays by
evaluate.py, as Spark columns by analyzers/columns.py. A generated-rows test holds the two equal, nulls
included.

Nulls follow SQL: an operation on null gives null, ``false and null`` is false, ``true or null`` is true, and a
condition that is null is not met. The meaning of each node is in its docstring; both evaluators keep to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class Expression(Struct, frozen=True):
    """Base of all nodes; the operators build larger expressions."""

    def __and__(self, other: Expression) -> Expression:
        return And(self, other)

    def __or__(self, other: Expression) -> Expression:
        return Or(self, other)

    def __invert__(self) -> Expression:
        return Not(self)

    def __sub__(self, other: Expression) -> Expression:
        return Minus(self, other)

    def __mul__(self, other: Expression | int) -> Expression:
        return Times(self, _constant(other))

    def __gt__(self, other: Expression | int) -> Expression:
        return Compare(">", self, _constant(other))

    def __lt__(self, other: Expression | int) -> Expression:
        return Compare("<", self, _constant(other))

    def equals(self, other: Expression | int) -> Expression:
        """Equality as an expression (``==`` compares the trees themselves)."""
        return Compare("==", self, _constant(other))

    def differs(self, other: Expression | int) -> Expression:
        """Inequality as an expression."""
        return Compare("!=", self, _constant(other))

    def operands(self) -> Iterator[Expression]:
        """The expressions directly below this one."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Expression):
                yield value

    def column_names(self) -> frozenset[str]:
        """Names of all partition columns the expression reads."""
        own = frozenset({self.name}) if isinstance(self, Column) else frozenset[str]()
        return own.union(*(operand.column_names() for operand in self.operands()))


def _constant(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else Constant(value)


class Column(Expression, frozen=True):
    """The field of that name: of the partitions table, or of the facts of a group in a group rule."""

    name: str


class Alive(Expression, frozen=True):
    """A boolean: true if the broker of that id is live, as ClusterSnapshot.is_alive says."""

    broker: Expression


class RackCount(Expression, frozen=True):
    """An integer, the same for every partition of a snapshot: distinct racks of its brokers.

    Null if any broker has no known rack, or no broker is known.
    """


class RacksOf(Expression, frozen=True):
    """Integer: number of distinct racks of a list's brokers; null if one of them has no known rack."""

    brokers: Expression


class Constant(Expression, frozen=True):
    """An integer."""

    value: int


class OrEmpty(Expression, frozen=True):
    """A list, the empty list in place of null."""

    items: Expression


class Size(Expression, frozen=True):
    """Number of elements of a list, repeats counted."""

    items: Expression


class Difference(Expression, frozen=True):
    """Elements of one list that another lacks, in order, without repeats (as Spark's array_except)."""

    items: Expression
    without: Expression


class Contains(Expression, frozen=True):
    """A boolean: true if a list has an element; null if either is null."""

    items: Expression
    element: Expression


class Overlaps(Expression, frozen=True):
    """A boolean: true if two lists have an element in common."""

    left: Expression
    right: Expression


class First(Expression, frozen=True):
    """First element of a list; null if it is empty."""

    items: Expression


class Minus(Expression, frozen=True):
    """Difference of two integers."""

    left: Expression
    right: Expression


class Times(Expression, frozen=True):
    """Product of two integers."""

    left: Expression
    right: Expression


class Least(Expression, frozen=True):
    """The smaller of two integers; null if either is null."""

    left: Expression
    right: Expression


class Compare(Expression, frozen=True):
    """Comparison of two integers: one of ``== != < <= > >=``."""

    operator: str
    left: Expression
    right: Expression


class And(Expression, frozen=True):
    """Both; false wins over null."""

    left: Expression
    right: Expression


class Or(Expression, frozen=True):
    """Either; true wins over null."""

    left: Expression
    right: Expression


class Not(Expression, frozen=True):
    """The opposite; null stays null."""

    operand: Expression


class OrFalse(Expression, frozen=True):
    """A boolean, false in place of null."""

    operand: Expression


class If(Expression, frozen=True):
    """One of two integers; a condition that is null counts as not met (SQL's CASE WHEN)."""

    condition: Expression
    then: Expression
    otherwise: Expression
