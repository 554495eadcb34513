"""Proxies between servers: who began a connection, what is cut, late or lost."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kreplica.sandbox.links import OTHERS, Links, server_behind
from kreplica.sandbox.processes import ProcessIdentity
from kreplica.sandbox.servers.nodes import Node, Role, SandboxState, save_state
from kreplica.sandbox.settings import SandboxSettings

ME = ProcessIdentity(os.getpid(), "")


class Echo:
    """A server that answers what it is told, and remembers it."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.told = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while piece := connection.recv(1024):
                self.told += piece
                connection.sendall(piece.upper())


@pytest.fixture
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.server.close()


@pytest.fixture
def links(tmp_path: Path, echo: Echo) -> Iterator[Links]:
    """Broker 1 is this process, broker 2 the echo, whose own process is another."""
    nodes = {
        1: Node(id=1, roles=(Role.BROKER,), ports={"PLAINTEXT": 1}, process=ME),
        2: Node(id=2, roles=(Role.BROKER,), ports={"PLAINTEXT": echo.port}, process=ProcessIdentity(1, "")),
    }
    (tmp_path / "x").mkdir()
    save_state(tmp_path / "x", SandboxState(settings=SandboxSettings(), java="", started_at=0, nodes=nodes))
    with Links("x", brokers=2, home=tmp_path) as made:
        yield made


def connected(links: Links) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", links.ports[2]), timeout=5)
    made.sendall(b"a")
    assert made.recv(10) == b"A", "the connection stands through the proxy"
    made.settimeout(0.3)
    return made


def test_requests_that_are_cut_come_once_the_way_is_restored(links: Links, echo: Echo) -> None:
    with connected(links) as to:
        links.cut(1, 2, one_way=True)
        to.sendall(b"b")
        with pytest.raises(TimeoutError):
            to.recv(10)
        assert echo.told == b"a"
        links.restore(1, 2, one_way=True)
        to.settimeout(5)
        assert to.recv(10) == b"B"


def test_answers_alone_are_cut(links: Links, echo: Echo) -> None:
    with connected(links) as to:
        links.cut(2, 1, one_way=True)
        to.sendall(b"b")
        with pytest.raises(TimeoutError):
            to.recv(10)
        assert echo.told == b"ab", "the request came"
        links.restore_all()
        to.settimeout(5)
        assert to.recv(10) == b"B"


def test_a_cut_without_more_words_is_of_both_ways_and_new_connections_too(links: Links, echo: Echo) -> None:
    links.cut(2, 1)
    with socket.create_connection(("127.0.0.1", links.ports[2]), timeout=5) as to:
        to.settimeout(0.3)
        to.sendall(b"b")
        with pytest.raises(TimeoutError):
            to.recv(10)
        assert echo.told == b""


def test_what_was_cut_is_lost_with_its_connection(links: Links, echo: Echo) -> None:
    with connected(links) as to:
        links.cut(1, 2)
        to.sendall(b"lost")
        time.sleep(0.3)  # the proxy has read it before the connection ends
    time.sleep(2)  # until the proxy has seen the end of the connection
    links.restore(1, 2)
    with connected(links):
        assert echo.told == b"aa"


def test_pieces_wait_and_keep_their_order(links: Links) -> None:
    with connected(links) as to:
        to.settimeout(5)
        links.delay(1, 2, 0.2, one_way=True)
        began = time.monotonic()
        to.sendall(b"b")
        to.sendall(b"c")
        answer = b""
        while len(answer) < 2:
            answer += to.recv(10)
        assert answer == b"BC"
        assert time.monotonic() - began >= 0.2


def test_other_programs_are_not_cut(tmp_path: Path, echo: Echo) -> None:
    nodes = {2: Node(id=2, roles=(Role.BROKER,), ports={"PLAINTEXT": echo.port})}
    (tmp_path / "x").mkdir()
    save_state(tmp_path / "x", SandboxState(settings=SandboxSettings(), java="", started_at=0, nodes=nodes))
    with Links("x", brokers=2, home=tmp_path) as links:
        links.cut(1, 2)
        connected(links).close()


def test_a_server_that_is_down_ends_the_connection(links: Links, echo: Echo) -> None:
    with socket.create_connection(("127.0.0.1", links.ports[1]), timeout=5) as to:
        assert to.recv(10) == b"", "nothing listens at port 1"


def test_a_sandbox_that_is_gone_ends_the_connection(links: Links, tmp_path: Path) -> None:
    (tmp_path / "x" / "sandbox.json").unlink()
    with socket.create_connection(("127.0.0.1", links.ports[2]), timeout=5) as to:
        assert to.recv(10) == b""


def test_the_process_behind_a_port(echo: Echo) -> None:
    nodes = {number: Node(id=number, roles=(Role.BROKER,), ports={}) for number in (1, 2)}
    nodes[2] = Node(id=2, roles=(Role.BROKER,), ports={}, process=ME)
    state = SandboxState(settings=SandboxSettings(), java="", started_at=0, nodes=nodes)
    with socket.create_connection(("127.0.0.1", echo.port)) as to:
        assert server_behind(to.getsockname()[1], echo.port, state) == 2
    assert server_behind(1, echo.port, state) == OTHERS


CONNECTS = """
import socket, sys
made = socket.socket()
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
made.bind(("127.0.0.1", int(sys.argv[1])))
made.connect(("127.0.0.1", int(sys.argv[2])))
print("connected", flush=True)
sys.stdin.read()
"""


def test_processes_whose_connections_to_different_ports_share_a_port_are_told_apart(echo: Echo) -> None:
    """Linux gives one ephemeral port to connections that go elsewhere."""
    another = Echo()
    mine = socket.socket()
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    mine.bind(("127.0.0.1", 0))
    port = mine.getsockname()[1]
    mine.connect(("127.0.0.1", echo.port))
    command = [sys.executable, "-c", CONNECTS, str(port), str(another.port)]
    with mine, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "connected\n"
        pids = {1: child.pid, 2: os.getpid()}
        nodes = {
            number: Node(id=number, roles=(Role.BROKER,), ports={}, process=ProcessIdentity(pid, ""))
            for number, pid in pids.items()
        }
        state = SandboxState(settings=SandboxSettings(), java="", started_at=0, nodes=nodes)
        assert [server_behind(port, to, state) for to in (another.port, echo.port)] == [1, 2]
        child.communicate(timeout=30)
    another.server.close()


def test_a_controller_is_reached_at_its_own_listener(tmp_path: Path, echo: Echo) -> None:
    nodes = {
        1: Node(id=1, roles=(Role.BROKER,), ports={"PLAINTEXT": 1}, process=ME),
        2: Node(id=2, roles=(Role.CONTROLLER,), ports={"CONTROLLER": echo.port}, process=ProcessIdentity(1, "")),
    }
    (tmp_path / "x").mkdir()
    save_state(tmp_path / "x", SandboxState(settings=SandboxSettings(), java="", started_at=0, nodes=nodes))
    with Links("x", brokers=1, home=tmp_path, controllers=1) as links, connected(links) as to:
        links.cut(2, 1, one_way=True)
        to.sendall(b"b")
        with pytest.raises(TimeoutError):
            to.recv(10)
        assert echo.told == b"ab", "only the answer is cut"
        links.restore(2, 1, one_way=True)
        to.settimeout(5)
        assert to.recv(10) == b"B"
