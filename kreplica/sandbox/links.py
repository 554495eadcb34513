"""Proxies between the servers of a sandbox, to cut or delay what one sends another.

All connections of a sandbox come from 127.0.0.1. The process that owns a connection's other end tells which server
began it; the port that it came to tells which server is meant.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import threading
from collections.abc import Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from kreplica.errors import SandboxError
from kreplica.sandbox.processes import LOOPBACK
from kreplica.sandbox.servers.nodes import ZOOKEEPER_ID, Node, Role, SandboxState, load_state
from kreplica.sandbox.settings import Listener
from kreplica.system.folders import sandbox_home

PIECE = 65536
MOST_HELD = 64 * 1024 * 1024
END_SECONDS = 10.0
OTHERS = -1
"""Stands for whatever is no server of the sandbox."""
_SOCKETS = (Path("/proc/net/tcp6"), Path("/proc/net/tcp"))


class _Way:
    """One direction of a link: bytes from one server to another.

    Attributes:
        open: Cleared while it is cut.
        delay: Seconds that each piece waits.
    """

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.delay = 0.0


class Links:
    """A proxy before the plaintext listener of each broker, and before ZooKeeper or each KRaft controller.

    Bytes that are cut are kept until the way is restored, as TCP would; those of a connection whose sender has closed
    it, or died, are lost. Clients that were given the brokers' own ports pass no proxy; requests and answers of clients
    that follow a broker's advertised address are never cut. Links of KRaft controllers pass it where there are nodes
    that are controllers only (``controllers``), with ids after the brokers'::

        with Links("try", brokers=3, zookeeper=True) as links:
            settings = SandboxSettings(name="try", mode=Mode.ZOOKEEPER, advertised_ports=links.ports)
            with start(settings) as sandbox:
                links.cut(1, 2, one_way=True)  # broker 2 gets no answers of broker 1, nor requests

    Attributes:
        ports: Port of the proxy before each server; 0 is ZooKeeper.
    """

    def __init__(
        self, name: str, brokers: int, zookeeper: bool = False, home: Path | None = None, controllers: int = 0
    ) -> None:
        if not _SOCKETS[0].exists():
            raise SandboxError("links cannot be cut here", "only Linux tells which process began a connection")
        self._folder = (home or sandbox_home()) / name
        self._servers = {server: _listening() for server in ([ZOOKEEPER_ID] if zookeeper else [])}
        self._servers |= {server: _listening() for server in range(1, brokers + controllers + 1)}
        self.ports = {server: int(listening.getsockname()[1]) for server, listening in self._servers.items()}
        self._ways: dict[tuple[int, int], _Way] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._accepting: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)

    def __enter__(self) -> Links:
        self._thread.start()
        self._call(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_SECONDS)
        self._loop.close()

    def cut(self, source: int, target: int, one_way: bool = False) -> None:
        """Keep what ``source`` sends ``target``, in both directions unless ``one_way``."""
        self._call(self._change(_ways_between(source, target, one_way), is_open=False))

    def restore(self, source: int, target: int, one_way: bool = False) -> None:
        """Undo ``cut`` and ``delay``."""
        self._call(self._change(_ways_between(source, target, one_way), is_open=True, delay=0.0))

    def restore_all(self) -> None:
        """Undo every ``cut`` and ``delay``."""
        self._call(self._change(tuple(self._ways), is_open=True, delay=0.0))

    def delay(self, source: int, target: int, seconds: float, one_way: bool = False) -> None:
        """Let each piece that ``source`` sends ``target`` wait, in both directions unless ``one_way``."""
        self._call(self._change(_ways_between(source, target, one_way), delay=seconds))

    def _call(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(END_SECONDS)

    async def _change(
        self, ways: Iterable[tuple[int, int]], is_open: bool | None = None, delay: float | None = None
    ) -> None:
        for pair in ways:
            way = self._way(*pair)
            if delay is not None:
                way.delay = delay
            if is_open is not None:
                (way.open.set if is_open else way.open.clear)()

    def _way(self, source: int, target: int) -> _Way:
        return self._ways.setdefault((source, target), _Way())

    async def _begin(self) -> None:
        self._accepting = [
            await asyncio.start_server(partial(self._pass_on, server), sock=listening)
            for server, listening in self._servers.items()
        ]

    async def _end(self) -> None:
        for server in self._accepting:
            server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports that were aborted close in the loop's next turns

    async def _pass_on(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to ``target``, whoever began it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ends = [writer]
        try:
            port = writer.get_extra_info("peername")[1]
            # elsewhere, since it takes a while: what others send is passed on meanwhile
            source, peers_port = await asyncio.to_thread(self._ends, port, target)
            to, out = await asyncio.open_connection(LOOPBACK, peers_port)
            ends.append(out)
            there, back = self._way(source, target), self._way(target, source)
            await _first_of(_pump(reader, out, there), _pump(to, writer, back))
        except (OSError, SandboxError):
            pass  # the server is down, or the sandbox gone: the connection ends, as without a proxy
        except asyncio.CancelledError:
            for end in ends:
                end.transport.abort()  # nothing is flushed; raised again, asyncio's own callback would print it
        finally:
            for end in ends:
                end.close()
            self._tasks.discard(task)

    def _ends(self, port: int, target: int) -> tuple[int, int]:
        """The server that began a connection, and the port at which its target listens."""
        state = load_state(self._folder)
        return server_behind(port, self.ports[target], state), _port_for_peers(state.nodes[target])


async def _first_of(*pumps: Coroutine[Any, Any, None]) -> None:
    """Run until one of them ends; the others are cancelled."""
    running = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way) -> None:
    """Pass on all that comes; it ends with the connection, or once the way is open again where that is cut."""
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_HELD // PIECE)
    clock = asyncio.get_running_loop().time
    writing = asyncio.ensure_future(_write(pieces, writer, way))
    try:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                await pieces.put((clock() + way.delay, piece))
        if way.open.is_set():
            await pieces.put((0.0, b""))
            await writing
        else:
            writing.cancel()  # now: once the way is open it may be the first to go on
        await way.open.wait()
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _write(pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, way: _Way) -> None:
    clock = asyncio.get_running_loop().time
    with contextlib.suppress(OSError):
        while True:
            due, piece = await pieces.get()
            if not piece:
                return
            await asyncio.sleep(max(0.0, due - clock()))
            await way.open.wait()
            writer.write(piece)
            await writer.drain()


def server_behind(port: int, to: int, state: SandboxState) -> int:
    """Return the server of a sandbox whose process has one end of a connection; ``OTHERS`` if none has.

    Args:
        port: Port of that end.
        to: Port of the other end. Connections to different ones may share the first, of different processes.
        state: The sandbox.
    """
    inode = _inode_of(port, to)
    running = (node for node in state.nodes.values() if node.process is not None)
    return next((node.id for node in running if _has_socket(node, inode)), OTHERS)


def _inode_of(port: int, to: int) -> str:
    """Inode of the socket with these ports; Java's sockets are IPv6 ones, also to IPv4 addresses."""
    ending, other = f":{port:04X}", f":{to:04X}"
    for table in _SOCKETS:
        for line in table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []:
            if f"{ending} " not in line or f"{other} " not in line:
                continue
            fields = line.split()
            if fields[1].endswith(ending) and fields[2].endswith(other) and fields[9] != "0":
                return fields[9]
    return ""


def _has_socket(node: Node, inode: str) -> bool:
    assert node.process is not None
    # a process that ends meanwhile has none
    with contextlib.suppress(OSError), os.scandir(f"/proc/{node.process.pid}/fd") as files:
        return any(_is_socket(file, inode) for file in files)
    return False


def _is_socket(file: os.DirEntry[str], inode: str) -> bool:
    try:
        found = file.stat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and str(found.st_ino) == inode


def _port_for_peers(node: Node) -> int:
    """Port of the listener that other servers of its sandbox come to."""
    names = {Role.ZOOKEEPER: "ZOOKEEPER", Role.CONTROLLER: "CONTROLLER", Role.BROKER: Listener.PLAINTEXT.kafka_name}
    return node.ports[names[node.roles[0]]]


def _ways_between(source: int, target: int, one_way: bool) -> tuple[tuple[int, int], ...]:
    return ((source, target),) if one_way else ((source, target), (target, source))


def _listening() -> socket.socket:
    listening = socket.create_server((LOOPBACK, 0), backlog=128)
    listening.setblocking(False)
    return listening
