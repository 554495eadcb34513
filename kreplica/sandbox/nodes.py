"""The servers of one sandbox: which there are, in which roles, on which ports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kreplica.sandbox.ports import LOOPBACK
from kreplica.sandbox.processes import ProcessIdentity
from kreplica.sandbox.settings import Listener, Mode, SandboxSettings

ZOOKEEPER_ID = 0


class Role(StrEnum):
    """What a server does."""

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
