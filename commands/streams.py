"""Answers of any length: rows that are printed while they are found, so that memory does not grow with their number.

CSV and lines of JSON are put together a column at a time; Parquet gets a row group for each piece. What a form looks
like is what ``commands.output`` makes of the same rows.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from commands.output import OutputFormat, Row, refuse_parquet_on_terminal, written

if TYPE_CHECKING:
    from kreplica.model.schema import TableSchema
    from kreplica.model.table import Table

STREAMED = (OutputFormat.jsonl, OutputFormat.csv, OutputFormat.parquet)
"""Forms that can be printed while rows are found."""
ROW_GROUP = 1 << 18
"""Rows gathered for one row group, or one more piece."""


def stream(tables: Iterable[Table], schema: TableSchema, form: OutputFormat, json_columns: Collection[str]) -> bool:
    """Prints tables one after the other.

    Args:
        tables: Of one schema; each is let go when it is printed.
        schema: Theirs.
        form: One of ``STREAMED``.
        json_columns: Columns whose strings are JSON already.

    Returns:
        Whether anybody still reads stdout.

    Raises:
        UsageError: stdout cannot be written, or not in this form.
    """

    def write_all() -> None:
        with _writer(schema, form, json_columns) as write, ThreadPoolExecutor(1) as pool:
            _write_behind(tables, write, pool)

    return written(write_all)


def _write_behind(tables: Iterable[Table], write: Callable[[Table], None], pool: ThreadPoolExecutor) -> None:
    """Writes each table while the next one is found: Arrow needs Python for little of it."""
    written = pool.submit(lambda: None)
    for table in tables:
        written.result()
        written = pool.submit(write, table)
    written.result()


def rows_of(table: Table, json_columns: Collection[str]) -> Iterator[Row]:
    """The rows of a table; strings that are JSON as what they say."""
    import json

    for row in table.rows():
        said = {name: json.loads(str(row[name])) for name in json_columns if row[name] is not None}
        yield {**row, **said}


@contextmanager
def _writer(
    schema: TableSchema, form: OutputFormat, json_columns: Collection[str]
) -> Iterator[Callable[[Table], None]]:
    if form is OutputFormat.parquet:
        with _parquet(schema) as write:
            yield write
        return
    if form is OutputFormat.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerow(schema.names)
    sys.stdout.flush()
    pieces = _csv_pieces(schema) if form is OutputFormat.csv else _json_pieces(schema)
    word = _csv_word if form is OutputFormat.csv else _json_word
    plain = dict.fromkeys(json_columns, _csv_json if form is OutputFormat.csv else str)
    null = "" if form is OutputFormat.csv else "null"

    def write_lines(table: Table) -> None:
        if len(table):
            columns = [_texts(table, name, plain.get(name, word)) for name in schema.names]
            sys.stdout.buffer.write(_joined(pieces, columns, null))

    yield write_lines


@contextmanager
def _parquet(schema: TableSchema) -> Iterator[Callable[[Table], None]]:
    refuse_parquet_on_terminal()
    import pyarrow.parquet as pq

    from kreplica.model.schema import Kind
    from kreplica.store.arrow import arrow_schema, to_arrow

    words = [field.name for field in schema.fields if field.kind is Kind.STRING]
    sink = _Counted()
    by_dictionary = arrow_schema(schema, by_dictionary=True)
    settings = {"compression": "zstd", "use_dictionary": words, "store_schema": False}  # to readers they are strings
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
    """What stands before each value of a line, and behind the last."""
    names = [_json_word(name) for name in schema.names]
    return [f"{'{' if number == 0 else ','}{name}:" for number, name in enumerate(names)] + ["}\n"]


def _csv_pieces(schema: TableSchema) -> list[str]:
    return ["", *[","] * (len(schema.names) - 1), "\n"]


def _json_word(word: str) -> str:
    import msgspec

    return msgspec.json.encode(word).decode("utf-8")


def _csv_word(word: str) -> str:
    quoted = any(letter in word for letter in ',"\r\n')
    return '"' + word.replace('"', '""') + '"' if quoted else word


def _csv_json(text: str) -> str:
    return "" if text == "[]" else _csv_word(text)


def _texts(table: Table, name: str, word: Callable[[str], str]) -> Any:
    """A column as an Arrow array of what is printed; null where there is nothing."""
    import pyarrow as pa

    from kreplica.model.columns import StringColumn
    from kreplica.model.schema import TableSchema
    from kreplica.model.table import Table as ModelTable
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
