"""A table of the model as an Arrow table and back: whole buffers at a time, no loop over rows.

Arrays are built from and taken apart into their buffers, for speed and for one more reason: ``pa.array`` and its like
import pandas where that is installed, which alone takes longer than reading 200,000 partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from kreplica.errors import InputError
from kreplica.model.tables.columns import (
    BoolColumn,
    Column,
    IntColumn,
    Integers,
    IntListColumn,
    Mask,
    StringColumn,
    null_column,
)
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table

ArrowArray: TypeAlias = Any  # pyarrow has no types

ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.BOOL: pa.bool_(),
    Kind.STRING: pa.string(),
    Kind.INT_LIST: pa.list_(pa.field("element", pa.int32(), nullable=False)),
}
"""Plain types only, so that every Parquet reader, Spark's above all, takes them as they are."""

MANY_ROWS = 100_000
_FIX = "take the snapshot again, or give the file as kreplica wrote it"


def arrow_schema(schema: TableSchema, *, by_dictionary: bool = False) -> pa.Schema:
    """The Arrow schema of a table; fields that may not be null are required in Parquet too.

    Args:
        schema: Of the table.
        by_dictionary: True for strings as dictionary arrays, which Parquet takes as they are.
    """
    types = {**ARROW_TYPES, Kind.STRING: pa.dictionary(pa.int32(), pa.string())} if by_dictionary else ARROW_TYPES
    return pa.schema([pa.field(field.name, types[field.kind], field.nullable) for field in schema.fields])


def to_arrow(table: Table, *, by_dictionary: bool = False) -> pa.Table:
    """An Arrow table of the same rows; strings by dictionary or plain."""
    schema = arrow_schema(table.schema, by_dictionary=by_dictionary)
    arrays = [_array(table[field.name], field, by_dictionary=by_dictionary) for field in table.schema.fields]
    return pa.Table.from_arrays(arrays, schema=schema)


def read_columns(fields: Sequence[Field], arrow: pa.Table, source: str) -> dict[str, Column]:
    """Columns of an Arrow table; null where it lacks one.

    Raises:
        InputError: One is of another type, or null where it may not be.
    """
    combined = arrow.combine_chunks()
    return {field.name: _read_field(field, combined, source) for field in fields}


def check_columns(schema: TableSchema, names: Sequence[str], source: str) -> None:
    """Raises InputError unless a file of these columns can hold the table."""
    for field in schema.fields:
        if names.count(field.name) > 1:
            raise InputError(source, f"column {field.name}", "it stands there twice", _FIX)
        if field.name not in names and not field.nullable:
            found = ", ".join(names[:8]) or "none"
            reason = f"it is not there; expected the columns of kreplica's {schema.name}, found {found}"
            raise InputError(source, f"column {field.name}", reason, _FIX)


def _array(column: Column, field: Field, *, by_dictionary: bool = False) -> ArrowArray:
    if isinstance(column, StringColumn):
        array = _string_array(column) if by_dictionary else _plain_strings(column)
    elif isinstance(column, IntListColumn):
        array = _list_array(column)
    elif isinstance(column, BoolColumn):
        array = pa.Array.from_buffers(pa.bool_(), len(column), [_bits(column.valid), _bits(column.values)])
    else:
        array = _integer_array(column, ARROW_TYPES[field.kind])
    assert field.nullable or array.null_count == 0, f"{field.name} may not be null"
    return array


def _integer_array(column: IntColumn, target: pa.DataType) -> ArrowArray:
    # Values at nulls are unspecified and may not fit the narrower type.
    values = column.values if column.valid is None else np.where(column.valid, column.values, 0)
    narrowed = _narrowed(values, target)
    return pa.Array.from_buffers(target, len(column), [_bits(column.valid), _buffer(narrowed)])


def _narrowed(values: Integers, target: pa.DataType) -> np.ndarray:
    if target != pa.int32():
        return np.ascontiguousarray(values, dtype=np.int64)
    narrowed = values.astype(np.int32)
    assert np.array_equal(narrowed, values), "an int32 column holds int32 values"
    return narrowed


def _string_array(column: StringColumn) -> ArrowArray:
    words = [word.encode("utf-8", "backslashreplace") for word in column.dictionary]
    offsets = np.zeros(len(words) + 1, dtype=np.int32)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    dictionary = pa.Array.from_buffers(pa.string(), len(words), [None, _buffer(offsets), _buffer(b"".join(words))])
    known = column.valid
    codes = column.codes if known is None else np.where(known, column.codes, 0).astype(np.int32)
    indices = pa.Array.from_buffers(
        pa.int32(), len(codes), [_bits(known), _buffer(np.ascontiguousarray(codes, np.int32))]
    )
    return pa.DictionaryArray.from_arrays(indices, dictionary)


def _plain_strings(column: StringColumn) -> ArrowArray:
    words = [*(word.encode("utf-8", "backslashreplace") for word in column.dictionary), b""]
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(np.array([len(word) for word in words], np.int64)[column.codes], out=offsets[1:])
    if len(column) > MANY_ROWS or offsets[-1] >= 2**31:
        return _string_array(column).cast(pa.string())
    # Arrow's functions take as long to import as a hundred thousand rows take here.
    content = b"".join(map(words.__getitem__, column.codes.tolist()))
    buffers = [_bits(column.valid), _buffer(offsets.astype(np.int32)), _buffer(content)]
    return pa.Array.from_buffers(pa.string(), len(column), buffers)


