"""Reads messages by the schemas that Kafka publishes as JSON, kept as tables of fields.

    plain field       present from version ``since`` on, in the order of the schema
    tagged field      after the plain ones of a flexible message, only if it is not at its default (KIP-482):
                      count uvarint, then for each: tag uvarint, size uvarint, that many bytes

                      flexible                              not flexible
    string, bytes     uvarint length + 1, 0 for null        int16 or int32 length, -1 for null
    array             uvarint count + 1, 0 for null         int32 count, -1 for null
    structure         its fields, then tagged fields        its fields

A structure that may be null has a byte before it, -1 for null; a tagged one a uvarint, 0 for null.

Kafka: org.apache.kafka.message.MessageDataGenerator. Values come as Python ones: integers, floats, strings, lists,
dictionaries; a uuid as Kafka prints it, bytes as bytes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value at a position; returns the value and the position after it."""


class SchemaError(Exception):
    """Bytes do not fit the schema.

    Args:
        position: First byte that does not.
        reason: Description of the fault, in lower case.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Array:
    """An array of one kind of element."""

    of: Kind


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Args:
        name: As Kafka's tools print it.
        kind: A primitive's name, an array, or the fields of a structure.
        since: First version that has it.
        nullable: True if it may be null.
        tag: Its tag; None for a plain field.
        default: Its value where it is not written.
    """

    name: str
    kind: Kind
    since: int = 0
    nullable: bool = False
    tag: int | None = None
    default: object = None


Fields: TypeAlias = tuple[Field, ...]
Kind: TypeAlias = "str | Array | Fields"

_NUMBERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q", "float64": ">d"}
_LONGEST_VARINT = 5


@lru_cache(maxsize=1024)
def message_reader(fields: Fields, version: int, *, flexible: bool) -> Reader:
    """Returns a reader of one version of a message, which returns a dictionary with every field of the schema.

    A reader raises SchemaError, never anything else, whatever the bytes are.
    """
    plain, tagged = _members(fields, version, flexible)
    defaults = {field.name: field.default for field in fields}

    def read(data: bytes, position: int) -> tuple[dict[str, Any], int]:
        found = dict(defaults)
        for name, reader in plain:
            found[name], position = reader(data, position)
        return found, _read_tagged(data, position, tagged, found) if flexible else position

    return read


def _members(
    fields: Fields, version: int, flexible: bool
) -> tuple[list[tuple[str, Reader]], dict[int, tuple[str, Reader]]]:
    known = [
        (field, _reader(field.kind, version, flexible, field.nullable, field.tag is not None))
        for field in fields
        if field.since <= version
    ]
    plain = [(field.name, reader) for field, reader in known if field.tag is None]
    return plain, {field.tag: (field.name, reader) for field, reader in known if field.tag is not None}


def read_unsigned(data: bytes, position: int) -> tuple[int, int]:
    """Reads an unsigned varint; returns it and the position after it.

    Raises:
        SchemaError: It is cut off or longer than five bytes.
    """
    value, begin = 0, position
    for shift in range(0, 7 * _LONGEST_VARINT, 7):
        if position >= len(data):
            raise SchemaError(begin, "cut off in a number of variable length")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise SchemaError(begin, "a number of variable length with more than five bytes")


