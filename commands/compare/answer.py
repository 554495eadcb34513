"""The two sources of compare, parsed as typed, and read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

FORMS = "bootstrap:HOST:PORT,…, zookeeper:HOST:PORT,…/CHROOT, dump:PATH, context:NAME or zookeeper-of:CONTEXT"


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """Options that hold for both sources."""

    command_config: str | None
    config: str | None
    timeout: float | None


def parse_source(spec: str, shared: SharedOptions) -> ClusterHandle:
    """The one cluster that a source names; the handle's name is what was typed.

    Raises:
        UsageError: It is of no known form, or names no cluster or several.
        ConfigurationError: The contexts file or the properties cannot be used.
    """
    kind, colon, rest = spec.partition(":")
    resolve = _KINDS.get(kind)
    if resolve is None or not colon or not rest:
        raise UsageError(f"{spec!r} is no source", "", f"write {FORMS}")
    handles = resolve(rest, shared)
    if len(handles) != 1:
        names = ", ".join(handle.name for handle in handles)
        raise UsageError(f"{spec!r} names {len(handles)} clusters", names, "name one")
    return replace(handles[0], name=spec)


def _bootstrap(rest: str, shared: SharedOptions) -> tuple[ClusterHandle, ...]:
    from kreplica.config.ways_in import resolve_handles

    return resolve_handles(
        bootstrap_server=rest, command_config=shared.command_config, timeout=shared.timeout, environ=os.environ
    )


def _zookeeper(rest: str, shared: SharedOptions) -> tuple[ClusterHandle, ...]:
    from kreplica.config.ways_in import resolve_handles

    return resolve_handles(
        zookeeper=rest, command_config=shared.command_config, timeout=shared.timeout, environ=os.environ
    )


def _dump(rest: str, shared: SharedOptions) -> tuple[ClusterHandle, ...]:
    from kreplica.config.ways_in import resolve_handles

    return resolve_handles(dump=rest, timeout=shared.timeout, environ=os.environ)


def _context(rest: str, shared: SharedOptions) -> tuple[ClusterHandle, ...]:
    from kreplica.config.ways_in import resolve_handles

    return resolve_handles(contexts=[rest], config_path=shared.config, timeout=shared.timeout, environ=os.environ)


def _zookeeper_of(rest: str, shared: SharedOptions) -> tuple[ClusterHandle, ...]:
    handles = _context(rest, shared)
    for handle in handles:
        if handle.zookeeper is None:
            raise UsageError(f"context {handle.name} names no ZooKeeper", "", "add zookeeper = to it")
    return tuple(replace(handle, bootstrap_servers=None) for handle in handles)


_KINDS: dict[str, Callable[[str, SharedOptions], tuple[ClusterHandle, ...]]] = {
    "bootstrap": _bootstrap,
    "zookeeper": _zookeeper,
    "dump": _dump,
    "context": _context,
    "zookeeper-of": _zookeeper_of,
}
