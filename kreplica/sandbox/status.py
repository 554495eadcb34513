"""One server of a sandbox as it is now: what the operating system and the cluster say of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kreplica.sandbox.nodes import Node, Role
from kreplica.sandbox.processes import ProcessState, state_of
from kreplica.sandbox.settings import SandboxSettings


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server as it is now.

    Attributes:
        id: Node id; 0 is ZooKeeper.
        roles: What it does.
        state: Of its process.
        pid: Process id, None when it has ended.
        rack: Empty without racks.
        registered: Whether the cluster counts the broker as alive; None if no broker answered, or it is no broker.
        endpoints: ``host:port`` by listener name.
        log: Its log file.
    """

    id: int
    roles: tuple[Role, ...]
    state: ProcessState
    pid: int | None
    rack: str
    registered: bool | None
    endpoints: dict[str, str]
    log: Path


def server_status(node: Node, settings: SandboxSettings, registered: Collection[int] | None, log: Path) -> ServerStatus:
    """Return the state of a server.

    Args:
        node: The server.
        settings: Of its sandbox.
        registered: Brokers that the cluster counts as alive; None if no broker answered.
        log: Its log file.
    """
    state, is_broker = state_of(node.process), Role.BROKER in node.roles
    return ServerStatus(
        id=node.id,
        roles=node.roles,
        state=state,
        pid=node.process.pid if node.process and state is not ProcessState.ENDED else None,
        rack=settings.rack_of(node.id) if is_broker else "",
        registered=node.id in registered if is_broker and registered is not None else None,
        endpoints={name: node.address(name) for name in node.ports},
        log=log,
    )
