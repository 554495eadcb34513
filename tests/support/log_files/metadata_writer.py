"""Writes messages and metadata records by the published schemas: the reading side's mirror, for round trips."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

from kreplica.formats.schema import Array, Field
from log_files.varints import unsigned

NUMBERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q", "float64": ">d"}


def message(fields: tuple[Field, ...], version: int, data: Mapping[str, Any], *, flexible: bool = True) -> bytes:
    """A message of the given values; tagged fields only where they are not at their default."""
    known = [field for field in fields if field.since <= version]
    out = b"".join(value(field.kind, data[field.name], version, flexible) for field in known if field.tag is None)
    if not flexible:
        return out
    tagged = sorted((field for field in known if field.tag is not None), key=lambda field: field.tag or 0)
    written = [field for field in tagged if data[field.name] != field.default]
    out += unsigned(len(written))
    for field in written:
        content = value(field.kind, data[field.name], version, flexible)
        out += unsigned(field.tag or 0) + unsigned(len(content)) + content
    return out


def value(kind: Any, content: Any, version: int, flexible: bool) -> bytes:
    """One value of a kind."""
    if isinstance(kind, Array):
        if content is None:
            return length(-1, ">i", flexible)
        return length(len(content), ">i", flexible) + b"".join(
            value(kind.of, each, version, flexible) for each in content
        )
    if isinstance(kind, tuple):
        return message(kind, version, content, flexible=flexible)
    if kind in NUMBERS:
        return struct.pack(NUMBERS[kind], content)
    if kind in ("bool", "uuid"):
        return bytes([content]) if kind == "bool" else base64.urlsafe_b64decode(content + "==")
    raw = content.encode() if isinstance(content, str) else content
    form = ">h" if kind == "string" else ">i"
    return length(-1, form, flexible) if raw is None else length(len(raw), form, flexible) + raw


def length(number: int, form: str, flexible: bool) -> bytes:
    """A length or count, -1 for null."""
    return unsigned(number + 1) if flexible else struct.pack(form, number)
