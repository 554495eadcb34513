"""Journals of plans of all kinds: the header that ties a journal to its plan, opening and reading, phases of a plan.

What an entry holds is a matter of each kind of plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Generic, Protocol

from kreplica.errors import InputError
from kreplica.execution.journal_file import (
    Line,
    OpenJournal,
    carried_out,
    decode_line,
    journal_path,
    open_journal_file,
    read_journal_file,
)


class Operation(StrEnum):
    """Operations on a plan."""

    APPLY = "apply"
    ROLLBACK = "rollback"
    CANCEL = "cancel"


class Phase(StrEnum):
    """Phases of a plan.

    new -> applying -> applied; cancelled from new or applying; rolling-back -> rolled-back from any but new.
    """

    NEW = "new"
    APPLYING = "applying"
    APPLIED = "applied"
    CANCELLED = "cancelled"
    ROLLING_BACK = "rolling-back"
    ROLLED_BACK = "rolled-back"


STARTED, COMPLETED = "started", "completed"
"""Events that every kind of plan has: an operation begins, and has done all it was to do."""

_STARTED = {
    Operation.APPLY: Phase.APPLYING,
    Operation.ROLLBACK: Phase.ROLLING_BACK,
    Operation.CANCEL: Phase.CANCELLED,
}
_COMPLETED = {
    Operation.APPLY: Phase.APPLIED,
    Operation.ROLLBACK: Phase.ROLLED_BACK,
    Operation.CANCEL: Phase.CANCELLED,
}


def phase_after(phase: Phase, event: str, operation: Operation) -> Phase:
    """The phase of a plan after an entry of its journal."""
    if event == COMPLETED:
        return _COMPLETED[operation]
    return _STARTED[operation] if event == STARTED else phase


def present_time() -> str:
    """The present time as entries tell it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: which plan the journal belongs to."""

    schema: str
    plan: str
    plan_id: str
    cluster_id: str


class IdentifiedPlan(Protocol):
    """A plan, as far as a header names it."""

    @property
    def plan_id(self) -> str:
        """Its id."""

    @property
    def cluster_id(self) -> str:
        """Id of its cluster."""


class PlanJournal(OpenJournal[Line]):
    """A plan's open, locked journal; made by ``JournalFormat.open``."""

    def write(self, line: object) -> None:
        """Writes a line without what is empty."""
        import msgspec

        found = msgspec.to_builtins(line)
        super().write({name: value for name, value in found.items() if value not in (None, "", [], ())})


@dataclass(frozen=True, slots=True)
class JournalFormat(Generic[Line]):
    """Format of the journals of one kind of plan.

    Args:
        schema: Name and version of the format, which the header tells.
        entry: Type of the lines after the header.
    """

    schema: str
    entry: type[Line]

    @contextmanager
    def open(self, plan_path: Path, plan: IdentifiedPlan, digest: str) -> Iterator[PlanJournal[Line]]:
        """Opens the journal of a plan, makes it if there is none, and holds its lock for the length of the block.

        Raises:
            ChangeRefusedError: Another process is carrying out the plan.
            InputError: The journal belongs to another plan or cannot be read.
            UsageError: It cannot be written.
        """
        path = journal_path(plan_path)
        with open_journal_file(path, carried_out(path)) as file:
            journal = PlanJournal(file, self._entries(path, file.found, digest))
            if not file.found:
                journal.write(Header(self.schema, digest, plan.plan_id, plan.cluster_id))
            yield journal

    def read(self, plan_path: Path, digest: str) -> tuple[list[Line], bool]:
        """The entries of a plan's journal, none if there is no journal, and whether a process is carrying out the plan.

        Raises:
            InputError: The journal belongs to another plan or cannot be read.
        """
        path = journal_path(plan_path)
        content, running = read_journal_file(path)
        return self._entries(path, content, digest), running

    def _entries(self, path: Path, content: bytes, digest: str) -> list[Line]:
        lines = content.split(b"\n")[:-1]
        if not lines:
            return []
        header = decode_line(path, 1, lines[0], Header)
        if header.schema != self.schema:
            raise InputError(str(path), "line 1", f"expected schema {self.schema!r}, found {header.schema!r}")
        if header.plan != digest:
            reason = f"it belongs to plan {header.plan_id} of another content"
            raise InputError(str(path), "line 1", reason, "move it away if that plan is of no interest any more")
        return [decode_line(path, number, line, self.entry) for number, line in enumerate(lines[1:], start=2)]
