"""Rows of a rehearsal: a move of the plan and what came of it in all performances."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from kreplica.model.tables.rows import Int32, Meaning, of_partition


class RehearsedMove(Struct, frozen=True):
    """A move that was played."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_replicas: Annotated[list[Int32], Meaning("replicas before, the preferred leader first")] = field(name="from")
    to_replicas: Annotated[list[Int32], Meaning("replicas afterwards, the preferred leader first")] = field(name="to")
    kinds: Annotated[list[str], Meaning("kinds of this move", screen=False)]
    chosen_for: Annotated[str, Meaning("the kind of which it was chosen: the largest that was left", drop=3)]
    runs_lost: Annotated[int, Meaning("runs in which acknowledged records were lost")]
    lost: Annotated[int, Meaning("most acknowledged records that were lost in one run", drop=2)]
    runs_unseen: Annotated[int, Meaning("runs at whose end acknowledged records could not be read", drop=1)]
    unseen: Annotated[int, Meaning("most acknowledged records that could not be read in one run", screen=False)]
    runs_unfinished: Annotated[int, Meaning("runs at whose end the move was not done", drop=2)]
    unwritten_ms: Annotated[
        float, Meaning("longest time in one run in which it took no writes, in milliseconds", label="MS WITHOUT WRITES")
    ]
    worst_seed: Annotated[
        int | None, Meaning("seed of the run that was worst for it, null where nothing happened to it", label="SEED")
    ]
