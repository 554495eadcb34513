"""A real Apache Kafka of N brokers on the loopback interface, for practice and for tests.

from kreplica.sandbox import Mode, SandboxSettings, start

with start(SandboxSettings(name="try", mode=Mode.KRAFT, brokers=3, racks=("a", "b", "c"))) as sandbox:
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1]])
    sandbox.kill(3)
    print(sandbox.tool("topics", "--describe"))
"""

from __future__ import annotations

from pathlib import Path

from kreplica.sandbox.cluster import Sandbox, ServerStatus
from kreplica.sandbox.distribution.releases import RELEASES, Mode, mode_of
from kreplica.sandbox.distribution.tools import ToolResult
from kreplica.sandbox.launch import Progress, launch, remove_sandbox
from kreplica.sandbox.links import Links
from kreplica.sandbox.load.load import LoadResult, LoadSettings, run_load
from kreplica.sandbox.processes import ProcessState
from kreplica.sandbox.servers import nodes
from kreplica.sandbox.servers.nodes import Role
from kreplica.sandbox.settings import Listener, SandboxSettings
from kreplica.system.folders import sandbox_home

__all__ = [
    "RELEASES",
    "Links",
    "Listener",
    "LoadResult",
    "LoadSettings",
    "Mode",
    "ProcessState",
    "Role",
    "Sandbox",
    "SandboxSettings",
    "ServerStatus",
    "ToolResult",
    "mode_of",
    "remove",
    "run_load",
    "sandbox_names",
    "start",
]


def start(settings: SandboxSettings, home: Path | None = None, progress: Progress | None = None) -> Sandbox:
    """Start a sandbox and return its handle; on any failure or interrupt nothing of it is left.

    Args:
        settings: What it is asked to be.
        home: Folder of sandboxes; by default that of the user (see ``kreplica.system.folders``).
        progress: Told each step in a few words.

    Raises:
        UsageError: The settings cannot be used.
        SandboxError: It did not start; with the server's own reason.
        MissingExtraError: There is no Java.
    """
    return Sandbox(launch(settings, home, progress))


def sandbox_names(home: Path | None = None) -> list[str]:
    """Return the names of the sandboxes there are, sorted; those whose start was broken off too."""
    return nodes.sandbox_names(home or sandbox_home())


def remove(name: str, home: Path | None = None) -> None:
    """End every server of a sandbox and remove its folder, one whose start was broken off too.

    Raises:
        SandboxError: There is no such sandbox, or it cannot be removed.
    """
    folder = (home or sandbox_home()) / name
    if name not in sandbox_names(home):
        nodes.load_state(folder)
    remove_sandbox(folder)
