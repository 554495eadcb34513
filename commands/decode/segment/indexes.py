"""kreplica decode segment --index, --timeindex: the indexes beside segments, each entry checked against the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import MOST_TOLD, count_places, damage_objects, damage_warnings
from commands.decode.shared_folder import shared_folder
from commands.shared.printing.output import Answer, OutputFormat, Row, emit
from commands.shared.printing.screen import print_lines, print_rows, print_verdict
from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.checks.segment_indexes import CheckedEntry, IndexesRead, IndexKind, index_entry_rows
from kreplica.formats.file_bytes import not_listed
from kreplica.formats.logs.partition_logs import find_logs
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = {
    IndexKind.offset: ("offset", "position", "batch_base_offset", "batch_last_offset", "valid"),
    IndexKind.time: ("timestamp", "offset", "batch_base_offset", "batch_last_offset", "batch_max_timestamp", "valid"),
}


def show_indexes(paths: Sequence[str], kinds: Sequence[IndexKind], output: OutputFormat | None) -> ExitCode:
    """Answers with a row for each entry of the indexes beside the named segments.

    Raises:
        UsageError: There are no segments, or none has such an index beside it.
        InputError: A file cannot be read.
    """
    read = IndexesRead()
    refused: list[InputError] = []
    logs = find_logs(paths, refused=refused)
    read.damage.add(not_listed(refused))
    rows = list(index_entry_rows(logs, kinds, read))
    if not read.files:
        wanted = " and ".join(f".{'' if kind is IndexKind.offset else 'time'}index" for kind in kinds)
        raise UsageError(f"no {wanted} beside segments in {', '.join(paths)}", "", "name a partition's directory")
    answer = Answer(
        command="decode-segment-indexes",
        rows_name="entries",
        columns=CheckedEntry,
        rows=rows,
        summary=_summary(rows, read),
        warnings=[*damage_warnings(read.damage.kept, read.damage.places), *_absent(read.absent)],
    )
    emit(answer, output, lambda console: _show(answer, kinds, read, console))
    if _wrong(rows) or read.damage.places:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if read.absent else ExitCode.OK


def _absent(paths: Sequence[Path]) -> list[str]:
    told = [f"{path} is not there: a broker makes it anew when it starts" for path in paths[:MOST_TOLD]]
    rest = len(paths) - len(told)
    return [*told, *([f"{rest} more are not there: see absent in the summary of -o json"] if rest else [])]


def _wrong(rows: Sequence[CheckedEntry]) -> int:
    return sum(row.valid is False for row in rows)


def _summary(rows: Sequence[CheckedEntry], read: IndexesRead) -> Row:
    return {
        "files": read.files,
        "entries": len(rows),
        "wrong": _wrong(rows),
        "not_judged": sum(row.valid is None for row in rows),
        "absent": [str(path) for path in read.absent],
        "damaged_places": read.damage.places,
        "damage": damage_objects(read.damage.kept),
    }


def _show(answer: Answer[CheckedEntry], kinds: Sequence[IndexKind], read: IndexesRead, console: Console) -> None:
    rows: Sequence[CheckedEntry] = answer.rows
    shown = dict.fromkeys(name for kind in kinds for name in _SHOWN[kind] if name != "valid")
    names = [*(["file"] if read.files > 1 else []), *shown, "valid"]
    folder, rest = shared_folder(row.file for row in rows)
    print_rows(console, CheckedEntry, rows, shown=names, cells={"file": rest})
    print_verdict(console, *_verdict(answer.summary, read))
    print_lines(console, "wrong", [_sentence(row) for row in rows if row.valid is False])
    print_lines(console, "folder", folder if read.files > 1 else [])
    if answer.summary["not_judged"]:
        said = "valid -: the log cannot tell (damaged there, compacted away, or the broker makes the entry anew)"
        print_lines(console, "means", [said])


def _sentence(row: CheckedEntry) -> str:
    return f"{row.file}, byte {row.byte}: {row.message}, expected {row.expected}, found {row.found}"


def _verdict(summary: Mapping[str, Any], read: IndexesRead) -> tuple[str, str, str]:
    scope = f"{counted(summary['entries'], 'entry', 'entries')} in {counted(read.files, 'index', 'indexes')}"
    if summary["wrong"]:
        said = f"{counted(summary['wrong'], 'entry', 'entries')} at odds with the log"
        return "WRONG", "red", f"{said}; {scope}"
    if read.damage.places:
        return "DAMAGED", "red", f"{count_places(read.damage.places)}; {scope}"
    if read.absent:
        return "INCOMPLETE", "yellow", f"{counted(len(read.absent), 'index', 'indexes')} not there; {scope}"
    return "OK", "green", f"the log has what they lead to; {scope}"
