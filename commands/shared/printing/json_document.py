"""The JSON of an answer, written while its rows are found: an envelope around rows that are never all in memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from commands.shared.printing.terminal import as_shown

_INDENT = 2


class JsonDocument:
    """``{"schema", "clusters", "<rows>": [...], "summary", "warnings"}`` on stdout, on a terminal indented.

    A document whose writing fails is left incomplete: it is not valid JSON, and the exit code says so.

    Args:
        before: Fields before the rows.
        rows_name: Key of the rows.
    """

    def __init__(self, before: Mapping[str, object], rows_name: str) -> None:
        self._opening = {**before, rows_name: []}
        self._indented = sys.stdout.isatty()
        self._empty = True

    def begin(self) -> None:
        """Writes the fields before the rows."""
        opened = self._text(self._opening)
        write_bytes(opened[: opened.rindex(b"]")])

    def add(self, rows: bytes | memoryview) -> None:
        """Writes rows: objects, commas between them."""
        if not self._empty:
            write_bytes(b",")
        self._empty = False
        write_bytes(self._nested(bytes(rows)) if self._indented else rows)

    def end(self, after: Mapping[str, object]) -> None:
        """Writes the fields after the rows."""
        closed = b"]" if self._empty or not self._indented else b"\n" + b" " * _INDENT + b"]"
        write_bytes(closed + b"," + self._text(after).removeprefix(b"{") + b"\n")

    def _text(self, document: Mapping[str, object]) -> bytes:
        import msgspec

        content = encoded(document)
        return msgspec.json.format(content, indent=_INDENT) if self._indented else content

    def _nested(self, rows: bytes) -> bytes:
        import msgspec

        lines = msgspec.json.format(b"[" + rows + b"]", indent=_INDENT)[1:-2]
        return lines.replace(b"\n", b"\n" + b" " * _INDENT)  # line ends within strings are escaped


def write_bytes(content: bytes | memoryview) -> None:
    """Writes bytes to stdout: JSON and Parquet do not depend on the locale's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(as_shown(content))


def encoded(document: object) -> bytes:
    """JSON as UTF-8; what is not Unicode, in a file name for instance, is escaped."""
    import msgspec

    try:
        return msgspec.json.encode(document, enc_hook=plain)
    except UnicodeEncodeError:
        return json.dumps(document, ensure_ascii=False, default=plain).encode("utf-8", "backslashreplace")


def plain(value: object) -> object:
    """A value in the types that JSON knows."""
    import msgspec

    if isinstance(value, msgspec.Struct):
        from kreplica.model.tables.rows import values_of

        return dict(zip(value.__struct_encode_fields__, values_of(type(value))(value), strict=True))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
