"""Answers of any length: rows that are printed while they are found, so that memory does not grow with their number.

CSV and JSON are put together a column at a time; Parquet gets a row group for each piece. What a form looks
like is what ``commands.shared.printing.output`` makes of the same rows.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from commands.shared.printing.json_document import JsonDocument, encoded, write_bytes
from commands.shared.printing.output import (
    OutputFormat,
    Row,
    print_markdown,
    refuse_parquet_on_terminal,
    schema_of,
    written,
)
from commands.shared.printing.screen import MEASURED, print_table
from commands.shared.printing.terminal import csv_stream, print_err, stdout_console

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.model.tables.schema import TableSchema
    from kreplica.model.tables.table import Table

ROW_GROUP = 1 << 18
"""Rows gathered for one row group, or one more piece."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Values that are known when all rows have been found.

    Args:
        summary, warnings: As those of an ``Answer``.
        verdict: Prints the verdict below the table.
    """

    summary: Row
    warnings: Sequence[str]
    verdict: Callable[[Console], None]


@dataclass(frozen=True, slots=True)
class LongAnswer:
    """An answer whose rows are found while they are printed.

    Args:
        command, rows_name: As those of an ``Answer``.
        tables: The rows; each table is released when it is printed.
        schema: Schema of the tables.
        json_columns: Columns whose strings are JSON.
        shown: Columns of the table form, and their titles.
        cells: Formats a column's values for the table form; values of a JSON column are parsed first.
        ending: Called after the last table, with the number of rows.
    """

    command: str
    rows_name: str
    tables: Iterable[Table]
    schema: TableSchema
    json_columns: Collection[str]
    shown: Mapping[str, str]
    cells: Mapping[str, Callable[[object], object]]
    ending: Callable[[int], Ending]


def emit_long(answer: LongAnswer, output: OutputFormat | None) -> bool:
    """Prints the rows to stdout while they are found, then the warnings to stderr, then the end of the form.

    Where rows cannot be read to their end, only the beginning of the answer is printed: the exit code says so.

    Returns:
        Whether anybody still reads stdout.

    Raises:
        UsageError: stdout cannot be written, or not in this form.
    """
    form, tables = output or OutputFormat.table, _Tables(answer.tables)
    document = _document(answer) if form is OutputFormat.json else None
    read = written(lambda: _print_rows(answer, tables, form, document))
    ending = answer.ending(tables.rows)
    for warning in ending.warnings:
        print_err(f"warning: {warning}")
    if read and document is not None:
        return written(lambda: document.end({"summary": ending.summary, "warnings": ending.warnings}))
    return written(lambda: ending.verdict(stdout_console())) if read and form is OutputFormat.table else read


class _Tables:
    """The tables that are not empty; counts their rows on the way."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = tables
        self.rows = 0

    def __iter__(self) -> Iterator[Table]:
        for table in self._tables:
            self.rows += len(table)
            if len(table):
                yield table


def _document(answer: LongAnswer) -> JsonDocument:
    return JsonDocument({"schema": schema_of(answer.command), "clusters": []}, answer.rows_name)


def _print_rows(answer: LongAnswer, tables: _Tables, form: OutputFormat, document: JsonDocument | None) -> None:
    if document is not None:
        document.begin()
    if form is OutputFormat.table:
        _print_table(answer, tables)
    elif form is OutputFormat.markdown:
        rows = (row.values() for table in tables for row in rows_of(table, answer.json_columns))
        print_markdown(answer.schema.names, rows)
    else:
        with _writer(answer.schema, form, answer.json_columns, document) as write:
            _write_behind(tables, write)


def _print_table(answer: LongAnswer, tables: Iterable[Table]) -> None:
    """Prints the columns that are shown; nothing where there are no rows."""
    rows = (cells for table in tables for cells in _cells(answer, table))
    first = next(rows, None)
    if first is not None:
        console = stdout_console()
        color = console.is_terminal and not console.no_color
        print_table(list(answer.shown.values()), chain([first], rows), color=color, measured=MEASURED)


def _cells(answer: LongAnswer, table: Table) -> Iterator[Sequence[object]]:
    columns = []
    for name in answer.shown:
        values: Sequence[object] = table[name].to_list()
        if name in answer.json_columns:
            values = [None if value is None else json.loads(str(value)) for value in values]
        if (cell := answer.cells.get(name)) is not None:
            values = [None if value is None else cell(value) for value in values]
        columns.append(values)
    return zip(*columns, strict=True)


