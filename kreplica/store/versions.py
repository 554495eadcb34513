"""Schema and version that a manifest names: what this kreplica does not know is refused as that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from kreplica.errors import InputError
from kreplica.system.untrusted_files import MalformedError, decode_json

AGAIN = "it is damaged or foreign: restore it from where it was copied, or remove it"


@dataclass(frozen=True, slots=True)
class _Version:
    schema: str
    schema_version: int


class _Versioned(Protocol):
    @property
    def schema(self) -> str: ...

    @property
    def schema_version(self) -> int: ...


Document = TypeVar("Document", bound=_Versioned)


def decode_versioned(content: bytes, kind: type[Document], schema: str, newest: int, source: str) -> Document:
    """Decodes a manifest; one of another schema, or of a newer version, is refused as that, whatever else is in it.

    Args:
        content: Of its file.
        kind: What it has to be.
        schema: The schema that it should be of.
        newest: The newest version that this kreplica reads.
        source: File name for errors.

    Raises:
        InputError: It is foreign, or of a newer kreplica.
        MalformedError: It is damaged, or names no schema and version.
    """
    try:
        document: Document = decode_json(content, kind)
    except MalformedError:
        _check(decode_json(content, _Version), schema, newest, source)
        raise
    _check(document, schema, newest, source)
    return document


def _check(version: _Versioned, schema: str, newest: int, source: str) -> None:
    if version.schema != schema:
        raise InputError(source, "", f"expected the schema {schema}, found {version.schema}", AGAIN)
    if version.schema_version > newest:
        raise newer_version(source, version.schema_version, newest)


def newer_version(source: str, version: int | str, newest: int) -> InputError:
    """The error for a file that a newer kreplica wrote."""
    reason = f"schema version {version}, this kreplica reads up to {newest}"
    return InputError(source, "", reason, "read it with the newer kreplica that wrote it")
