"""Bytes of a dump, from a file or standard input, as text.

The files may be compressed, saved by a Windows editor (byte order mark, CRLF) or redirected by PowerShell
(UTF-16). All of these are read; bytes that are no text are an error that names the position.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kreplica.errors import InputError, os_reason
from kreplica.model.snapshot import utc_now
from kreplica.system.untrusted_files import beyond_limit, changed_at, input_limit, read_to_end, read_with_status

STDIN = "<stdin>"
TAKEN = (
    "kreplica reads kreplica snapshot directories, the text of kafka-topics --describe, the JSON of kcat -L -J,"
    " exports of ZooKeeper's znodes as JSON and metadata logs of KRaft nodes"
)
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class DumpText:
    """The text of a dump.

    Args:
        source: The path as the user gave it, or ``<stdin>``: the name in errors and of the snapshot.
        text: All of it, without byte order mark; lines may end in CRLF.
        taken_at: When the file was last changed; now for standard input and pipes. UTC.
    """

    source: str
    text: str
    taken_at: datetime

    def lines(self) -> list[str]:
        """Lines without their ends; the last is empty if the text ends as a text file does."""
        # Not splitlines(): it also splits at characters that a setting's value may hold.
        return self.text.replace("\r\n", "\n").split("\n")


def read_dump_bytes(path: str) -> tuple[str, bytes, datetime]:
    """Reads a file, or standard input for ``-``.

    Returns:
        Name for messages, content (decompressed if it was gzip), time of the last change.

    Raises:
        InputError: The file is not there, cannot be read, is empty, has no end or is a damaged gzip file.
    """
    if path == "-":
        source, content, taken_at = STDIN, _read_stdin(), utc_now()
    else:
        source, (content, taken_at) = path, _read_file(path)
    if content.startswith(_GZIP_MAGIC):
        content = _decompress(source, content)
    if not content.strip():
        raise InputError(source, "", "it is empty", "dump the cluster again and look at what the tool printed")
    return source, content, taken_at


def decode_dump(source: str, content: bytes) -> str:
    """Turns bytes into text: UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InputError: The bytes are no text; names the line or byte.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _decode(source, content.removeprefix(mark), encoding)
    zero = content.find(b"\0")
    if zero >= 0:
        raise InputError(source, f"byte {zero}", f"a binary file that starts with {content[:4]!r}, not a dump")
    return _decode(source, content, "utf-8")


def _read_stdin() -> bytes:
    try:
        return read_to_end(sys.stdin.buffer, input_limit())
    except OSError as error:
        raise InputError(STDIN, "", os_reason(error)) from None


def _read_file(path: str) -> tuple[bytes, datetime]:
    try:
        content, status = read_with_status(Path(path), input_limit())
        return content, changed_at(status)
    except FileNotFoundError:
        fix = "name a dump, - for standard input, or the word sample or sample-healthy for a packaged one"
        raise InputError(path, "", "there is no such file", fix) from None
    except OSError as error:
        raise InputError(path, "", os_reason(error)) from None


def _decompress(source: str, content: bytes) -> bytes:
    most = input_limit()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = f"a gzip file that is damaged or cut off: {error}".rstrip(".")
        raise InputError(source, "", reason, "copy the file again") from None
    if len(text) > most:
        raise InputError(source, "", f"a gzip file that inflates to {beyond_limit(most)}")
    return text


def _decode(source: str, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, errors="ignore")
        found = content[error.start : error.start + 1]
        reason = f"byte {found!r} is not {encoding.upper()}"
        raise InputError(source, f"line {before.count(chr(10)) + 1}", reason) from None
