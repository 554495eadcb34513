"""The versions of Kafka as data: each is the one before with its changes, defaults included.

The version of a release is ``OLDEST`` of ``changes`` and every change up to that release, in the requested mode.
``VERSIONS`` are the listed ones; every release between and after them has its own rules all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kreplica.engine.versions.changes import CHANGES, NEWEST_ZOOKEEPER, OLDEST, OLDEST_KRAFT, Number
from kreplica.engine.versions.version import NEVER, ControllerKind, Truncation, Version
from kreplica.errors import UsageError

__all__ = [
    "LATEST",
    "NEVER",
    "VERSIONS",
    "ControllerKind",
    "Truncation",
    "Version",
    "order_of",
    "version_named",
]

_KRAFT = "-kraft"
_LISTED = (
    *("0.8.1", "0.8.2", "0.9", "0.10", "0.11", "1.1", "2.0", "2.1", "2.5", "2.7", "3.0", "3.3-kraft", "3.7"),
    *("3.7-kraft", "3.9", "3.9-kraft", "4.0", "4.1", "4.3"),
)
_SERIES: dict[Number, Number] = {(0, 10): (0, 10, 2)}
"""Names of the last release of a series: before 1.0 the third number was a release with features."""


def _release(name: str, number: Number, controller: ControllerKind) -> Version:
    changes = [change for change in CHANGES if change.since <= number and change.only in (None, controller)]
    rules: dict[str, Any] = dict(pair for change in changes for pair in change.rules.items())
    defaults = dict(pair for change in changes for pair in change.defaults.items())
    return replace(
        OLDEST, name=name, number=number, controller=controller, defaults={**OLDEST.defaults, **defaults}, **rules
    )


def _read(name: str) -> tuple[Number, ControllerKind] | None:
    """Release and mode of a name; None if no such version existed in that mode."""
    parts = name.removesuffix(_KRAFT).split(".")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    given = tuple(map(int, parts))
    number = _SERIES.get(given, given)
    kraft = name.endswith(_KRAFT) or number[:2] > NEWEST_ZOOKEEPER
    if number < (OLDEST_KRAFT if kraft else OLDEST.number):
        return None
    return number, ControllerKind.KRAFT if kraft else ControllerKind.ZOOKEEPER


def _listed_version(name: str) -> Version:
    found = _read(name)
    assert found is not None, name
    return _release(name, *found)


VERSIONS: tuple[Version, ...] = tuple(_listed_version(name) for name in _LISTED)
"""The listed versions, oldest first."""

LATEST = VERSIONS[-1]


def version_named(name: str) -> Version:
    """Returns the rules of a release; of one newer than the newest known one, the rules of the newest.

    Args:
        name: As ``0.11`` or ``2.8.1``; 3.3 to 3.9 are in ZooKeeper mode unless they end in ``-kraft``. ``0.10`` is
            0.10.2.

    Raises:
        UsageError: It is no version, or older than 0.8.1, or has no KRaft.
    """
    found = _read(name)
    if found is None:
        known = ", ".join(version.name for version in VERSIONS)
        raise UsageError(f"{name!r} is no version of Kafka that the engine knows", "", f"one of {known}")
    number, controller = found
    if number > LATEST.number:
        return LATEST
    return _release(name if number[:2] <= NEWEST_ZOOKEEPER else name.removesuffix(_KRAFT), number, controller)


def order_of(version: Version) -> tuple[Number, bool]:
    """The sort key of a version: its release, ZooKeeper mode first."""
    return version.number, version.controller is ControllerKind.KRAFT
