"""Rows of the answers of kreplica rebalance: elections that could be run, and changes of a plan with their state."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from kreplica.model.rows import Int32, Meaning, of_partition


class ElectionRow(Struct, frozen=True):
    """A partition that its preferred leader does not lead."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_leader: Annotated[Int32 | None, Meaning("who leads now, null if none")] = field(name="from")
    to_leader: Annotated[Int32 | None, Meaning("the preferred leader")] = field(name="to")
    electable: Annotated[bool, Meaning("whether it is alive and in sync, so that it can be elected")]
    reason: Annotated[str, Meaning("why it can be elected, or why not", fold=True)]
    leader_after: Annotated[Int32 | None, Meaning("who leads after the elections; null in a dry run")]
    done: Annotated[bool | None, Meaning("whether the preferred leader leads afterwards; null in a dry run")]


class ChangeRow(Struct, frozen=True):
    """A change of a plan, how far it has come, and the way back."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_leader: Annotated[Int32 | None, Meaning("who led when the plan was made, null if nobody did")] = field(
        name="from"
    )
    to_leader: Annotated[Int32 | None, Meaning("who is to lead")] = field(name="to")
    step: Annotated[Int32, Meaning("number of its step in the plan", drop=2)]
    state: Annotated[
        str,
        Meaning(
            "pending, under-way (begun, and not known how it ended), done, already (led before its turn), failed,"
            " dropped (by cancel or rollback), or drifted (it no longer fits the cluster)"
        ),
    ]
    leader: Annotated[Int32 | None, Meaning("who leads now, null if nobody does or it was not asked", drop=1)]
    reason: Annotated[str, Meaning("what has drifted, why it failed, or who has come to lead since", fold=True)]
    rollback: Annotated[
        str | None,
        Meaning("the way back: pending, under-way, done, already, failed, impossible; null where there is none"),
    ]
    rollback_reason: Annotated[str, Meaning("why it failed or is impossible", fold=True)]
