"""Starts and removes a sandbox: record, ports, formatting, servers in order, readiness; all or nothing."""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kreplica.errors import SandboxError
from kreplica.sandbox import admin
from kreplica.sandbox.distribution.jars import class_path
from kreplica.sandbox.distribution.releases import Mode
from kreplica.sandbox.processes import (
    LOOPBACK,
    ProcessIdentity,
    ProcessState,
    choose_ports,
    exclusive,
    send,
    server_command,
    signals_held,
    spawn,
    state_of,
    wait_for_end,
    write_class_path,
)
from kreplica.sandbox.servers.formatting import format_servers, new_id
from kreplica.sandbox.servers.logs import CONSOLE_FILE, reason_of_failure, write_server_logging
from kreplica.sandbox.servers.nodes import (
    LOCK_FILE,
    STATE_FILE,
    ZOOKEEPER_ID,
    Node,
    Role,
    SandboxState,
    listener_names,
    load_state,
    recorded_ports,
    roles_of,
    save_state,
)
from kreplica.sandbox.servers.properties import render, server_properties, zookeeper_properties
from kreplica.sandbox.settings import Listener, SandboxSettings
from kreplica.system.class_archives import archive_options
from kreplica.system.folders import CACHE_VARIABLE, SANDBOX_HOME_VARIABLE, sandbox_home
from kreplica.system.java import find_java

START_SECONDS = 120.0
END_SECONDS = 30.0
PORT_ATTEMPTS = 3

Progress = Callable[[str], None]


def launch(settings: SandboxSettings, home: Path | None = None, progress: Progress | None = None) -> Path:
    """Start a sandbox and return its folder; on any failure or interrupt nothing of it is left.

    Raises:
        UsageError: The settings cannot be used.
        SandboxError: It did not start; with the server's own reason.
        MissingExtraError: There is no Java.
    """
    settings.validate()
    try:
        return _launch(settings, home or sandbox_home(), progress or (lambda _text: None))
    except OSError as error:
        raise SandboxError(
            "the sandbox or its cache cannot be written",
            str(error),
            f"{SANDBOX_HOME_VARIABLE} and {CACHE_VARIABLE} name other folders",
        ) from error


def _launch(settings: SandboxSettings, home: Path, say: Progress) -> Path:
    java = find_java()
    say(f"jars of Apache Kafka {settings.kafka_version}")
    jars = class_path(settings.kafka_version)
    for attempt in range(1, PORT_ATTEMPTS + 1):
        folder = _reserve(settings, home, java.executable)
        try:
            _bring_up(folder, settings, jars, say)
        except BaseException as error:
            remove_sandbox(folder)
            # Another program took a port between the look and the start: choose others.
            again = isinstance(error, SandboxError) and "Address already in use" in error.why
            if not again or attempt == PORT_ATTEMPTS:
                raise
        else:
            return folder
    raise AssertionError("the last attempt returns or raises")


def _reserve(settings: SandboxSettings, home: Path, java: Path) -> Path:
    """Make the folder and the record, with ports that no other sandbox has."""
    folder = home / settings.name
    with exclusive(home / LOCK_FILE, START_SECONDS, "the folder of sandboxes"):
        if (folder / STATE_FILE).exists():
            raise SandboxError(
                f"there is a sandbox named {settings.name!r}",
                "",
                f"stop it (kreplica sandbox stop --name {settings.name}), or give another --name",
            )
        nodes = _nodes(settings, recorded_ports(home))
        state = SandboxState(settings=settings, java=str(java), started_at=time.time(), nodes=nodes)
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            save_state(folder, state)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return folder


def _nodes(settings: SandboxSettings, taken: set[int]) -> dict[int, Node]:
    roles = roles_of(settings)
    names = {node: listener_names(settings, of) for node, of in roles.items()}
    ports = iter(choose_ports(sum(map(len, names.values())), taken))
    return {
        node: Node(
            id=node,
            roles=of,
            ports={name: next(ports) for name in names[node]},
            directory_id=new_id() if Role.CONTROLLER in of else "",
        )
        for node, of in roles.items()
    }


def _bring_up(folder: Path, settings: SandboxSettings, jars: tuple[Path, ...], say: Progress) -> None:
    state = load_state(folder)
    write_class_path(folder, jars, archive_options(Path(state.java), jars))
    if any(listener.encrypted for listener in settings.listeners):
        from kreplica.sandbox.certificates import write_certificates

        write_certificates(folder / "tls", tuple(settings.users))
    for node in state.nodes.values():
        _write_node(folder, state, node)
    if settings.mode is Mode.KRAFT:
        say("formatting log directories")
        format_servers(folder, state)
    say(f"starting {len(state.nodes)} servers")
    state = _start_all(folder, state)
    say("waiting for the brokers to register")
    _wait_until_ready(folder, state)
    _add_users(settings, _plaintext_servers(state))
    view = admin.metadata(_plaintext_servers(state))
    if view is None:
        raise SandboxError("the brokers registered and then did not answer")
    save_state(folder, replace(state, cluster_id=view.cluster_id or "", ready=True))


