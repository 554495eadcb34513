"""The record of a sandbox on disk: one folder a sandbox, ``sandbox.json`` in it, replaced atomically."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from kreplica.durable_files import write_whole
from kreplica.errors import SandboxError
from kreplica.sandbox.nodes import Node
from kreplica.sandbox.settings import SandboxSettings
from kreplica.untrusted_files import MalformedError, decode_json, read_whole

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
