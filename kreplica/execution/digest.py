"""JSON files with a digest of their content: written whole or not at all, refused when edited.

Such a file is one object with the fields ``schema`` and ``digest``: SHA-256 over the rest in one canonical form (keys
sorted, no blanks). An edited file has another digest and is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kreplica.errors import InputError, os_reason
from kreplica.system.output_files import write_output
from kreplica.system.untrusted_files import MalformedError, decode_json, input_limit, read_whole


def digest_of(document: object) -> str:
    """``sha256:`` and the hexadecimal digest of a document without its digest, in its canonical form."""
    import msgspec

    return "sha256:" + hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()


def write_document(document: Mapping[str, Any], path: Path, *, replace: bool = False) -> str:
    """Writes a document and its digest; a crash leaves the old file or the new one, never a part.

    Args:
        document: What to write.
        path: Where to.
        replace: Whether a file that is there is replaced.

    Returns:
        The digest.

    Raises:
        UsageError: The file exists, or the path cannot be written.
    """
    import msgspec

    digest = digest_of(document)
    content = msgspec.json.format(msgspec.json.encode({**document, "digest": digest}), indent=1) + b"\n"
    write_output(path, content, replace=replace)
    return digest


def read_document(path: Path, schema: str, remake: str) -> tuple[dict[str, Any], str]:
    """Reads a document, its digest taken out and compared, and the digest.

    Args:
        path: The file.
        schema: What its schema has to be, with its version.
        remake: How to make it again, for the message of a refusal.

    Raises:
        InputError: It cannot be read, is another document, is damaged, was edited, or is of another version.
    """
    document = _document(path, remake)
    _check_schema(path, document, (schema,), remake)
    digest = document.pop("digest", None)
    if digest != digest_of(document):
        raise InputError(str(path), "", "its digest does not match: it was edited or damaged after it was made", remake)
    return document, str(digest)


def read_schema(path: Path, schemas: Sequence[str], remake: str) -> str:
    """Reads the schema of a document and checks no more of it.

    Args:
        path: The file.
        schemas: Schemas that it may have, with their versions.
        remake: How to make it again, for the message of a refusal.

    Raises:
        InputError: It cannot be read, is another document, or is of another version.
    """
    document = _document(path, remake)
    _check_schema(path, document, schemas, remake)
    return str(document["schema"])


def decode_document(path: Path, document: Mapping[str, Any], kind: type[Any], remake: str) -> Any:
    """Decodes the document; one with a field unknown here is refused, as it must not be carried out without it.

    Raises:
        InputError: It does not fit, or has other fields.
    """
    import msgspec

    newer = "made by a newer kreplica? " + remake
    try:
        found = msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(path), "", str(error), newer) from None
    if digest_of(msgspec.to_builtins(found)) != digest_of(document):
        raise InputError(str(path), "", "it has fields that this kreplica does not know", newer)
    return found


def _document(path: Path, remake: str) -> dict[str, Any]:
    try:
        content = read_whole(path, input_limit())
        document = decode_json(content)
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    except MalformedError as error:
        raise _not_json(path, error, remake) from None
    if not isinstance(document, dict):
        raise InputError(str(path), "", "expected a JSON object: not a plan of kreplica", remake)
    return document


def _not_json(path: Path, error: Exception, remake: str) -> InputError:
    found = re.search(r"\(byte (\d+)\)", str(error))
    reason = re.sub(r"\s*\(byte \d+\)", "", str(error))
    return InputError(str(path), f"byte {found[1]}" if found else "", f"not JSON, {reason}", remake)


def _check_schema(path: Path, document: Mapping[str, Any], wanted: Sequence[str], remake: str) -> None:
    schema = document.get("schema")
    if schema in wanted:
        return
    families = "|".join(re.escape(one.rpartition("/")[0]) for one in wanted)
    if isinstance(schema, str) and re.fullmatch(rf"({families})/v\d+", schema):
        reason = f"its schema is {schema}, this kreplica reads {' and '.join(wanted)}"
        raise InputError(str(path), "", reason, "use a newer kreplica")
    expected = " or ".join(map(repr, wanted))
    found = f"schema {schema!r}" if schema is not None else "no schema"
    raise InputError(str(path), "", f"expected schema {expected}, found {found}: not a plan of kreplica", remake)
