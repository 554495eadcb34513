"""The frame that Kafka's checkpoint files share: a version, a count, then as many lines as the count says.

    0                 version, always 0
    2                 number of entries
    orders 0 77       one entry a line, words separated by white space
    orders 1 12

Kafka: org.apache.kafka.server.common.CheckpointFile, which refuses the whole file at the first wrong line; here the
other lines are read nevertheless.

Lines of the small text files that brokers keep beside their logs, each with its byte position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from kreplica.formats.damage import Damage

MOST_SHOWN = 40
"""Characters of a wrong line that are shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end.

    Args:
        position: Byte at which it begins.
        size: Its bytes, line end included.
        text: Its text; bytes that are no UTF-8 are replaced, and fit no form.
    """

    position: int
    size: int
    text: str

    @property
    def shown(self) -> str:
        """The text as messages show it."""
        return repr(self.text if len(self.text) <= MOST_SHOWN else self.text[:MOST_SHOWN] + "…")


def lines_of(content: bytes) -> Iterator[Line]:
    """Lines in order; the empty one after the last line end is none."""
    position = 0
    for raw in content.split(b"\n"):
        size = min(len(raw) + 1, len(content) - position)
        if size:
            yield Line(position, size, raw.removesuffix(b"\r").decode("utf-8", errors="replace"))
        position += size


Entry = TypeVar("Entry")

CURRENT_VERSION = 0
MAX_INT32, MAX_INT64 = 2**31 - 1, 2**63 - 1

_NUMBER = re.compile(r"\d{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CheckpointText(Generic[Entry]):
    """Contents of such a file: entries with the position of their line, and damage."""

    entries: tuple[tuple[int, Entry], ...]
    damage: tuple[Damage, ...]


def read_checkpoint(
    content: bytes, file: str, form: str, parse: Callable[[list[str]], Entry | None]
) -> CheckpointText[Entry]:
    """Reads the frame and each entry.

    Args:
        content: The whole file.
        file: Its name, for damage.
        form: The form of an entry, for damage: ``topic partition offset``.
        parse: Makes an entry of a line's words, None if they are not one.
    """
    if not content:  # Kafka creates the file before it has anything to write
        return CheckpointText((), ())
    lines = list(lines_of(content))
    damage = list(_header_damage(lines, file, len(content)))
    if any(found.skipped == len(content) for found in damage):
        return CheckpointText((), tuple(damage))
    entries: list[tuple[int, Entry]] = []
    for line in lines[2:]:
        entry = parse(line.text.split())
        if entry is not None:
            entries.append((line.position, entry))
        else:
            damage.append(Damage(file, line.position, "not an entry", line.size, form, line.shown))
    damage.extend(_count_damage(lines, file, len(lines) - 2))
    return CheckpointText(tuple(entries), tuple(damage))


def number(word: str, largest: int) -> int | None:
    """A number that is not negative and not above ``largest``; None if the word is not one."""
    value = int(word) if _NUMBER.fullmatch(word) else None
    return value if value is not None and value <= largest else None


def _header_damage(lines: list[Line], file: str, size: int) -> Iterator[Damage]:
    if len(lines) < 2:
        yield Damage(file, 0, "cut off: no version and count", size, "a version and a count", f"{size} bytes")
        return
    version = number(lines[0].text.strip(), MAX_INT32)
    if version is None:
        yield Damage(file, 0, "no version", lines[0].size, "0", lines[0].shown)
    elif version != CURRENT_VERSION:
        yield Damage(file, 0, "unknown version", size, "0", str(version))


def _count_damage(lines: list[Line], file: str, found: int) -> Iterator[Damage]:
    line = lines[1]
    count = number(line.text.strip(), MAX_INT64)
    if count is None:
        yield Damage(file, line.position, "no count of entries", line.size, str(found), line.shown)
    elif count != found:
        yield Damage(file, line.position, "the count of entries is wrong", 0, str(count), f"{found} lines")
