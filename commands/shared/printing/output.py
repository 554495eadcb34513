"""Renders an answer in the form the user asked for: the one place that knows the shape of the contract.

stdout carries the answer, stderr everything else. JSON is one object
``{"schema", "clusters", "<rows>", "summary", "warnings"}``; fields are only added within ``v1``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING

from commands.shared.printing.json_document import JsonDocument, encoded, plain, write_bytes
from commands.shared.printing.terminal import csv_stream, one_line, print_err, print_out, stdout_console
from kreplica.errors import KreplicaError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.model.schema import Kind
    from kreplica.model.snapshot import ClusterSnapshot

Row = Mapping[str, object]

ROWS_AT_ONCE = 1000
"""Lines that are written by one call: whole lines only, so that an interruption leaves no partial one."""


class OutputFormat(StrEnum):
    """Forms of an answer."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a command.

    Args:
        command: Names the schema: ``describe`` gives ``kreplica/describe/v1``; of a subcommand ``rebalance-leaders``.
        rows_name: Key of the rows in JSON.
        columns: Fields of a row in order, for the flat forms; rows may not carry others.
        rows: The rows.
        clusters: One object for each cluster that was read.
        summary: Numbers over all rows.
        warnings: Remarks; printed to stderr too.
        objects: Further objects of JSON beside the rows, by name.
        kinds: Kinds of the columns, for Parquet; that of a column left out is inferred from its values, which is
            impossible where all are null.
    """

    command: str
    rows_name: str
    columns: Sequence[str]
    rows: Sequence[Row]
    clusters: Sequence[Row] = ()
    summary: Row = field(default_factory=dict)
    warnings: Sequence[str] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    objects: Mapping[str, Row] = field(default_factory=dict)


def cluster_object(snapshot: ClusterSnapshot) -> dict[str, object]:
    """One entry of the ``clusters`` list of the contract."""
    from kreplica.model.snapshot import utc_now

    return {
        "cluster": snapshot.label,
        "cluster_id": snapshot.cluster_id,
        "name": snapshot.name,
        "source": snapshot.source,
        "taken_at": snapshot.taken_at.isoformat(),
        "age_seconds": None if (age := snapshot.age_seconds(utc_now())) is None else round(age),
        "controller": snapshot.controller,
        "brokers": len(snapshot.brokers),
        "topics": snapshot.topic_count,
        "partitions": len(snapshot.partitions),
        "gaps": [{"kind": gap.kind, "message": gap.message, "count": gap.count} for gap in snapshot.gaps],
    }


def emit(answer: Answer, output: OutputFormat | None, human: Callable[[Console], None]) -> bool:
    """Prints the answer to stdout and its warnings to stderr.

    A reader that goes away (``| head``) is no error: the exit code stays that of the answer.

    Args:
        answer: What to print.
        output: The form; None means ``table`` on a terminal and elsewhere too: a form never depends on the terminal.
        human: Prints the table form.

    Returns:
        Whether anybody still reads stdout.

    Raises:
        UsageError: stdout cannot be written, or not in this form.
    """
    for warning in answer.warnings:
        print_err(f"warning: {warning}")
    if output is None or output is OutputFormat.table:
        return written(lambda: human(stdout_console()))
    return written(lambda: _PRINTERS[output](answer))


def written(write: Callable[[], object]) -> bool:
    """Has something written to stdout, to its end.

    Returns:
        Whether anybody still reads stdout.

    Raises:
        UsageError: stdout cannot be written.
    """
    try:
        write()
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the one into the other
        drop_stdout()
        return False
    except OSError as error:
        drop_stdout()
        raise UsageError("cannot write the answer", error.strerror or str(error)) from None
    return True


def drop_stdout() -> None:
    """Points stdout, which nobody reads any more, to the null device: Python's flush at exit must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(error: KreplicaError, output: OutputFormat | None) -> None:
    """Prints an error: its notes, then one line on stderr, and an error object on stdout where JSON was asked for."""
    from kreplica.system.redaction import without_secrets

    for note in getattr(error, "__notes__", ()):
        print_err(f"warning: {note}")
    print_err(f"error: {without_secrets(one_line(str(error)))}")
    what, why, fix = (without_secrets(text) for text in (error.what, error.why, error.fix))
    print_error_object(error.kind, what, why, fix, error.exit_code, output)


