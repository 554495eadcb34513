"""Renders an answer in the form the user asked for: the one place that knows the shape of the contract.

stdout carries the answer, stderr everything else. JSON is one object
``{"schema", "clusters", "<rows>", "summary", "warnings"}``; fields are only added within ``v1``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from commands.shared.printing.json_document import JsonDocument, encoded, plain, write_bytes
from commands.shared.printing.terminal import csv_stream, lines_shown, one_line, print_err, print_out, stdout_console
from kreplica.errors import KreplicaError, UsageError, os_reason

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.model.tables.schema import Kind

Row = Mapping[str, object]
RowT_co = TypeVar("RowT_co", covariant=True)

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
class Answer(Generic[RowT_co]):
    """The answer of a command.

    Args:
        command: Names the schema: ``describe`` gives ``kreplica/describe/v1``; of a subcommand ``rebalance-leaders``.
        rows_name: Key of the rows in JSON.
        columns: Class of the rows (kreplica.model.tables.rows), which knows names and kinds; for rows that are mappings
            the names of their fields in order.
        rows: The rows.
        clusters: One object for each cluster that was read.
        summary: Numbers over all rows.
        warnings: Remarks; printed to stderr too.
        objects: Further objects of JSON beside the rows, by name.
        kinds: Kinds of the columns, for Parquet; that of a column left out is inferred from its values, which is
            impossible where all are null. Rows of a class need none.
        row_clusters: The cluster of each row where several were read, as a field before its own; None where one was.
        row_times: The time of each row where there are many rounds, as a field before that; None where there is one.
    """

    command: str
    rows_name: str
    columns: type[Struct] | Sequence[str]
    rows: Sequence[RowT_co]
    clusters: Sequence[Row] = ()
    summary: Row = field(default_factory=dict)
    warnings: Sequence[str] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    objects: Mapping[str, Row] = field(default_factory=dict)
    row_clusters: Sequence[str] | None = None
    row_times: Sequence[str] | None = None

    @property
    def leads(self) -> dict[str, Sequence[str]]:
        """Columns before those of the class of the rows."""
        leads = {"taken_at": self.row_times, "cluster": self.row_clusters}
        return {name: values for name, values in leads.items() if values is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        if not isinstance(self.columns, type):
            return tuple(self.columns)
        return (*self.leads, *self.columns.__struct_encode_fields__)

    def cells(self) -> Iterator[Sequence[object]]:
        """The values of each row, in order of the columns."""
        rows: Sequence[Any] = self.rows  # of the class of the columns, or mappings
        if not isinstance(self.columns, type):
            return ([row.get(name) for name in self.names] for row in rows)
        from kreplica.model.tables.rows import values_of

        cells = map(values_of(self.columns), rows)
        if not self.leads:
            return cells
        return ((*leads, *values) for *leads, values in zip(*self.leads.values(), cells, strict=True))

    def column_kinds(self) -> Mapping[str, Kind]:
        """Kinds of the columns that are known without looking at values."""
        if not isinstance(self.columns, type):
            return self.kinds
        from kreplica.model.tables.rows import kinds_of
        from kreplica.model.tables.schema import Kind

        return {**dict.fromkeys(self.leads, Kind.STRING), **kinds_of(self.columns)}

    def json_rows(self, begin: int, end: int) -> bytes:
        """Some rows as JSON objects with commas between them."""
        if not self.leads:
            return encoded(self.rows[begin:end])[1:-1]
        return b",".join(self.json_lines(begin, end))

    def json_lines(self, begin: int, end: int) -> list[bytes]:
        """Some rows as JSON objects."""
        rows = [encoded(row) for row in self.rows[begin:end]]
        if not self.leads:
            return rows
        values = zip(*(column[begin:end] for column in self.leads.values()), strict=True)
        leads = (encoded(dict(zip(self.leads, each, strict=True)))[:-1] for each in values)
        return [lead + b"," + row[1:] for lead, row in zip(leads, rows, strict=True)]


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


def emit(answer: Answer[object], output: OutputFormat | None, human: Callable[[Console], None]) -> bool:
    """Prints the answer to stdout and its warnings to stderr.

    Where both lead to one place, the table comes first, and a warning that it has shown is not printed again. A reader
    that goes away (``| head``) is no error: the exit code stays that of the answer.

    Args:
        answer: What to print.
        output: The form; None means ``table`` on a terminal and elsewhere too: a form never depends on the terminal.
        human: Prints the table form.

    Returns:
        Whether anybody still reads stdout.

    Raises:
        UsageError: stdout cannot be written, or not in this form.
    """
    table = output is None or output is OutputFormat.table
    if table and _one_place():
        console = stdout_console()
        reads = written(lambda: human(console))
        _warn(warning for warning in answer.warnings if warning not in lines_shown(console))
        return reads
    _warn(answer.warnings)
    if output is None or output is OutputFormat.table:
        return written(lambda: human(stdout_console()))
    return written(lambda: _PRINTERS[output](answer))


def _one_place() -> bool:
    """True if stdout and stderr lead to a terminal, or to the same pipe or file, where one reader sees both."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        return True
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # a stream without a file below it, as where this is called from a program
        return False


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print_err(f"warning: {warning}")


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
        raise UsageError("cannot write the answer", os_reason(error)) from None
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


