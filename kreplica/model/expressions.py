"""A small language of expressions over the columns of a partition.

A predicate is declared once in it (model/predicates.py) and evaluated where the data is: over arrays by
model/evaluate.py, as Spark columns by analyzers/columns.py. A generated-rows test holds the two equal, nulls
included.

Nulls follow SQL: an operation on null gives null, ``false and null`` is false, ``true or null`` is true, and a
condition that is null is not met. The meaning of each node is in its docstring; both evaluators keep to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields


class Expression:
    """Base of all nodes; the operators build larger expressions."""

    __slots__ = ()

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
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Expression):
                yield value

    def column_names(self) -> frozenset[str]:
        """Names of all partition columns the expression reads."""
        own = frozenset({self.name}) if isinstance(self, Column) else frozenset[str]()
        return own.union(*(operand.column_names() for operand in self.operands()))


def _constant(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else Constant(value)


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """The field of that name: of the partitions table, or of the facts of a group in a group rule."""

    name: str


@dataclass(frozen=True, slots=True)
class Alive(Expression):
    """A boolean: true if the broker of that id is live, as ClusterSnapshot.is_alive says."""

    broker: Expression


@dataclass(frozen=True, slots=True)
class RackCount(Expression):
    """An integer, the same for every partition of a snapshot: distinct racks of its brokers.

    Null if any broker has no known rack, or no broker is known.
    """


@dataclass(frozen=True, slots=True)
class RacksOf(Expression):
    """Integer: number of distinct racks of a list's brokers; null if one of them has no known rack."""

    brokers: Expression


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class OrEmpty(Expression):
    """A list, the empty list in place of null."""

    items: Expression


@dataclass(frozen=True, slots=True)
class Size(Expression):
    """Number of elements of a list, repeats counted."""

    items: Expression


@dataclass(frozen=True, slots=True)
class Difference(Expression):
    """Elements of one list that another lacks, in order, without repeats (as Spark's array_except)."""

    items: Expression
    without: Expression


@dataclass(frozen=True, slots=True)
class Contains(Expression):
    """A boolean: true if a list has an element; null if either is null."""

    items: Expression
    element: Expression


@dataclass(frozen=True, slots=True)
class Overlaps(Expression):
    """A boolean: true if two lists have an element in common."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class First(Expression):
    """First element of a list; null if it is empty."""

    items: Expression


@dataclass(frozen=True, slots=True)
class Minus(Expression):
    """Difference of two integers."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Times(Expression):
    """Product of two integers."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Least(Expression):
    """The smaller of two integers; null if either is null."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """Comparison of two integers: one of ``== != < <= > >=``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    """Both; false wins over null."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """Either; true wins over null."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The opposite; null stays null."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class OrFalse(Expression):
    """A boolean, false in place of null."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class If(Expression):
    """One of two integers; a condition that is null counts as not met (SQL's CASE WHEN)."""

    condition: Expression
    then: Expression
    otherwise: Expression
