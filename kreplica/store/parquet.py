"""One table of a snapshot as the bytes of one Parquet file, and back.

The footer carries the facts of the snapshot, so that one file can be read alone:
``kreplica.snapshot`` (SnapshotFacts as JSON), ``kreplica.table`` and ``kreplica.schema_version``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kreplica.errors import InputError
from kreplica.model.tables.schema import SCHEMA_VERSION, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.arrow import check_columns, read_columns, to_arrow
from kreplica.store.manifest import SnapshotFacts, decode_facts, encode_facts
from kreplica.store.versions import newer_version
from kreplica.system.untrusted_files import beyond_limit, input_limit

VALUE_BYTES = 16
"""Memory of a value while a table is decoded: measured, and more than the 8 bytes it has afterwards."""
SMALL_BYTES = 1 << 20
"""Up to here a file is decoded sooner than other threads have taken its columns."""
_RESTORE = "restore it, or take the snapshot again"
_FACTS_KEY = "kreplica.snapshot"
_TABLE_KEY = "kreplica.table"
_VERSION_KEY = "kreplica.schema_version"


def encode_table(table: Table, facts: SnapshotFacts) -> bytes:
    """A table, in the schema's order, as the bytes of a Parquet file."""
    footer = {_FACTS_KEY: encode_facts(facts).decode()}
    return parquet_bytes(to_arrow(table), table.schema.sort, table_name=table.schema.name, footer=footer)


def parquet_bytes(
    arrow: pa.Table,
    sort: Sequence[str],
    *,
    table_name: str,
    footer: Mapping[str, str] = MappingProxyType({}),
    unlike: Sequence[str] = (),
) -> bytes:
    """Rows, sorted by the columns named, as the bytes of a Parquet file that ``decode_table`` reads.

    Args:
        arrow: The rows.
        sort: Columns that they are sorted by.
        table_name: Name of the table, for the footer.
        footer: Texts for the footer besides, by key.
        unlike: Columns of integers that hardly ever repeat: a dictionary would only make them larger.
    """
    encoding: dict[str, Any] = {}
    if unlike:
        encoding["use_dictionary"] = [name for name in arrow.column_names if name not in unlike]
        encoding["column_encoding"] = dict.fromkeys(unlike, "DELTA_BINARY_PACKED")
    sink = pa.BufferOutputStream()
    order = [pq.SortingColumn(arrow.schema.get_field_index(name)) for name in sort]
    with pq.ParquetWriter(
        sink,
        arrow.schema,
        compression="zstd",
        store_schema=False,
        write_page_checksum=True,
        sorting_columns=order,
        **encoding,
    ) as writer:
        writer.write_table(arrow)
        writer.add_key_value_metadata({**footer, _TABLE_KEY: table_name, _VERSION_KEY: str(SCHEMA_VERSION)})
    content: bytes = sink.getvalue().to_pybytes()
    return content


def decode_table(
    schema: TableSchema, content: bytes, source: str, rows: int | None = None
) -> tuple[Table, SnapshotFacts | None]:
    """The rows of a Parquet file in its own order, and the facts in its footer, None if another program wrote it.

    Args:
        schema: Which table it should be; only its columns are read.
        content: The whole file.
        source: File name for errors.
        rows: How many there should be, if that is known.

    Raises:
        InputError: It is not Parquet, damaged, another table, of a newer kreplica, of another number of rows, or takes
            more memory than the limit: that is seen from its footer, before any row is decoded.
    """
    table, footer = TableReader(schema).read_with_footer(content, source, rows)
    return table, None if _FACTS_KEY not in footer else decode_facts(footer[_FACTS_KEY].encode(), source)