def _print_json(answer: Answer[object]) -> None:
    before = {"schema": schema_of(answer.command), "clusters": answer.clusters, **answer.objects}
    document = JsonDocument(before, answer.rows_name)
    document.begin()
    for begin in range(0, len(answer.rows), ROWS_AT_ONCE):
        document.add(answer.json_rows(begin, begin + ROWS_AT_ONCE))
    document.end({"summary": answer.summary, "warnings": answer.warnings})


def schema_of(command: str) -> str:
    """The schema of a command's answers."""
    return f"kreplica/{command}/v1"


def _print_jsonl(answer: Answer[object]) -> None:
    for begin in range(0, len(answer.rows), ROWS_AT_ONCE):
        write_bytes(b"\n".join([*answer.json_lines(begin, begin + ROWS_AT_ONCE), b""]))


_PLAIN_CELLS = frozenset({str, int, float, type(None)})
"""Types that the csv module writes as ``_flat`` does, in half the time."""


def _print_csv(answer: Answer[object]) -> None:
    import csv

    writer = csv.writer(csv_stream(), lineterminator="\n")
    writer.writerow(answer.names)
    writer.writerows([cell if type(cell) in _PLAIN_CELLS else _flat(cell) for cell in row] for row in answer.cells())


def print_markdown(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Prints the cells of rows, each row when it comes, below the names of the columns."""
    for cells in chain([columns, ["---"] * len(columns)], (map(_flat, row) for row in rows)):
        print_out("| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |")


def _print_parquet(answer: Answer[object]) -> None:
    refuse_parquet_on_terminal()
    import io

    import pyarrow.parquet as pq

    from commands.shared.printing.parquet_rows import arrow_table

    buffer = io.BytesIO()
    pq.write_table(arrow_table(answer.names, answer.cells(), answer.column_kinds()), buffer, compression="zstd")
    write_bytes(buffer.getvalue())


def refuse_parquet_on_terminal() -> None:
    """Raises UsageError where stdout is a terminal."""
    if sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", fix="redirect it: kreplica ... -o parquet > rows.parquet")


def _flat(value: object) -> str:
    """One cell of CSV or Markdown: null is empty, lists are joined by commas, booleans are true and false."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return _json_text(value) if any(isinstance(item, Mapping) for item in value) else ",".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json_text(value) if isinstance(value, Mapping) else str(value)


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=plain)


_PRINTERS: dict[OutputFormat, Callable[[Answer[object]], None]] = {
    OutputFormat.json: _print_json,
    OutputFormat.jsonl: _print_jsonl,
    OutputFormat.csv: _print_csv,
    OutputFormat.markdown: lambda answer: print_markdown(answer.names, answer.cells()),
    OutputFormat.parquet: _print_parquet,
}
