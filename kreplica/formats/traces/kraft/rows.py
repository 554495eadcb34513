"""Rows of a judged trace."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.model.tables.rows import Int32, Meaning


class TraceChange(Struct, frozen=True):
    """A change that a rule explains, or a record that none does."""

    offset: Annotated[int, Meaning("offset of the record")]
    timestamp: Annotated[int | None, Meaning("when it was written, ms since the epoch", label="TIME", drop=1)]
    topic: Annotated[str | None, Meaning("topic, null for a record about no partition")]
    partition: Annotated[Int32 | None, Meaning("partition index")]
    rule: Annotated[TraceRule | None, Meaning("decision that made the change, null where it is refused")]
    refused: Annotated[str | None, Meaning("why no rule explains it, null where one does", fold=True)]
