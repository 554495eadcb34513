"""Bytes of dumps become text, and bytes that are none are named with their place."""

from __future__ import annotations

import gzip
import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from kreplica.errors import InputError
from kreplica.sources.dumps.text import DumpText, decode_dump, read_dump_bytes
from kreplica.system.untrusted_files import LIMIT_VARIABLE

MAGIC = b"\x1f\x8b"
"""Of gzip (RFC 1952, 2.3.1)."""


def refusal(content: bytes) -> tuple[str, str]:
    """Place and reason."""
    with pytest.raises(InputError) as caught:
        decode_dump("a dump", content)
    assert caught.value.source == "a dump"
    return caught.value.position, caught.value.why


@pytest.mark.parametrize(
    ("content", "place", "start"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00", "byte 7", rb"b'\x7fELF'"),
        (b"\x00\x00\x00\x10kafka", "byte 0", rb"b'\x00\x00\x00\x10'"),
        (b"a\x00", "byte 1", rb"b'a\x00'"),
    ],
)
def test_of_a_binary_file_the_first_four_bytes_are_shown(content: bytes, place: str, start: bytes) -> None:
    reason = f"a binary file that starts with {start.decode()}, not a dump"
    assert refusal(content) == (place, reason)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        ("Thema: \u00fc\n".encode(), "Thema: \u00fc\n"),
        (b"\xef\xbb\xbfa\r\n", "a\r\n"),
        (b"\xff\xfea\x00\xfc\x00", "a\u00fc"),
        (b"\xfe\xff\x00a\x00\xfc", "a\u00fc"),
    ],
)
def test_a_byte_order_mark_says_the_encoding_and_is_no_text(content: bytes, text: str) -> None:
    assert decode_dump("a dump", content) == text


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"\xe9t\xe9", "line 1", r"byte b'\xe9' is not UTF-8"),
        (b"one\ntwo\nt\xe9", "line 3", r"byte b'\xe9' is not UTF-8"),
        (b"\xef\xbb\xbfone\n\xff", "line 2", r"byte b'\xff' is not UTF-8"),
        (b"\xff\xfea\x00\n\x00b\x00\n\x00x", "line 3", "byte b'x' is not UTF-16-LE"),
        (b"\xfe\xff\x00a\x00\nx", "line 2", "byte b'x' is not UTF-16-BE"),
    ],
)
def test_a_byte_that_is_no_text_is_named_with_its_line(content: bytes, place: str, reason: str) -> None:
    assert refusal(content) == (place, reason)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b", ""]),
        ("a\r\nb", ["a", "b"]),
        ("a\n\nb", ["a", "", "b"]),
        # What str.splitlines takes for an end, too: next line, line separator, form feed.
        ("a\x85b\u2028c\x0cd\n", ["a\x85b\u2028c\x0cd", ""]),
    ],
)
def test_lines_end_in_a_newline_and_in_nothing_else(text: str, lines: list[str]) -> None:
    assert DumpText("a dump", text, datetime(2026, 1, 1, tzinfo=UTC)).lines() == lines


def stored(folder: Path, content: bytes) -> str:
    (folder / "dump").write_bytes(content)
    return str(folder / "dump")


def test_a_gzip_file_may_inflate_to_the_limit_and_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1000")
    full = b"Topic: t\n" * 111 + b"\n"
    assert len(full) == 1000
    path = stored(tmp_path, gzip.compress(full))
    assert read_dump_bytes(path)[:2] == (path, full)
    path = stored(tmp_path, gzip.compress(full + b"\n"))
    with pytest.raises(InputError) as caught:
        read_dump_bytes(path)
    reason = f"a gzip file that inflates to more than 1000 bytes; {LIMIT_VARIABLE} raises this limit"
    assert (caught.value.source, caught.value.position, caught.value.why) == (path, "", reason)


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"Topic: t\n")[:-1],
        gzip.compress(b"Topic: t\n")[:-8] + bytes(8),
        MAGIC + b"\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff",
        MAGIC + b"\x09",
    ],
    ids=["cut off", "another checksum", "no deflated data", "an unknown method"],
)
def test_a_damaged_gzip_file_is_told_with_advice(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_dump_bytes(stored(tmp_path, content))
    assert caught.value.why.startswith("a gzip file that is damaged or cut off: ")
    assert not caught.value.why.endswith(".")
    assert caught.value.fix == "copy the file again"


@pytest.mark.parametrize("content", [b"", b" \r\n\t", gzip.compress(b""), gzip.compress(b"\n")])
def test_an_empty_dump_is_told_with_advice(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_dump_bytes(stored(tmp_path, content))
    advice = "dump the cluster again and look at what the tool printed"
    assert (caught.value.position, caught.value.why, caught.value.fix) == ("", "it is empty", advice)


def test_a_file_that_is_not_there_is_told_with_what_may_be_named(tmp_path: Path) -> None:
    path = str(tmp_path / "nothing")
    with pytest.raises(InputError) as caught:
        read_dump_bytes(path)
    assert (caught.value.source, caught.value.why) == (path, "there is no such file")
    assert caught.value.fix.startswith("name a dump, - for standard input")


def test_a_path_that_cannot_be_read_is_told_with_the_reason_of_the_system(tmp_path: Path) -> None:
    below = stored(tmp_path, b"x") + "/below"
    with pytest.raises(InputError) as caught:
        read_dump_bytes(below)
    assert (caught.value.source, caught.value.position, caught.value.why) == (below, "", "not a directory")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(5, "Input/output error"), "input/output error"), (OSError("Gone"), "gone")],
)
def test_standard_input_that_fails_is_told_with_the_reason(
    error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> bytes:
        raise error

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=fail)))
    with pytest.raises(InputError) as caught:
        read_dump_bytes("-")
    assert (caught.value.source, caught.value.position, caught.value.why) == ("<stdin>", "", reason)


def test_standard_input_may_be_gzip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(b"Topic: t\n"))))
    assert read_dump_bytes("-")[:2] == ("<stdin>", b"Topic: t\n")
