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
"""How many levels each release brought, from ``_FIRST`` on; KRaft was a preview before."""
_FIRST: Final = 4
_NAMES: Final = tuple(f"{release}-IV{number}" for release, count in _COUNTS for number in range(count))


def metadata_version_name(level: int) -> str | None:
    """``3.9-IV0`` of 21; None for a level that is not known."""
    return _NAMES[level - _FIRST] if _FIRST <= level < _FIRST + len(_NAMES) else None
