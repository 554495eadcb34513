"""Java properties as text: java.util.Properties.load, without Java."""

from __future__ import annotations

import re

from kreplica.errors import ConfigurationError

_SEPARATOR = re.compile(r"(?:[^\\:= \t\f]|\\.)*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"


def parse_properties(text: str, source: str) -> dict[str, str]:
    """Reads the .properties format of java.util.Properties.load.

    Args:
        text: The file's text.
        source: Its name, for errors.

    Raises:
        ConfigurationError: A ``\\u`` escape is malformed; names file and line, never the value.
    """
    return {key: value for key, (value, _) in parse_property_lines(text, source).items()}


def parse_property_lines(text: str, source: str) -> dict[str, tuple[str, int]]:
    """As parse_properties, each value with the number of the line where it begins."""
    properties: dict[str, tuple[str, int]] = {}
    for number, line in _logical_lines(text):
        match = _SEPARATOR.match(line)
        assert match is not None, "the pattern matches the empty text too"
        rest = line[match.end() :].lstrip(_BLANKS)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANKS)
        try:
            properties[_unescape(match.group())] = _unescape(rest), number
        except ValueError as error:
            raise ConfigurationError(f"cannot read {source}, line {number}", str(error)) from None
    return properties


def _logical_lines(text: str) -> list[tuple[int, str]]:
    # A line that ends in an odd number of backslashes goes on in the next one, whose leading blanks do not count. Lines
    # are comments or blank only while nothing but continuations stands before them (Properties.LineReader).
    lines: list[tuple[int, str]] = []
    open_line: tuple[int, str] | None = None
    raws = re.split(r"\r\n|\r|\n", text)
    for number, raw in enumerate(raws, start=1):
        if not raw and number == len(raws) and not text.endswith("\r\n"):
            break  # Java takes what stands before a continuation at the very end, even if that is nothing
        line = raw.lstrip(_BLANKS)
        begun, start = open_line or (number, "")
        if not start and (not line or line[0] in "#!"):
            open_line = None
            continue
        continues = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined = start + (line[:-1] if continues else line)
        open_line = (begun, joined) if continues else None
        if not continues:
            lines.append((begun, joined))
    return lines if open_line is None else [*lines, open_line]


def _unescape(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape == "u":
            raise ValueError("malformed \\u escape: expected four hexadecimal digits")
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        return _ESCAPED.get(escape, escape)

    unescaped = _ESCAPE.sub(replaced, text)
    # Java reads UTF-16 units: a pair of escapes is one character above the basic plane.
    return unescaped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
