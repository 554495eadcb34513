"""Schema and version that a manifest names: what this kreplica does not know is refused before it is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from kreplica.errors import InputError
from kreplica.system.untrusted_files import decode_json

AGAIN = "it is damaged or foreign: restore it from where it was copied, or remove it"


@dataclass(frozen=True, slots=True)
class _Version:
    schema: str
    schema_version: int


def check_version(content: bytes, schema: str, newest: int, source: str) -> None:
    """Refuses a manifest of another schema, or of a newer version.

    Args:
        content: Of its file.
        schema: The schema that it should be of.
        newest: The newest version that this kreplica reads.
        source: File name for errors.

    Raises:
        InputError: It is foreign, or of a newer kreplica.
        MalformedError: It names no schema and version.
    """
    version = decode_json(content, _Version)
    if version.schema != schema:
        raise InputError(source, "", f"expected the schema {schema}, found {version.schema}", AGAIN)
    if version.schema_version > newest:
        raise newer_version(source, version.schema_version, newest)


def newer_version(source: str, version: int | str, newest: int) -> InputError:
    """The error for a file that a newer kreplica wrote."""
    reason = f"schema version {version}, this kreplica reads up to {newest}"
    return InputError(source, "", reason, "read it with the newer kreplica that wrote it")
