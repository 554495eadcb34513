"""Formats the log directories of a KRaft sandbox: Kafka's own tool those of the first server of each kind, while the
others are copies with ids of their own.

What the tool writes differs from server to server in meta.properties alone, and each call of it takes a third of the
processor time that a broker takes to start.
"""

from __future__ import annotations

import re
import shutil
import uuid
from functools import partial
from pathlib import Path

from kreplica.errors import SandboxError
from kreplica.formats.log_directory.meta_properties import META_PROPERTIES
from kreplica.formats.schema import uuid_text
from kreplica.sandbox.distribution.releases import release_named
from kreplica.sandbox.distribution.tools import run_tool
from kreplica.sandbox.servers.logs import CONSOLE_FILE, reason_of_failure, write_tool_logging
from kreplica.sandbox.servers.nodes import Node, Role, SandboxState, controller_ids
from kreplica.sandbox.servers.properties import controller_address, log_directories
from kreplica.system.pool import Pool

FORMAT_SECONDS = 60.0
FORMATS_AT_ONCE = 2


def new_id() -> str:
    """Return a random id as Kafka writes it: 22 characters, and none that a tool takes for an option."""
    while (text := uuid_text(uuid.uuid4().bytes)).startswith("-"):
        pass
    return text


def format_servers(folder: Path, state: SandboxState) -> None:
    """Format the log directories of every server, for one new cluster.

    Args:
        folder: That of the sandbox; each server has its settings in its own folder there.
        state: The servers.

    Raises:
        SandboxError: Kafka's tool refused; with its reason.
    """
    cluster_id = new_id()
    kinds = list(_alike(state).values())
    calls = {first.id: partial(format_by_tool, folder, state, first, cluster_id) for first, *_ in kinds}
    with Pool(calls, most=FORMATS_AT_ONCE) as pool:  # what goes wrong removes the folder: nothing may write there then
        pool.finish()
    for first, *others in kinds:
        for node in others:
            _copy(folder, state, first, node)


def _alike(state: SandboxState) -> dict[object, list[Node]]:
    """Servers by what the tool goes by: their roles and the settings that they alone have."""
    kinds: dict[object, list[Node]] = {}
    for node in state.nodes.values():
        own = state.settings.settings_by_broker.get(node.id, {})
        kinds.setdefault((node.roles, frozenset(own.items())), []).append(node)
    return kinds


def format_by_tool(folder: Path, state: SandboxState, node: Node, cluster_id: str) -> None:
    """Format the log directories of one server with kafka-storage.

    Raises:
        SandboxError: It refused; with its reason.
    """
    config = folder / node.folder_name / "server.properties"
    program = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster_id, "--config", str(config)]
    if not release_named(state.settings.kafka_version).has_dynamic_quorum:
        pass  # the voters stand in its settings
    elif Role.CONTROLLER in node.roles:
        program += ["--initial-controllers", _initial_controllers(state)]
    else:
        program += ["--no-initial-controllers"]
    logging = write_tool_logging(state.settings.kafka_version, folder / node.folder_name)
    result = run_tool(Path(state.java), folder / "class-path.args", logging, program, FORMAT_SECONDS)
    if result.exit_status != 0:
        (folder / node.folder_name / CONSOLE_FILE).write_text(result.stdout + result.stderr, encoding="utf-8")
        raise SandboxError(
            f"the log directories of server {node.id} were not formatted",
            reason_of_failure(folder / node.folder_name),
        )


def _initial_controllers(state: SandboxState) -> str:
    controllers = [state.nodes[node] for node in controller_ids(state.settings)]
    return ",".join(f"{node.id}@{controller_address(state.settings, node)}:{node.directory_id}" for node in controllers)


def _copy(folder: Path, state: SandboxState, first: Node, node: Node) -> None:
    """Give a server the log directories of another of its kind. The first of them has the metadata log, and so the id
    that the voters of the quorum are known by.
    """
    ids = [node.directory_id or new_id(), *(new_id() for _ in range(1, state.settings.log_dirs))]
    pairs = zip(*(log_directories(state.settings, folder / one.folder_name) for one in (first, node)), strict=True)
    for directory_id, (written, copy) in zip(ids, pairs, strict=True):
        shutil.copytree(written, copy)
        properties = copy / META_PROPERTIES
        text = properties.read_text(encoding="ascii")
        for name, value in (("node.id", str(node.id)), ("directory.id", directory_id)):
            text = re.sub(rf"^{re.escape(name)}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        properties.write_text(text, encoding="ascii")
