"""Handles of clusters: how each is reached, and the settings that this comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

DEFAULT_TIMEOUT = 10.0
WAYS_IN = (
    "give one of --bootstrap-server HOST:PORT, --zookeeper HOST:PORT/CHROOT, --dump PATH (`--dump sample` needs no"
    " cluster) or --context NAME"
)
_NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ClusterHandle:
    """One cluster, resolved: where it is, how to get in, what is allowed.

    Args:
        name: What the user calls it: the context's name, the bootstrap servers, the ZooKeeper servers or the dump.
        bootstrap_servers: ``host:port,...``, or None where the brokers are not named.
        dump: Path of a dump, ``-`` for standard input, ``sample`` or ``sample-healthy``; None for a live cluster.
        properties: Java client properties, secrets looked up; left out of repr.
        timeout: Seconds that one whole read may take.
        read_only: Changes are refused.
        production: Changes ask for more confirmation.
        warnings: Remarks for the user, one clause each.
        zookeeper: ``host:port,.../chroot`` of a cluster in ZooKeeper mode. Where brokers are named too, as a context
            may do, the brokers are read.
    """

    name: str
    bootstrap_servers: str | None = None
    dump: str | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: _NO_PROPERTIES, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    read_only: bool = False
    production: bool = False
    warnings: tuple[str, ...] = ()
    zookeeper: str | None = None

    def __post_init__(self) -> None:
        live = self.bootstrap_servers is not None or self.zookeeper is not None
        assert live != (self.dump is not None), "a handle names a live cluster or a dump"

    @property
    def by_zookeeper(self) -> bool:
        """True if the cluster is read and changed through its ZooKeeper: a live one whose brokers are not named."""
        return self.bootstrap_servers is None and self.zookeeper is not None


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value, as it was written.

    Args:
        text: The value; references to secrets are not looked up, and a secret may stand here itself.
        origin: An option, a key of the contexts file, a line of a properties file, or ``default``.
        folder: Base of relative paths in a reference.
        file: The file it stands in, None for an option or a default.
    """

    text: str = field(repr=False)
    origin: str
    folder: Path = field(default_factory=Path)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Effective settings of one cluster, each with its origin.

    Args:
        name: As ClusterHandle.name.
        settings: By field of ClusterHandle; ways in that are not given are left out.
        properties: Java client properties.
        commands: Programs that print secrets, by name.
        files: Files that were read for it, as named.
    """

    name: str
    settings: Mapping[str, Setting]
    properties: Mapping[str, Setting] = field(default_factory=dict)
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    files: tuple[Path, ...] = ()