def _list_array(column: IntListColumn) -> ArrowArray:
    shown = _without_hidden_elements(column)
    assert shown.offsets[-1] < 2**31, "lists of one table have fewer than 2^31 elements in all"
    elements = pa.Array.from_buffers(
        pa.int32(), len(shown.values), [None, _buffer(_narrowed(shown.values, pa.int32()))]
    )
    offsets = _buffer(shown.offsets.astype(np.int32))
    return pa.Array.from_buffers(
        ARROW_TYPES[Kind.INT_LIST], len(column), [_bits(shown.valid), offsets], children=[elements]
    )


def _without_hidden_elements(column: IntListColumn) -> IntListColumn:
    """The same lists, with no elements at nulls."""
    if column.valid is None:
        return column
    lengths = np.where(column.valid, column.lengths(), 0)
    kept = np.repeat(column.valid, column.lengths())
    return IntListColumn(column.values[kept], np.concatenate([[0], np.cumsum(lengths)]), column.valid)


def _buffer(content: Any) -> Any:
    return pa.py_buffer(content)


def _bits(mask: Mask | None) -> Any:
    return None if mask is None else _buffer(np.packbits(mask, bitorder="little"))


def _read_field(field: Field, arrow: pa.Table, source: str) -> Column:
    position = arrow.schema.get_field_index(field.name)
    if position < 0:
        return null_column(field.kind, arrow.num_rows)
    chunks = arrow.column(position).chunks
    return _read_array(field, chunks[0], source) if chunks else null_column(field.kind, 0)


def _read_array(field: Field, array: ArrowArray, source: str) -> Column:
    if array.null_count and not field.nullable:
        raise InputError(
            source, f"column {field.name}", f"null in {array.null_count} of {len(array)} rows, it may be in none", _FIX
        )
    if pa.types.is_null(array.type):
        return null_column(field.kind, len(array))
    try:
        return _READERS[field.kind](array, field.kind)
    except (_OtherTypeError, pa.ArrowInvalid, UnicodeDecodeError) as problem:
        detail = "" if isinstance(problem, _OtherTypeError) else f": {problem}"
        reason = f"expected {field.kind.value}, found {array.type}{detail}"
        raise InputError(source, f"column {field.name}", reason, _FIX) from None


class _OtherTypeError(Exception):
    """A column holds something else."""


def _read_integers(array: ArrowArray, kind: Kind) -> IntColumn:
    if not pa.types.is_integer(array.type):
        raise _OtherTypeError
    fitting = _cast(array, ARROW_TYPES[kind])
    return IntColumn(_numbers(fitting).astype(np.int64, copy=False), _valid(fitting))


def _read_booleans(array: ArrowArray, _: Kind) -> BoolColumn:
    if not pa.types.is_boolean(array.type):
        raise _OtherTypeError
    return BoolColumn(_unpacked(array.buffers()[1], array.offset, len(array)), _valid(array))


def _read_strings(array: ArrowArray, _: Kind) -> StringColumn:
    encoded = array if pa.types.is_dictionary(array.type) else _by_dictionary(array)
    words: Any = encoded.dictionary
    if not (pa.types.is_string(words.type) or pa.types.is_large_string(words.type)) or words.null_count:
        raise _OtherTypeError
    indices = _cast(encoded.indices, pa.int32())
    codes = _numbers(indices)
    known = _valid(indices)
    return StringColumn(
        codes if known is None else np.where(known, codes, -1).astype(np.int32), tuple(words.to_pylist())
    )


def _by_dictionary(array: ArrowArray) -> ArrowArray:
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise _OtherTypeError
    return array.dictionary_encode()


def _read_lists(array: ArrowArray, kind: Kind) -> IntListColumn:
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise _OtherTypeError
    if not pa.types.is_integer(array.type.value_type):
        raise _OtherTypeError
    bounds = _numbers(array.offsets).astype(np.int64)
    elements = array.values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
    if elements.null_count and array.flatten().null_count:
        raise _OtherTypeError
    values = _numbers(_cast(elements, pa.int32())).astype(np.int64)
    column = IntListColumn(values, bounds - bounds[0], _valid(array))
    assert kind is Kind.INT_LIST, "the only kind of list"
    return _without_hidden_elements(column)


_READERS: dict[Kind, Callable[[ArrowArray, Kind], Column]] = {
    Kind.INT32: _read_integers,
    Kind.INT64: _read_integers,
    Kind.BOOL: _read_booleans,
    Kind.STRING: _read_strings,
    Kind.INT_LIST: _read_lists,
}


def _cast(array: ArrowArray, target: pa.DataType) -> ArrowArray:
    """The array as another type of integers, which refuses values that do not fit."""
    # Arrow's functions take 40 ms to import, and every cast needs them, also one that changes nothing.
    return array if array.type == target else array.cast(target)


def _numbers(array: ArrowArray) -> np.ndarray:
    dtype = np.dtype(f"i{array.type.bit_width // 8}")
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.empty(0, dtype=dtype)
    return np.frombuffer(memoryview(data), dtype=dtype)[array.offset : array.offset + len(array)]


def _valid(array: ArrowArray) -> Mask | None:
    if array.null_count == 0:
        return None
    return _unpacked(array.buffers()[0], array.offset, len(array))


def _unpacked(bits: Any, offset: int, length: int) -> Mask:
    if bits is None or length == 0:
        return np.zeros(0, dtype=np.bool_)
    unpacked = np.unpackbits(np.frombuffer(memoryview(bits), np.uint8), count=offset + length, bitorder="little")
    return unpacked[offset:].view(np.bool_)
