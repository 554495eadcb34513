"""The answer of audit mute, unmute and mutes: a row for each mute."""

from __future__ import annotations

from commands.shared.printing.output import Answer
from kreplica.fleet.muting import MuteRow, Mutes


def answer_to(command: str, found: Mutes) -> Answer[MuteRow]:
    """The answer in the form of the contract.

    Args:
        command: Name of the command, with hyphens.
        found: The mutes.
    """
    rows = found.rows
    summary = {"mutes": len(rows), "in_force": sum(row.in_force for row in rows), "file": str(found.path)}
    return Answer(command=command, rows_name="mutes", columns=MuteRow, rows=rows, summary=summary)