def _write_node(folder: Path, state: SandboxState, node: Node) -> None:
    own = folder / node.folder_name
    own.mkdir(exist_ok=True)
    if node.id == ZOOKEEPER_ID:
        properties = zookeeper_properties(node, own)
    else:
        properties = server_properties(state.settings, state.nodes, node.id, own)
    (own / "server.properties").write_text(render(properties), encoding="ascii")


def _start_all(folder: Path, state: SandboxState) -> SandboxState:
    for node in tuple(state.nodes.values()):
        state = start_and_record(folder, state, node)
        if node.id == ZOOKEEPER_ID:
            _wait_for_zookeeper(folder, state)
    return state


def start_and_record(folder: Path, state: SandboxState, node: Node) -> SandboxState:
    """Start one server and write its process down, with no interrupt in between that could leave it unknown.

    Raises:
        SandboxError: The Java program does not start.
    """
    with signals_held():
        process = start_node(folder, state, node)
        state = replace(state, nodes=state.nodes | {node.id: replace(node, process=process)})
        save_state(folder, state)
    return state


def start_node(folder: Path, state: SandboxState, node: Node) -> ProcessIdentity:
    """Start the process of one server on the settings and data in its folder.

    Raises:
        SandboxError: The Java program does not start.
    """
    own = folder / node.folder_name
    logging = write_server_logging(state.settings.kafka_version, own)
    is_zookeeper = node.id == ZOOKEEPER_ID
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain" if is_zookeeper else "kafka.Kafka"
    program = [main, str(own / "server.properties")]
    command = server_command(Path(state.java), folder / "class-path.args", state.settings.heap_mib, logging, program)
    try:
        return spawn(command, own / CONSOLE_FILE)
    except OSError as error:
        raise SandboxError(f"server {node.id} cannot be started", str(error)) from error


def _wait_for_zookeeper(folder: Path, state: SandboxState) -> None:
    node = state.nodes[ZOOKEEPER_ID]

    def answers() -> bool:
        _require_running(folder, state)
        return _ask_zookeeper(node.ports["ZOOKEEPER"], b"ruok") == b"imok"

    admin.wait_until(answers, START_SECONDS, "ZooKeeper to answer")


def _ask_zookeeper(port: int, word: bytes) -> bytes:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2) as connection:
            connection.sendall(word)
            return connection.recv(16)
    except OSError:
        return b""


def _wait_until_ready(folder: Path, state: SandboxState) -> None:
    brokers = [node for node in state.nodes.values() if Role.BROKER in node.roles]

    def ready() -> bool:
        _require_running(folder, state)
        if not all(_listens(node) for node in brokers):
            return False
        views = (admin.metadata(node.address("PLAINTEXT"), timeout=2) for node in brokers)
        return all(view is not None and len(view.brokers) == len(brokers) for view in views)

    try:
        admin.wait_until(ready, START_SECONDS, "every broker to register")
    except admin.WaitedInVainError as error:
        late = next((node for node in brokers if not _listens(node)), brokers[0])
        raise SandboxError(
            f"the brokers did not register within {START_SECONDS:g} s",
            f"server {late.id}: {reason_of_failure(folder / late.folder_name)}",
        ) from error


def _listens(node: Node) -> bool:
    try:
        with socket.create_connection((LOOPBACK, node.ports["PLAINTEXT"]), timeout=1):
            return True
    except OSError:
        return False


def _require_running(folder: Path, state: SandboxState) -> None:
    for node in state.nodes.values():
        if node.process is not None and state_of(node.process) is ProcessState.ENDED:
            own = folder / node.folder_name
            raise SandboxError(f"{node.roles[0]} {node.id} ended while it started", reason_of_failure(own))


def _plaintext_servers(state: SandboxState) -> str:
    name = Listener.PLAINTEXT.kafka_name
    return ",".join(node.address(name) for node in state.nodes.values() if Role.BROKER in node.roles)


def _add_users(settings: SandboxSettings, bootstrap_servers: str) -> None:
    mechanisms = {listener.mechanism for listener in settings.listeners if "SCRAM" in listener.mechanism}
    if mechanisms and settings.users:
        admin.add_scram_users(bootstrap_servers, settings.users, mechanisms)


def remove_sandbox(folder: Path) -> None:
    """End every process of the sandbox at once and delete its folder.

    Raises:
        SandboxError: A process does not end; its folder stays.
    """
    if (folder / STATE_FILE).exists():
        processes = [node.process for node in load_state(folder).nodes.values() if node.process]
        for process in processes:
            send(process, signal.SIGKILL)  # nothing is to be kept, so nothing need be written first
        for process in processes:
            if not wait_for_end(process, END_SECONDS):
                raise SandboxError(
                    f"process {process.pid} does not end", "", "end it by hand, then stop the sandbox again"
                )
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise SandboxError(f"the folder {folder} could not be removed", "", "remove it by hand")
