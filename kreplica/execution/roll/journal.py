"""The journal of a roll: ``PLAN.journal`` beside the plan, one JSON object a line, only appended to.

    {"plan": "sha256:...", "at": ..., "event": "named", "wave": 1, "nodes": [3], "led": [["orders", 0, 3, 17], ...]}
    {"plan": "sha256:...", "at": ..., "event": "down",  "wave": 1, "nodes": [3]}
    {"plan": "sha256:...", "at": ..., "event": "done",  "wave": 1, "nodes": [3], "told": false}

``named`` keeps some partitions that each node led then: topic, partition, node, leader epoch. A node that shuts down or
crashes gives up its leaderships, and the next leader of a partition, even the same node, leads it in a higher epoch: a
node that leads one of these in the same epoch has not been restarted. Kafka tells clients neither when a broker started
nor its epoch, so nothing else that a client can read proves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from kreplica.errors import ChangeRefusedError, InputError, UsageError
from kreplica.execution.journal_file import JournalFile, OpenJournal, decode_line, journal_path, open_journal_file


class RollEvent(StrEnum):
    """Kinds of lines."""

    NAMED = "named"
    DOWN = "down"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class RollEntry:
    """One line.

    Args:
        plan: Digest of the plan.
        at: When, UTC, ISO 8601.
        event: ``named``: the nodes were named as the next to restart; ``down``: they were seen down; ``done``: the wave
            is over.
        wave: Number of the wave, from 1 on.
        nodes: Ids of the nodes.
        led: Topic, partition, node and leader epoch of partitions that the nodes led.
        told: True if the operator reported it, false if it was seen in the cluster.
    """

    plan: str
    at: str
    event: RollEvent
    wave: int
    nodes: tuple[int, ...]
    led: tuple[tuple[str, int, int, int], ...] = ()
    told: bool = False


class RollJournal(OpenJournal[RollEntry]):
    """A roll's open, locked journal; made by ``open_roll_journal``."""

    unwritable = UsageError

    def __init__(self, file: JournalFile, digest: str, entries: list[RollEntry]) -> None:
        super().__init__(file, entries)
        self._digest = digest

    def note(
        self,
        event: RollEvent,
        wave: int,
        nodes: Sequence[int],
        led: Sequence[tuple[str, int, int, int]] = (),
        *,
        reported: bool = False,
    ) -> None:
        """Writes a line; it is on disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.append(RollEntry(self._digest, now, event, wave, tuple(nodes), tuple(led), reported))


@contextmanager
def open_roll_journal(plan_path: Path, digest: str) -> Iterator[RollJournal]:
    """Opens the journal of a roll, makes it if there is none, and holds its lock for the length of the block.

    Raises:
        ChangeRefusedError: Another process has it open.
        InputError: It belongs to another plan, or is no journal.
        UsageError: It cannot be written.
    """
    path = journal_path(plan_path)
    held = ChangeRefusedError("somebody else asks for the next wave", f"{path} is locked", "ask again")
    with open_journal_file(path, held) as file:
        yield RollJournal(file, digest, _entries(path, file.found, digest))


def _entries(path: Path, content: bytes, digest: str) -> list[RollEntry]:
    found = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        entry = decode_line(path, number, line, RollEntry, "a roll's journal")
        if entry.plan != digest:
            raise InputError(
                str(path), f"line {number}", "it belongs to another plan", "move it away if that one is of no interest"
            )
        found.append(entry)
    return found
