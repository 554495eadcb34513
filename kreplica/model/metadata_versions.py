"""Names of the levels of the feature metadata.version, as `kafka-features version-mapping` prints them.

Kafka: org.apache.kafka.server.common.MetadataVersion.
"""

from __future__ import annotations

from typing import Final

_COUNTS: Final = (
    ("3.3", 4),
    ("3.4", 1),
    ("3.5", 3),
    ("3.6", 3),
    ("3.7", 5),
    ("3.8", 1),
    ("3.9", 1),
    ("4.0", 4),
    ("4.1", 2),
    ("4.2", 2),
    ("4.3", 1),
)
"""Number of levels that each release added, from ``_FIRST`` on; KRaft was a preview before."""
_FIRST: Final = 4
_NAMES: Final = tuple(f"{release}-IV{number}" for release, count in _COUNTS for number in range(count))


def metadata_version_name(level: int) -> str | None:
    """``3.9-IV0`` of 21; None for a level that is not known."""
    return _NAMES[level - _FIRST] if _FIRST <= level < _FIRST + len(_NAMES) else None


def metadata_version_level(text: str) -> int | None:
    """21 of ``3.9-IV0``, of ``3.9`` (its last) or of ``21``; None where there is no such level."""
    if text in _NAMES:
        return _FIRST + _NAMES.index(text)
    last = [level for level, name in enumerate(_NAMES, _FIRST) if name.partition("-")[0] == text]
    if last:
        return last[-1]
    return int(text) if text.isascii() and text.isdecimal() and metadata_version_name(int(text[:4])) else None


def metadata_version_names(release: tuple[int, ...]) -> tuple[str, ...]:
    """The levels that a release knows, oldest first."""
    return tuple(name for name in _NAMES if tuple(map(int, name.partition("-")[0].split("."))) <= release)
