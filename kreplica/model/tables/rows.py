"""Rows of answers: each field is declared once, with its kind, its meaning and its place on the screen.

A row is a frozen ``msgspec.Struct``, mostly one that the library itself returns. The columns of JSON, CSV and Parquet,
their kinds, the tables on the screen and the reference pages are read off the class::

    class Finding(msgspec.Struct, frozen=True):
        rule: Annotated[str, Meaning("name of the rule")]
        broker: Annotated[Int32 | None, Meaning("broker, null where the rule is about a topic", drop=1)]

Annotations are text until somebody asks for a kind or a meaning: a row costs nothing to declare.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from kreplica.model.tables.schema import PARTITIONS, Kind

if TYPE_CHECKING:
    from msgspec import Struct

Int32: TypeAlias = Annotated[int, Kind.INT32]
"""Ids and indices, which Kafka's protocol holds in 32 bits; a plain int is one of 64."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A column of an answer.

    Args:
        text: Meaning of the field, for the reference.
        label: Title of the column on the screen; the name in capitals if empty.
        screen: Whether the screen shows it.
        drop: Order in which columns are left out where the terminal is too narrow: 1 first; 0 never.
        fold: Whether its text may go on in further lines where the terminal is too narrow.
    """

    text: str
    label: str = ""
    screen: bool = True
    drop: int = 0
    fold: bool = False


def of_partition(name: str, drop: int = 0) -> Meaning:
    """The meaning of a field that partitions of a snapshot have, said once in their schema."""
    return Meaning(PARTITIONS.field(name).doc, drop=drop)


@dataclass(frozen=True, slots=True)
class RowField:
    """One field of a row: its name in every output, its kind and its meaning."""

    name: str
    kind: Kind
    meaning: Meaning

    @property
    def label(self) -> str:
        """Title of its column on the screen."""
        return self.meaning.label or self.name.upper()


def names_of(row: type[Struct]) -> tuple[str, ...]:
    """Names of the columns, in order."""
    return row.__struct_encode_fields__


@cache
def values_of(row: type[Struct]) -> Callable[[Struct], Sequence[object]]:
    """Returns the function that gives the values of a row, in order of the columns."""
    first, *others = row.__struct_fields__
    if others:
        return attrgetter(first, *others)
    only = attrgetter(first)
    return lambda one: (only(one),)


@cache
def fields_of(row: type[Struct]) -> tuple[RowField, ...]:
    """The columns with kinds and meanings.

    Raises:
        TypeError: A field has no meaning.
    """
    hints = get_type_hints(row, include_extras=True)
    pairs = zip(row.__struct_encode_fields__, row.__struct_fields__, strict=True)
    return tuple(_field(f"{row.__name__}.{name}", name, hints[attribute]) for name, attribute in pairs)


def meaning_of(row: type[Struct], name: str) -> Meaning:
    """The meaning of one field, for the field of another row that is the same."""
    return next(field.meaning for field in fields_of(row) if field.name == name)


def kinds_of(row: type[Struct]) -> Mapping[str, Kind]:
    """Kinds of the columns by name."""
    return {field.name: field.kind for field in fields_of(row)}


def _field(of: str, name: str, hint: Any) -> RowField:
    for said in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        if isinstance(said, Meaning):
            return RowField(name, _kind(hint), said)
    raise TypeError(f"{of} has no Meaning")


_KINDS: Mapping[object, Kind] = {bool: Kind.BOOL, int: Kind.INT64, float: Kind.FLOAT64}


def _kind(hint: Any) -> Kind:
    """The kind of a type; of text, objects and lists of anything but integers it is a string."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        named = [said for said in arguments[1:] if isinstance(said, Kind)]
        return named[0] if named else _kind(arguments[0])
    if origin in (Union, types.UnionType):
        (held,) = {_kind(each) for each in arguments if each is not type(None)}
        return held
    if origin in (list, tuple, Sequence) and _KINDS.get(_plain(arguments[0])) is Kind.INT64:
        return Kind.INT_LIST
    return _KINDS.get(hint, Kind.STRING)


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint
