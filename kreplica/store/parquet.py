"""One table of a snapshot as the bytes of one Parquet file, and back.

The footer carries the facts of the snapshot, so that one file can be read alone:
``kreplica.snapshot`` (SnapshotFacts as JSON), ``kreplica.table`` and ``kreplica.schema_version``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq

from kreplica.errors import InputError
from kreplica.model.schema import SCHEMA_VERSION, Kind, TableSchema
from kreplica.model.table import Table
from kreplica.store.arrow import check_columns, from_arrow, to_arrow
from kreplica.store.manifest import SnapshotFacts, decode_facts, encode_facts
from kreplica.system.untrusted_files import beyond_limit, input_limit

VALUE_BYTES = 16
"""Memory of a value while a table is decoded: measured, and more than the 8 bytes it has afterwards."""
_RESTORE = "restore it, or take the snapshot again"
_FACTS_KEY = "kreplica.snapshot"
_TABLE_KEY = "kreplica.table"
_VERSION_KEY = "kreplica.schema_version"


def encode_table(table: Table, facts: SnapshotFacts) -> bytes:
    """A table, in the schema's order, as the bytes of a Parquet file."""
    footer = {_FACTS_KEY: encode_facts(facts).decode()}
    return parquet_bytes(to_arrow(table), table.schema.sort, table_name=table.schema.name, footer=footer)


def parquet_bytes(
    arrow: pa.Table, sort: Sequence[str], *, table_name: str, footer: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """Rows, sorted by the columns named, as the bytes of a Parquet file that ``decode_table`` reads.

    Args:
        arrow: The rows.
        sort: Columns that they are sorted by.
        table_name: Name of the table, for the footer.
        footer: Texts for the footer besides, by key.
    """
    sink = pa.BufferOutputStream()
    order = [pq.SortingColumn(arrow.schema.get_field_index(name)) for name in sort]
    with pq.ParquetWriter(
        sink, arrow.schema, compression="zstd", store_schema=False, write_page_checksum=True, sorting_columns=order
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
    try:
        metadata = pq.ParquetFile(pa.BufferReader(content)).metadata
        _check_size(schema, metadata, source, rows)
        facts = _read_footer(schema, metadata.metadata or {}, source)
        arrow = _read_columns(schema, content, metadata, source)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = f"not a Parquet file that can be read: {str(error).splitlines()[0]}"
        raise InputError(source, "", reason, _RESTORE) from None
    return from_arrow(schema, arrow, source), facts


def _check_size(schema: TableSchema, metadata: pq.FileMetaData, source: str, rows: int | None) -> None:
    """Refuses a file of few bytes and many rows: a run of equal values takes no memory until it is decoded."""
    if rows is not None and metadata.num_rows != rows:
        raise InputError(source, "", f"expected {rows} rows, found {metadata.num_rows}", _RESTORE)
    size, names = metadata.num_rows * len(schema.fields) * VALUE_BYTES, frozenset(schema.names)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = [column for column in map(group.column, range(group.num_columns)) if _top(column) in names]
        # The elements of lists, beyond one a row; and strings.
        size += sum(max(0, column.num_values - group.num_rows) * VALUE_BYTES for column in columns)
        size += sum(column.total_uncompressed_size for column in columns)
    if size > input_limit():
        reason = f"its {metadata.num_rows} rows take some {size} bytes of memory, {beyond_limit(input_limit())}"
        raise InputError(source, "", reason)


def _top(column: pq.ColumnChunkMetaData) -> str:
    return str(column.path_in_schema).partition(".")[0]


def _read_columns(schema: TableSchema, content: bytes, metadata: pq.FileMetaData, source: str) -> pa.Table:
    there = metadata.schema.to_arrow_schema()
    check_columns(schema, there.names, source)
    names = frozenset(schema.names)
    wanted = [name for name in there.names if name in names]
    strings = [name for name in wanted if schema.field(name).kind is Kind.STRING and _is_text(there.field(name).type)]
    # Not pq.read_table: it imports pandas where that is installed.
    file = pq.ParquetFile(
        pa.BufferReader(content), metadata=metadata, read_dictionary=strings, page_checksum_verification=True
    )
    return file.read(columns=wanted).unify_dictionaries()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _read_footer(schema: TableSchema, footer: Mapping[bytes, bytes], source: str) -> SnapshotFacts | None:
    texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in footer.items()}
    table, version = texts.get(_TABLE_KEY, schema.name), texts.get(_VERSION_KEY, "1")
    if table != schema.name:
        reason = f"expected the table {schema.name} of a snapshot, found its table {table}"
        raise InputError(source, "", reason, "give the dump directory, which has all tables")
    if not version.isascii() or not version.isdigit() or int(version) > SCHEMA_VERSION:
        reason = f"schema version {version}, this kreplica reads up to {SCHEMA_VERSION}"
        raise InputError(source, "", reason, "read it with the newer kreplica that wrote it")
    return decode_facts(texts[_FACTS_KEY].encode(), source) if _FACTS_KEY in texts else None