def print_error_object(kind: str, what: str, why: str, fix: str, exit_code: int, output: OutputFormat | None) -> None:
    """Prints the error envelope of the contract to stdout where JSON was asked for."""
    if output not in (OutputFormat.json, OutputFormat.jsonl):
        return
    body = {"kind": kind, "what": what, "why": why, "fix": fix, "exit_code": int(exit_code)}
    write_bytes(encoded({"schema": "kreplica/error/v1", "error": body}) + b"\n")


def _print_json(answer: Answer) -> None:
    before = {"schema": schema_of(answer.command), "clusters": answer.clusters, **answer.objects}
    document = JsonDocument(before, answer.rows_name)
    document.begin()
    for begin in range(0, len(answer.rows), ROWS_AT_ONCE):
        document.add(encoded(answer.rows[begin : begin + ROWS_AT_ONCE])[1:-1])
    document.end({"summary": answer.summary, "warnings": answer.warnings})


def schema_of(command: str) -> str:
    """The schema of a command's answers."""
    return f"kreplica/{command}/v1"


def _print_jsonl(answer: Answer) -> None:
    for begin in range(0, len(answer.rows), ROWS_AT_ONCE):
        lines = [encoded(row) for row in answer.rows[begin : begin + ROWS_AT_ONCE]]
        write_bytes(b"\n".join([*lines, b""]))


_PLAIN_CELLS = frozenset({str, int, float, type(None)})
"""Types that the csv module writes as ``_flat`` does, in half the time."""


def _print_csv(answer: Answer) -> None:
    import csv

    writer = csv.writer(csv_stream(), lineterminator="\n")
    writer.writerow(answer.columns)
    cells = (map(row.get, answer.columns) for row in answer.rows)
    writer.writerows([cell if type(cell) in _PLAIN_CELLS else _flat(cell) for cell in row] for row in cells)


def print_markdown(columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Prints rows, each when it comes, below the names of the columns."""
    for cells in chain([columns, ["---"] * len(columns)], _flat_rows(columns, rows)):
        print_out("| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |")


def _print_parquet(answer: Answer) -> None:
    refuse_parquet_on_terminal()
    import io

    import pyarrow.parquet as pq

    from commands.shared.printing.parquet_rows import arrow_table

    buffer = io.BytesIO()
    pq.write_table(arrow_table(answer.columns, answer.rows, answer.kinds), buffer, compression="zstd")
    write_bytes(buffer.getvalue())


def refuse_parquet_on_terminal() -> None:
    """Raises UsageError where stdout is a terminal."""
    if sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", fix="redirect it: kreplica ... -o parquet > rows.parquet")


def _flat_rows(columns: Sequence[str], rows: Iterable[Row]) -> Iterable[list[str]]:
    return ([_flat(row.get(name)) for name in columns] for row in rows)


def _flat(value: object) -> str:
    """One cell of CSV or Markdown: null is empty, lists are joined by commas, booleans are true and false."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return _json_text(value) if any(isinstance(item, Mapping) for item in value) else ",".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json_text(value) if isinstance(value, Mapping) else str(value)


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=plain)


_PRINTERS: dict[OutputFormat, Callable[[Answer], None]] = {
    OutputFormat.json: _print_json,
    OutputFormat.jsonl: _print_jsonl,
    OutputFormat.csv: _print_csv,
    OutputFormat.markdown: lambda answer: print_markdown(answer.columns, answer.rows),
    OutputFormat.parquet: _print_parquet,
}
