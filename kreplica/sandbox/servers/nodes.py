"""The servers of one sandbox, with their roles and ports.

The record of a sandbox on disk: one folder a sandbox, ``sandbox.json`` in it, replaced atomically.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from kreplica.errors import SandboxError
from kreplica.sandbox.distribution.releases import Mode
from kreplica.sandbox.processes import LOOPBACK, ProcessIdentity
from kreplica.sandbox.settings import Listener, SandboxSettings
from kreplica.system.durable_files import write_whole
from kreplica.system.untrusted_files import MalformedError, decode_json, read_whole

ZOOKEEPER_ID = 0


class Role(StrEnum):
    """Roles of a server."""

    BROKER = "broker"
    CONTROLLER = "controller"
    ZOOKEEPER = "zookeeper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One server process of a sandbox.

    Attributes:
        id: Node id; 0 is ZooKeeper.
        roles: What it does.
        ports: Port of each listener by Kafka's name for it; ``CONTROLLER`` and ``ZOOKEEPER`` are among the names.
        directory_id: Id of the metadata log directory (KRaft controllers), base64.
        process: The process that runs it, or ran it last.
    """

    id: int
    roles: tuple[Role, ...]
    ports: dict[str, int]
    directory_id: str = ""
    process: ProcessIdentity | None = None

    @property
    def folder_name(self) -> str:
        """Name of its folder in the sandbox's folder."""
        return f"{self.roles[0]}-{self.id}" if self.id else "zookeeper"

    def address(self, listener: str) -> str:
        """Return ``host:port`` of one of its listeners."""
        return f"{LOOPBACK}:{self.ports[listener]}"


def controller_ids(settings: SandboxSettings) -> tuple[int, ...]:
    """Return the node ids of the KRaft controllers; none in ZooKeeper mode."""
    if settings.mode is Mode.ZOOKEEPER:
        return ()
    if settings.controllers:
        return tuple(range(settings.brokers + 1, settings.brokers + settings.controllers + 1))
    # Two controllers bear no loss, and more than three gain little on one machine.
    return tuple(range(1, (3 if settings.brokers >= 3 else 1) + 1))


def roles_of(settings: SandboxSettings) -> dict[int, tuple[Role, ...]]:
    """Return each server's roles by node id, in the order they are started."""
    roles: dict[int, tuple[Role, ...]] = {}
    if settings.mode is Mode.ZOOKEEPER:
        roles[ZOOKEEPER_ID] = (Role.ZOOKEEPER,)
    controllers = controller_ids(settings)
    for controller in controllers:
        roles[controller] = (Role.CONTROLLER,)
    for broker in range(1, settings.brokers + 1):
        roles[broker] = (Role.BROKER, Role.CONTROLLER) if broker in controllers else (Role.BROKER,)
    return roles


def listener_names(settings: SandboxSettings, roles: tuple[Role, ...]) -> list[str]:
    """Return the names of the listeners, one port each, that a server with these roles has."""
    if roles == (Role.ZOOKEEPER,):
        return ["ZOOKEEPER"]
    names = [listener.kafka_name for listener in settings.all_listeners] if Role.BROKER in roles else []
    return names + (["CONTROLLER"] if Role.CONTROLLER in roles else [])


def security_protocols(settings: SandboxSettings) -> dict[str, str]:
    """Return the security protocol of each listener name that a broker or controller may meet."""
    protocols = {listener.kafka_name: listener.protocol for listener in settings.all_listeners}
    return protocols | ({"CONTROLLER": Listener.PLAINTEXT.protocol} if settings.mode is Mode.KRAFT else {})


STATE_FILE = "sandbox.json"
LOCK_FILE = ".lock"
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """Everything another process needs to steer the sandbox.

    Attributes:
        settings: What it was asked to be.
        java: The ``java`` program that runs the servers.
        started_at: Seconds since the epoch.
        nodes: Every server by id, in the order they are started.
        cluster_id: As the brokers tell it; empty while starting.
        ready: Whether the start was finished.
        schema: Version of this record.
    """

    settings: SandboxSettings
    java: str
    started_at: float
    nodes: dict[int, Node]
    cluster_id: str = ""
    ready: bool = False
    schema: int = SCHEMA


def save_state(folder: Path, state: SandboxState) -> None:
    """Replace the record; a reader sees the old one or the new one."""
    encoded = msgspec.json.format(msgspec.json.encode(state))
    write_whole(folder / STATE_FILE, encoded, replace=True, mode=0o600)


def load_state(folder: Path) -> SandboxState:
    """Read the record of the sandbox in ``folder``.

    Raises:
        SandboxError: There is none, or it cannot be read.
    """
    path = folder / STATE_FILE
    if not path.is_file():
        others = ", ".join(sandbox_names(folder.parent))
        raise SandboxError(
            f"there is no sandbox named {folder.name!r}",
            f"there is: {others}" if others else "none was started",
            "kreplica sandbox start",
        )
    try:
        found: SandboxState = decode_json(read_whole(path), SandboxState)
    except (MalformedError, OSError) as error:
        raise SandboxError(f"the record of the sandbox {folder.name!r} cannot be read", f"{path}: {error}") from error
    return found


def sandbox_names(home: Path) -> list[str]:
    """Return the names of the sandboxes that have a record, sorted."""
    return sorted(path.parent.name for path in home.glob(f"*/{STATE_FILE}"))


def recorded_ports(home: Path) -> set[int]:
    """Return the ports of every sandbox: those of a killed broker too are kept for its return."""
    states = (load_state(home / name) for name in sandbox_names(home))
    return {port for state in states for node in state.nodes.values() for port in node.ports.values()}
