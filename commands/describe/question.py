"""The question that describe answers: filters, grouping, narrowing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from commands.shared.options.common import narrowed


class GroupBy(StrEnum):
    """Keys by which matching partitions are grouped."""

    broker = "broker"
    rack = "rack"
    topic = "topic"
    cause = "cause"


@dataclass(frozen=True, slots=True)
class Question:
    """The question that the options ask.

    Args:
        filters: Names of predicates; a partition is listed when any of them holds.
        everything: List all partitions.
        group_by: Group by this key instead of listing.
        topics, exclude_internal, brokers: Selection of partitions.
        timed: Rows have ``taken_at``, since there are many rounds.
        measure: Seconds between two readings of the positions of missing replicas; None not to measure.
        most_age: Greatest age of a dump, in seconds; any age if None.
    """

    filters: tuple[str, ...]
    everything: bool
    group_by: GroupBy | None
    topics: str | None
    exclude_internal: bool
    brokers: tuple[int, ...]
    timed: bool = False
    measure: float | None = None
    most_age: float | None = None

    def words(self) -> str:
        """The options that select partitions, for the next commands, a space before each."""
        return narrowed(self.topics, self.exclude_internal, self.brokers)

    def topic_words(self) -> str:
        """The same for commands that know no --broker."""
        return narrowed(self.topics, self.exclude_internal)
