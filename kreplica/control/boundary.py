"""Conditions of every change: the cluster may be written to, and the access it needs is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.errors import ChangeRefusedError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def require_writable(handle: ClusterHandle) -> None:
    """Refuses a change of a cluster that may not be written to; every change begins with this.

    Raises:
        ChangeRefusedError: The handle is a dump, or its context is marked ``read_only``.
    """
    if handle.dump is not None:
        raise ChangeRefusedError(f"{handle.name} cannot be changed", "it is a dump", "name a live cluster")
    if handle.read_only:
        raise ChangeRefusedError(
            f"{handle.name} is not changed", "its context says read_only", "take that out of the contexts file"
        )


def require_brokers(handle: ClusterHandle) -> str:
    """The bootstrap servers, for a change that the brokers carry out.

    Raises:
        ChangeRefusedError: Only the cluster's ZooKeeper is named.
    """
    if handle.by_zookeeper:
        raise ChangeRefusedError(
            f"{handle.name} is not changed",
            "only its ZooKeeper is named, and this change is made by the brokers",
            "name them by --bootstrap-server",
        )
    assert handle.bootstrap_servers is not None, "a live cluster: require_writable comes first"
    return handle.bootstrap_servers