@lru_cache(maxsize=65536)
def uuid_text(content: bytes) -> str:
    """A uuid as Kafka prints it: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(content).decode("ascii").rstrip("=")


def _read_tagged(data: bytes, position: int, tagged: Mapping[int, tuple[str, Reader]], found: dict[str, Any]) -> int:
    count, position = read_unsigned(data, position)
    if count > len(data) - position:
        raise SchemaError(position, f"{count} tagged fields in {len(data) - position} bytes")
    for _ in range(count):
        tag, position = read_unsigned(data, position)
        size, position = read_unsigned(data, position)
        if size > len(data) - position:
            raise SchemaError(position, f"a tagged field of {size} bytes in {len(data) - position}")
        if tag in tagged:
            name, reader = tagged[tag]
            found[name], end = reader(data, position)
            if end != position + size:
                raise SchemaError(position, f"the tagged field {name} takes {end - position} bytes, not {size}")
        position += size
    return position


def _reader(kind: Kind, version: int, flexible: bool, nullable: bool, tagged: bool = False) -> Reader:
    if isinstance(kind, Array) and isinstance(kind.of, str) and kind.of in _NUMBERS:
        return _numbers_reader(_NUMBERS[kind.of], flexible, nullable)
    if isinstance(kind, Array):
        return _array_reader(_reader(kind.of, version, flexible, nullable=False), flexible, nullable)
    if isinstance(kind, tuple):
        structure = message_reader(kind, version, flexible=flexible)
        return _nullable_reader(structure, tagged) if nullable else structure
    if kind in _NUMBERS:
        return _number_reader(struct.Struct(_NUMBERS[kind]))
    if kind in ("bool", "uuid"):
        return _read_bool if kind == "bool" else _read_uuid
    return _sized_reader(kind, flexible, nullable)


def _nullable_reader(structure: Reader, tagged: bool) -> Reader:
    """A structure that may be null has a byte before it, negative for null; a tagged one a uvarint, 0 for null."""
    marker, least = (read_unsigned, 1) if tagged else (_number_reader(struct.Struct(">b")), 0)

    def read(data: bytes, position: int) -> tuple[Any, int]:
        present, begin = marker(data, position)
        return (None, begin) if present < least else structure(data, begin)

    return read


def _number_reader(form: struct.Struct) -> Reader:
    size, unpack = form.size, form.unpack_from

    def read(data: bytes, position: int) -> tuple[Any, int]:
        if position + size > len(data):
            raise SchemaError(position, f"cut off in a number of {size} bytes")
        return unpack(data, position)[0], position + size

    return read


def _read_bool(data: bytes, position: int) -> tuple[bool, int]:
    if position >= len(data):
        raise SchemaError(position, "cut off in a truth value")
    return data[position] != 0, position + 1


def _read_uuid(data: bytes, position: int) -> tuple[str, int]:
    end = position + 16
    if end > len(data):
        raise SchemaError(position, "cut off in a uuid")
    return uuid_text(data[position:end]), end


def _length_reader(small: str, flexible: bool) -> Callable[[bytes, int], tuple[int, int]]:
    """Reads a length or count, -1 for null."""
    number = _number_reader(struct.Struct(small))

    def compact(data: bytes, position: int) -> tuple[int, int]:
        value, position = read_unsigned(data, position)
        return value - 1, position

    return compact if flexible else number


def _sized_reader(kind: str, flexible: bool, nullable: bool) -> Reader:
    length_of = _length_reader(">h" if kind == "string" else ">i", flexible)
    is_text = kind == "string"

    def read(data: bytes, position: int) -> tuple[str | bytes | None, int]:
        length, begin = length_of(data, position)
        if length == -1 and nullable:
            return None, begin
        if length < 0 or length > len(data) - begin:
            raise SchemaError(position, f"a {kind} of {length} bytes in {len(data) - begin}")
        content = data[begin : begin + length]
        return (_text(content, begin) if is_text else content), begin + length

    return read


def _text(content: bytes, position: int) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SchemaError(position + error.start, "a string that is no UTF-8") from None


def _array_reader(element: Reader, flexible: bool, nullable: bool) -> Reader:
    count_of = _length_reader(">i", flexible)

    def read(data: bytes, position: int) -> tuple[list[Any] | None, int]:
        count, begin = count_of(data, position)
        if count == -1 and nullable:
            return None, begin
        # Every element takes a byte at least.
        if count < 0 or count > len(data) - begin:
            raise SchemaError(position, f"an array of {count} elements in {len(data) - begin} bytes")
        found, end = [], begin
        for _ in range(count):
            value, end = element(data, end)
            found.append(value)
        return found, end

    return read


def _numbers_reader(form: str, flexible: bool, nullable: bool) -> Reader:
    """An array of numbers at once: replicas and ISRs are most of a metadata log."""
    count_of, size = _length_reader(">i", flexible), struct.calcsize(form)

    def read(data: bytes, position: int) -> tuple[list[Any] | None, int]:
        count, begin = count_of(data, position)
        if count == -1 and nullable:
            return None, begin
        if count < 0 or count * size > len(data) - begin:
            raise SchemaError(position, f"an array of {count} elements in {len(data) - begin} bytes")
        return list(struct.unpack_from(f">{count}{form[1]}", data, begin)), begin + count * size

    return read