class TableReader:
    """Reads files of one table, one after the other: a column of the same bytes as in the file before is not decoded.

    From one hour to the next few columns of a cluster change. Equal columns are one object, so that whoever compares
    two tables need not look into them.

    Args:
        schema: Which table they should be; only its columns are read.
    """

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._before: _Decoded | None = None

    def read(self, content: bytes, source: str, rows: int | None = None) -> Table:
        """The rows of a file, as ``decode_table``."""
        return self.read_with_footer(content, source, rows)[0]

    def read_with_footer(self, content: bytes, source: str, rows: int | None = None) -> tuple[Table, Mapping[str, str]]:
        """The rows of a file, as ``decode_table``, and the texts in its footer."""
        before = self._before
        facts = None if before is None else before.content.facts_of_twin(content)
        if before is not None and facts is not None and rows in (None, len(before.table)):
            return before.table, {**before.footer, _FACTS_KEY: facts}
        try:
            file = _opened(self._schema, content)
            metadata = file.metadata
            if rows is not None and metadata.num_rows != rows:
                raise InputError(source, "", f"expected {rows} rows, found {metadata.num_rows}", _RESTORE)
            footer = _read_footer(self._schema, metadata.metadata or {}, source)
            around = _around_facts(content, metadata)
            if before is not None and before.content.is_same(content, metadata):
                found, table = _Content(content, metadata, before.content.chunks, around), before.table
            else:
                found = _Content(content, metadata, _chunks_of(self._schema, metadata), around)
                _check_size(self._schema, found, source)
                table = self._table(file, found, source)
            self._before = _Decoded(found, table, footer)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"not a Parquet file that can be read: {str(error).splitlines()[0]}"
            raise InputError(source, "", reason, _RESTORE) from None
        return table, footer

    def _table(self, file: pq.ParquetFile, found: _Content, source: str) -> Table:
        before = self._before
        if before is not None and before.content.is_alike(found):
            fresh = [name for name in found.chunks if not before.content.has_same(name, found)]
            columns = dict(before.table.columns)
        else:
            names = file.schema_arrow.names
            check_columns(self._schema, names, source)
            known = frozenset(self._schema.names)
            fresh, columns = [name for name in names if name in known], {}
        # Not pq.read_table: it imports pandas where that is installed.
        arrow = file.read(columns=fresh, use_threads=len(found.content) > SMALL_BYTES).unify_dictionaries()
        fields = [field for field in self._schema.fields if field.name in fresh or field.name not in columns]
        return Table(self._schema, {**columns, **read_columns(fields, arrow, source)})


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column of a row group as a file holds it; of lists their elements.

    Args:
        column: Name of the column.
        begin: Its first byte.
        size: Number of its bytes.
        layout: What else tells how they are decoded.
        memory: Bytes that it takes beyond one value a row.
    """

    column: str
    begin: int
    size: int
    layout: tuple[object, ...]
    memory: int


@dataclass(frozen=True, slots=True)
class _Content:
    """A file.

    Args:
        content: The whole of it.
        metadata: Of its footer.
        chunks: The columns in it that are read, by name.
        around: Its bytes before and behind the facts of the snapshot; None if it has none, or not once.
    """

    content: bytes
    metadata: pq.FileMetaData
    chunks: Mapping[str, Sequence[_Chunk]]
    around: tuple[bytes, bytes] | None

    def facts_of_twin(self, content: bytes) -> str | None:
        """The facts in the footer of another file that has the very same bytes but for these; None for any other file.

        A file need not be opened then, which takes as long as the columns of a small one.
        """
        if self.around is None or len(content) != len(self.content):
            return None
        head, tail = self.around
        same = content.startswith(head) and content.endswith(tail)
        return content[len(head) : len(content) - len(tail)].decode(errors="replace") if same else None

    def is_same(self, content: bytes, metadata: pq.FileMetaData) -> bool:
        """True if all columns of another file are those of this one; what differs is in their footers."""
        mine = self.metadata
        return bool(
            mine.num_row_groups == metadata.num_row_groups
            and all(mine.row_group(one).equals(metadata.row_group(one)) for one in range(mine.num_row_groups))
            and mine.schema.equals(metadata.schema)
            and self.content[: _end(self.content, mine)] == content[: _end(content, metadata)]
        )

    def is_alike(self, other: _Content) -> bool:
        """True if a column of one, of the same bytes, holds what it does in the other."""
        one, two = self.metadata, other.metadata
        return bool(one.num_rows == two.num_rows and one.schema.equals(two.schema)) and self.chunks.keys() == (
            other.chunks.keys()
        )

    def has_same(self, column: str, other: _Content) -> bool:
        """True if a column has the same bytes in both."""
        one, two = self.chunks[column], other.chunks[column]
        return len(one) == len(two) and all(map(self._is_same, one, repeat(other), two))

    def _is_same(self, one: _Chunk, other: _Content, two: _Chunk) -> bool:
        if one.layout != two.layout or one.size != two.size:
            return False
        mine = self.content[one.begin : one.begin + one.size]
        return len(mine) == one.size and mine == other.content[two.begin : two.begin + two.size]


@dataclass(frozen=True, slots=True)
class _Decoded:
    content: _Content
    table: Table
    footer: Mapping[str, str]


def _end(content: bytes, metadata: pq.FileMetaData) -> int:
    """The first byte of the footer, which its length and PAR1 follow."""
    return len(content) - 8 - int(metadata.serialized_size)


def _around_facts(content: bytes, metadata: pq.FileMetaData) -> tuple[bytes, bytes] | None:
    """The bytes before and behind the facts in a footer: with their length, which stands there, the rest may stay."""
    facts = (metadata.metadata or {}).get(_FACTS_KEY.encode(), b"")
    end = _end(content, metadata)
    if not facts or content.count(facts, end) != 1:
        return None
    place = content.index(facts, end)
    return content[:place], content[place + len(facts) :]


def _opened(schema: TableSchema, content: bytes) -> pq.ParquetFile:
    """The file, its strings to be read by dictionary."""
    strings = [field.name for field in schema.fields if field.kind is Kind.STRING]
    try:
        return _open(content, strings)
    except KeyError:  # an older one, without some of these columns, or one where they are no strings
        there = _open(content).schema_arrow
        return _open(content, [name for name in strings if name in there.names and _is_text(there.field(name).type)])


def _open(content: bytes, by_dictionary: Sequence[str] = ()) -> pq.ParquetFile:
    return pq.ParquetFile(
        pa.BufferReader(content), read_dictionary=by_dictionary, page_checksum_verification=True, pre_buffer=False
    )


def _chunks_of(schema: TableSchema, metadata: pq.FileMetaData) -> dict[str, list[_Chunk]]:
    """Parts of the columns that are read, by name."""
    names = frozenset(schema.names)
    found: dict[str, list[_Chunk]] = {}
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        rows = group.num_rows
        for column in map(group.column, range(group.num_columns)):
            path = column.path_in_schema
            name = path.partition(".")[0]
            if name in names:
                found.setdefault(name, []).append(_chunk(name, path, column, rows))
    return found


def _chunk(name: str, path: str, column: pq.ColumnChunkMetaData, rows: int) -> _Chunk:
    data, dictionary, values = column.data_page_offset, column.dictionary_page_offset, column.num_values
    begin = dictionary if dictionary and dictionary < data else data
    # The elements of lists, beyond one a row; and strings.
    memory = max(0, values - rows) * VALUE_BYTES + column.total_uncompressed_size
    layout = path, rows, values, data - begin, dictionary is None, column.compression
    return _Chunk(name, begin, column.total_compressed_size, layout, memory)


def _check_size(schema: TableSchema, found: _Content, source: str) -> None:
    """Refuses a file of few bytes and many rows: a run of equal values takes no memory until it is decoded."""
    rows = found.metadata.num_rows
    size = rows * len(schema.fields) * VALUE_BYTES
    size += sum(chunk.memory for some in found.chunks.values() for chunk in some)
    if size > input_limit():
        reason = f"its {rows} rows take some {size} bytes of memory, {beyond_limit(input_limit())}"
        raise InputError(source, "", reason)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _read_footer(schema: TableSchema, footer: Mapping[bytes, bytes], source: str) -> dict[str, str]:
    texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in footer.items()}
    table, version = texts.get(_TABLE_KEY, schema.name), texts.get(_VERSION_KEY, "1")
    if table != schema.name:
        reason = f"expected the table {schema.name} of a snapshot, found its table {table}"
        raise InputError(source, "", reason, "give the dump directory, which has all tables")
    if not version.isascii() or not version.isdigit() or int(version) > SCHEMA_VERSION:
        raise newer_version(source, version, SCHEMA_VERSION)
    return texts
