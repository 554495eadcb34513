"""Releases of Apache Kafka that the sandbox runs, and how its broker of each is told what to do.

Their jars stand in ``lock_lists``. Java 17 runs all of them with these jars beside their own: jaxb-api up to 2.1, which
came with Java 8; ZooKeeper 3.4.10 for 2.0 and 2.1, whose 3.4.13 cannot connect on Java 14 and newer (ZOOKEEPER-3779);
reload4j instead of log4j 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kreplica.errors import UsageError
from kreplica.model.wording.nearest_names import nearest_names


class Mode(StrEnum):
    """Metadata mode of the cluster."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


Number = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Apache Kafka.

    Args:
        name: As ``--kafka-version`` takes it.
        modes: Metadata modes that it is run in, its own first.
    """

    name: str
    modes: tuple[Mode, ...] = (Mode.ZOOKEEPER,)

    @property
    def number(self) -> Number:
        """Its number, to compare it by."""
        return tuple(map(int, self.name.split(".")))

    @property
    def has_dynamic_quorum(self) -> bool:
        """Controllers find each other by bootstrap servers and directory ids (3.9, KIP-853)."""
        return self.number >= (3, 9)

    @property
    def logs_by_log4j2(self) -> bool:
        """Servers log through Log4j 2 (4.0, KIP-653); before, through log4j 1."""
        return self.number >= (4,)

    @property
    def tools_ask_brokers(self) -> bool:
        """Kafka's tools take ``--bootstrap-server`` for topics and settings (2.2, KIP-377); before, ``--zookeeper``."""
        return self.number >= (2, 2)

    @property
    def is_secured(self) -> bool:
        """The sandbox gives it TLS, SASL and an authorizer."""
        return self.number >= (3, 9)


RELEASES = {
    release.name: release
    for release in (
        *map(Release, ("0.10.2.2", "0.11.0.3", "1.1.1", "2.0.0", "2.0.1", "2.1.1")),
        *map(Release, ("2.7.0", "2.8.0", "2.8.1", "2.8.2")),
        Release("3.3.2", (Mode.ZOOKEEPER, Mode.KRAFT)),
        Release("3.9.2", (Mode.ZOOKEEPER, Mode.KRAFT)),
        *(Release(name, (Mode.KRAFT,)) for name in ("4.2.0", "4.3.1")),
    )
}
"""Every release by its name, oldest first."""

NEWEST = {mode: [name for name, release in RELEASES.items() if mode in release.modes][-1] for mode in Mode}
"""The release of each mode where none is asked for."""


def release_named(name: str) -> Release:
    """Return a release that the sandbox runs.

    Raises:
        UsageError: It runs no such one; names the nearest.
    """
    if name in RELEASES:
        return RELEASES[name]
    near = nearest_names(name, RELEASES, most=3, parts=False)
    raise UsageError(
        f"the sandbox has no Kafka {name}",
        f"it has {', '.join(RELEASES)}",
        f"did you mean {', '.join(near)}?" if near else "",
    )


def mode_of(name: str) -> Mode:
    """Return the mode that a release is started in where none is asked for; KRaft if the name is empty.

    Raises:
        UsageError: The sandbox does not run that release.
    """
    return release_named(name).modes[0] if name else Mode.KRAFT
