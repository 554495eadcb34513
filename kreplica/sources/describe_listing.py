"""What has been read of a `kafka-topics --describe` text: headers, partition lines, and what else stood there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kreplica.errors import InputError


@dataclass(frozen=True, slots=True)
class Header:
    """A topic's first line."""

    line: int
    topic: str
    topic_id: str | None
    partition_count: int
    replication_factor: int
    settings: Mapping[str, str]
    spaced: bool


class PartitionLine(NamedTuple):
    """A partition's line; a list is None where nothing is printed for it. (A tuple: there may be 200,000.)"""

    line: int
    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None

    def moving(self) -> bool:
        """Whether the line tells of a reassignment."""
        return self.adding is not None


@dataclass(slots=True)
class Listing:
    """What has been read so far."""

    source: str
    headers: dict[str, Header] = field(default_factory=dict)
    partitions: list[PartitionLine] = field(default_factory=list)
    topic_start: int = 0
    prints_elr: bool | None = None
    lower_case: bool = False
    log_lines: int = 0
    marked_for_deletion: dict[str, None] = field(default_factory=dict)
    absent_topics: list[str] = field(default_factory=list)
    id_lists: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def refuse(self, line: int, reason: str, fix: str = "") -> InputError:
        """The error for a line."""
        return InputError(self.source, f"line {line}", reason, fix)
