"""Output of Kafka's own tools about golden files, read back as facts."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden"


def dumped(path: Path) -> dict[str, list[str]]:
    """Lines of a DumpLogSegments output by the file they are about."""
    found: dict[str, list[str]] = {}
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in content.decode("utf-8").splitlines():
        if line.startswith("Dumping "):
            lines = found.setdefault(line.removeprefix("Dumping "), [])
        else:
            lines.append(line)
    return found


def numbers(line: str, *names: str) -> tuple[int, ...]:
    """The named numbers of a line ``offset: 93 position: 8613``."""
    values = dict(re.findall(r"(\w+): (-?\d+)", line))
    return tuple(int(values[name]) for name in names)


def end_offsets(path: Path) -> Iterator[tuple[str, int, int]]:
    """Topic, partition and offset of each line of kafka-get-offsets."""
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, rest = line.partition(":")
        partition, _, offset = rest.partition(":")
        if offset.isdigit():
            yield topic, int(partition), int(offset)