def _write_behind(tables: Iterable[Table], write: Callable[[Table], None]) -> None:
    """Writes each table while the next one is found: Arrow needs Python for little of it."""
    from kreplica.system.pool import Pool

    with Pool[int, None](most=1) as behind:
        for number, table in enumerate(tables):
            behind.finish()
            behind.add(number, partial(write, table))
        behind.finish()


def rows_of(table: Table, json_columns: Collection[str]) -> Iterator[Row]:
    """The rows of a table, with strings of JSON parsed."""
    for row in table.rows():
        said = {name: json.loads(str(row[name])) for name in json_columns if row[name] is not None}
        yield {**row, **said}


@contextmanager
def _writer(
    schema: TableSchema, form: OutputFormat, json_columns: Collection[str], document: JsonDocument | None
) -> Iterator[Callable[[Table], None]]:
    if form is OutputFormat.parquet:
        with _parquet(schema) as write:
            yield write
        return
    if form is OutputFormat.csv:
        csv.writer(csv_stream(), lineterminator="\n").writerow(schema.names)
    sys.stdout.flush()
    pieces = _csv_pieces(schema) if form is OutputFormat.csv else _json_pieces(schema)
    pieces[-1] = "}," if document is not None else pieces[-1]
    word = _csv_word if form is OutputFormat.csv else _json_word
    plain = dict.fromkeys(json_columns, _csv_json if form is OutputFormat.csv else str)
    null = "" if form is OutputFormat.csv else "null"

    def write_lines(table: Table) -> None:
        content = _joined(pieces, [_texts(table, name, plain.get(name, word)) for name in schema.names], null)
        if document is None:
            write_bytes(content)
        else:
            document.add(content[:-1])

    yield write_lines


@contextmanager
def _parquet(schema: TableSchema) -> Iterator[Callable[[Table], None]]:
    refuse_parquet_on_terminal()
    import pyarrow.parquet as pq

    from kreplica.model.tables.schema import Kind
    from kreplica.store.arrow import arrow_schema, to_arrow

    words = [field.name for field in schema.fields if field.kind is Kind.STRING]
    sink = _Counted()
    by_dictionary = arrow_schema(schema, by_dictionary=True)
    settings = {"compression": "zstd", "use_dictionary": words, "store_schema": False}  # readers see strings
    with pq.ParquetWriter(sink, by_dictionary, **settings) as writer:
        yield lambda table: writer.write_table(to_arrow(table, by_dictionary=True), row_group_size=ROW_GROUP)


class _Counted(io.RawIOBase):
    """stdout as a file that knows how far it is written: a pipe does not."""

    def __init__(self) -> None:
        super().__init__()
        sys.stdout.flush()
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        sys.stdout.buffer.write(content)
        self._written += size
        return size


def _json_pieces(schema: TableSchema) -> list[str]:
    """Text before each value of a line, and after the last."""
    names = [_json_word(name) for name in schema.names]
    return [f"{'{' if number == 0 else ','}{name}:" for number, name in enumerate(names)] + ["}\n"]


def _csv_pieces(schema: TableSchema) -> list[str]:
    return ["", *[","] * (len(schema.names) - 1), "\n"]


def _json_word(word: str) -> str:
    return encoded(word).decode("utf-8")


def _csv_word(word: str) -> str:
    quoted = any(letter in word for letter in ',"\r\n')
    return '"' + word.replace('"', '""') + '"' if quoted else word


def _csv_json(text: str) -> str:
    return "" if text == "[]" else _csv_word(text)


def _texts(table: Table, name: str, word: Callable[[str], str]) -> Any:
    """A column as an Arrow array of what is printed; null where there is nothing."""
    import pyarrow as pa

    from kreplica.model.tables.columns import StringColumn
    from kreplica.model.tables.schema import TableSchema
    from kreplica.model.tables.table import Table as ModelTable
    from kreplica.store.arrow import to_arrow

    column = table[name]
    if isinstance(column, StringColumn):
        column = StringColumn(column.codes, tuple(word(each) for each in column.dictionary))
    alone = TableSchema(name, (table.schema.field(name),), sort=())
    array = to_arrow(ModelTable(alone, {name: column})).column(0).chunk(0)
    return array.cast(pa.string())


def _joined(pieces: Sequence[str], columns: Sequence[Any], null: str) -> Any:
    """Lines: the pieces, and between them the columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = []
    for piece, column in zip(pieces, columns, strict=False):
        parts += [pa.scalar(piece), column]
    lines = pc.binary_join_element_wise(
        *parts, pa.scalar(pieces[-1]), pa.scalar(""), null_handling="replace", null_replacement=null
    )
    _, _, content = lines.buffers()
    return memoryview(content)
