"""A view: its columns, and its rows over the time of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kreplica.fleet.cluster import ClusterHistory
from kreplica.model.tables.columns import Column, Integers
from kreplica.model.tables.schema import Field


@dataclass(frozen=True, eq=False)
class ViewRows:
    """Rows of a view in one cluster, by thing and time: what each thing was from one moment to another.

    Args:
        columns: The columns of the view, a value for each row.
        things: Number of the thing that each row is of.
        first: Number of the first moment that shows the row.
        last: The last one.
        ended: The first later one that shows another row of the thing, or none of it; -1 if none does.
        before: The last moment before a row that shows nothing of the thing; -1 if none does.
        tellers: The moments that can tell, in order.
    """

    columns: Mapping[str, Column]
    things: Integers
    first: Integers
    last: Integers
    ended: Integers
    before: Integers
    tellers: Integers

    def __len__(self) -> int:
        return len(self.things)


@dataclass(frozen=True)
class View:
    """A view of a history.

    Args:
        name: Its name.
        about: Meaning of a row, one clause.
        fields: Its columns, with their meanings.
        read: Gives the rows in one cluster.
        sampled: Whether it is told by samples.
    """

    name: str
    about: str
    fields: tuple[Field, ...]
    read: Callable[[ClusterHistory], ViewRows]
    sampled: bool = False

    @cached_property
    def columns(self) -> Mapping[str, Field]:
        """Its columns by name."""
        return {field.name: field for field in self.fields}
