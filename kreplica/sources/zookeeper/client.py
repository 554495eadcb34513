"""A ZooKeeper session for reading: one deadline, TLS, digest, reads in large batches, and reasons where it fails.

Many znodes in one request: MultiRead (ZOOKEEPER-1407, ZooKeeper 3.6), which kazoo does not have.

200,000 znodes one by one cost a laptop 17 s of CPU, 500 a request 0.6 s.

    request     for each znode  type=4 int32 | done=0 byte | error=-1 int32 | path length int32 | path | watch=0 byte
                at the end      type=-1      | done=1      | error=-1
    response    for each znode  type int32   | done byte   | error int32    | result
                                4: data length int32 (-1 null) | data | stat, 68 bytes      -1: error int32
                at the end      type=-1      | done=1      | error=-1
"""

from __future__ import annotations

import logging
import re
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, KazooException, NoAuthError, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from kreplica.config.addresses import parse_zookeeper
from kreplica.config.zookeeper_security import zookeeper_security
from kreplica.errors import AuthenticationError, UnreachableError, as_clause
from kreplica.sources.kafka.connections.failures import connect
from kreplica.sources.zookeeper.tree import Tree, Znode
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.system.deadline import Deadline


_GET_DATA, _ERROR = 4, -1
_HEADER = struct.Struct(">i?i")
_INT = struct.Struct(">i")
_STAT = struct.Struct(">qqqqiiiqiiq")
_ITEM = _HEADER.pack(_GET_DATA, False, -1)
_END = _HEADER.pack(-1, True, -1)


@dataclass(frozen=True, slots=True)
class MultiRead:
    """One request, in the form that kazoo's connection takes.

    Args:
        paths: Absolute paths, the chroot included.
    """

    type: ClassVar[int] = 22

    paths: Sequence[str]

    def serialize(self) -> bytes:
        """The request's body."""
        parts: list[bytes] = []
        for path in self.paths:
            name = path.encode()
            parts += (_ITEM, _INT.pack(len(name)), name, b"\0")
        return b"".join((*parts, _END))

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> list[Znode | int]:
        """The result for each path: a znode, or the number of the error.

        Raises:
            ValueError: The answer is of another form.
        """
        results: list[Znode | int] = []
        while True:
            kind, done, _ = _HEADER.unpack_from(buffer, offset)
            offset += _HEADER.size
            if done:
                return results
            if kind == _ERROR:
                results.append(_INT.unpack_from(buffer, offset)[0])
                offset += _INT.size
            elif kind == _GET_DATA:
                znode, offset = _read_znode(buffer, offset)
                results.append(znode)
            else:
                raise ValueError(f"a result of type {kind} at byte {offset}")


def _read_znode(buffer: bytes, offset: int) -> tuple[Znode, int]:
    (length,) = _INT.unpack_from(buffer, offset)
    begin = offset + _INT.size
    end = begin + max(length, 0)
    _, mzxid, _, _, version, _, _, _, _, _, pzxid = _STAT.unpack_from(buffer, end)
    data = bytes(buffer[begin:end]) if length >= 0 else None
    return Znode(data, version, max(mzxid, pzxid)), end + _STAT.size


BATCH = 500
"""Znodes in one request: 50 KB each way, far below jute.maxbuffer."""

UNDER_WAY = 8
"""Batches asked for before the first is answered; without MultiRead as many znodes as fit them."""

_SESSION_SECONDS = 10.0
_CLOSE_SECONDS = 1.0
_POLL_SECONDS = 0.02


class SessionLostError(Exception):
    """The connection broke; another server may answer."""


class ZookeeperSession:
    """A session with one server of the ensemble; use as a context manager.

    Args:
        handle: With ``zookeeper``.
        deadline: For everything that is read.

    Attributes:
        client: kazoo's client; its paths are below the chroot.
        connected_to: The server that last took a connection; empty before one did.

    Raises:
        UnreachableError: No server answered in time.
        AuthenticationError: The credentials are refused.
        ConfigurationError: The properties cannot be used.
    """

    def __init__(self, handle: ClusterHandle, deadline: Deadline) -> None:
        assert handle.zookeeper is not None, "a ZooKeeper is named"
        self.servers, self.chroot = parse_zookeeper(handle.zookeeper)
        self._deadline = deadline
        security = zookeeper_security(handle.properties)
        self._reasons: dict[str, None] = {}
        self.connected_to = ""
        self.client = _client(self, security.context, security.digest)
        self._multi_read: bool | None = None  # not known yet
        self._connect()

    def __enter__(self) -> ZookeeperSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session; a server that does not answer is not waited for."""
        Pool({"close": self._close}).next(_CLOSE_SECONDS)

    def moment(self) -> int:
        """Syncs the server with the ensemble; returns the transaction number up to which it knows everything.

        Raises:
            SessionLostError: The connection broke.
            UnreachableError: No answer in time.
        """
        self.wait(self.client.sync_async("/"))
        self.exists("/")
        return int(self.client.last_zxid)

    def exists(self, path: str) -> bool:
        """True if a znode is there, as far as the credentials may know."""
        try:
            return self.wait(self.client.exists_async(path)) is not None
        except NoAuthError:  # the check takes read permission since ZOOKEEPER-2590
            return True

    def list(self, tree: Tree, path: str) -> None:
        """Adds the children of a znode, and the znode without its data, to the tree."""
        try:
            names, stat = self.wait(self.client.get_children_async(path, include_data=True))
        except NoNodeError:
            tree.missing.add(path)
        except NoAuthError:
            tree.denied.add(path)
        else:
            tree.children[path] = names
            tree.nodes[path] = Znode(None, stat.version, max(stat.mzxid, stat.pzxid))

    def read(self, tree: Tree, paths: Sequence[str]) -> None:
        """Adds znodes with their data to the tree; those that are absent or may not be read are noted there."""
        for path, result in self._results(paths):
            if isinstance(result, Znode):
                tree.nodes[path] = result
            elif result == NoNodeError.code:
                tree.missing.add(path)
            elif result == NoAuthError.code:
                tree.denied.add(path)
            else:
                raise SessionLostError(f"error {result} for {path}")

    def reconnected(self) -> None:
        """Waits for a server to answer again: kazoo takes a dead connection for a live one until it is used.

        Raises:
            UnreachableError: None answered in time.
        """
        while True:
            self._await_connection()
            try:
                self.exists("/")
            except SessionLostError:
                if self._deadline.remaining() <= 0:
                    raise self._no_answer() from None
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _connect(self) -> None:
        self.client.start_async()
        try:
            self._await_connection()
        except BaseException:
            self.close()
            raise

    def _await_connection(self) -> None:
        while not self.client.connected:
            if self.client.client_state == KeeperState.AUTH_FAILED:
                raise self._refused()
            if self._deadline.remaining() <= 0:
                raise self._no_answer()
            time.sleep(_POLL_SECONDS)

    def _results(self, paths: Sequence[str]) -> Iterator[tuple[str, Znode | int]]:
        if self._multi_read is None:
            self._multi_read = self._knows_multi_read()
        if not self._multi_read:
            yield from zip(paths, self._one_by_one(paths), strict=True)
            return
        batches = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
        answers = self._pipelined(((self._ask_batch, batch) for batch in batches), UNDER_WAY)
        for batch, found in zip(batches, answers, strict=True):
            yield from zip(batch, found, strict=True)

    def _knows_multi_read(self) -> bool:
        """Asks the server for it; one before 3.6 refuses the request and closes the session."""
        try:
            self.wait(self._ask_batch(["/"]))
        except SessionLostError:
            self._await_connection()
            return False
        return True

    def _ask_batch(self, batch: Sequence[str]) -> Any:
        prefix = "" if self.chroot == "/" else self.chroot
        absolute = [f"{prefix}{path}".rstrip("/") or "/" for path in batch]
        result = self.client.handler.async_result()
        # kazoo's own methods put a request into the queue like this; it has no public way for a request it lacks.
        self.client._call(MultiRead(absolute), result)
        return result

    def _one_by_one(self, paths: Sequence[str]) -> Iterator[Znode | int]:
        yield from self._pipelined(((self.client.get_async, path) for path in paths), BATCH * UNDER_WAY, _znode)

    def _pipelined(
        self,
        calls: Iterable[tuple[Callable[[Any], Any], Any]],
        under_way: int,
        form: Callable[[Any], Any] = lambda answer: answer,
    ) -> Iterator[Any]:
        """Answers in the order of the calls, with a bounded number of requests in flight."""
        waiting: deque[Any] = deque()
        for call, argument in calls:
            waiting.append(call(argument))
            if len(waiting) >= under_way:
                yield self._answer(waiting.popleft(), form)
        while waiting:
            yield self._answer(waiting.popleft(), form)

    def _answer(self, result: Any, form: Callable[[Any], Any]) -> Any:
        try:
            return form(self.wait(result))
        except (NoNodeError, NoAuthError) as error:
            return error.code

    def wait(self, result: Any) -> Any:
        """The answer to one of kazoo's asynchronous calls.

        Raises:
            SessionLostError: The connection broke.
            UnreachableError: No answer in time.
            AuthenticationError: The credentials are refused.
            NoNodeError, NoAuthError, NodeExistsError: As kazoo has them.
        """
        try:
            return result.get(timeout=self._deadline.remaining())
        except (NoNodeError, NoAuthError, NodeExistsError):
            raise
        except KazooTimeoutError:
            raise self._no_answer() from None
        except AuthFailedError:
            raise self._refused() from None
        except KazooException as error:
            raise SessionLostError(type(error).__name__) from None

    def _close(self) -> None:
        try:
            self.client.stop()
            self.client.close()
        except Exception as error:
            self.add_reason(str(error))

    def add_reason(self, reason: str) -> None:
        """Keeps the reason why a connection failed, once."""
        self._reasons[reason] = None

    def _refused(self) -> AuthenticationError:
        return AuthenticationError(f"ZooKeeper at {self.names} does not accept the credentials")

    def _no_answer(self) -> UnreachableError:
        silent = f"{self.connected_to} takes connections and does not answer" if self.connected_to else "no connection"
        tried = "; ".join(list(self._reasons)[-3:]) or silent
        return UnreachableError(
            f"ZooKeeper at {self.names} did not answer within {self._deadline.seconds:g} s",
            tried,
            "is it ZooKeeper's client port, with TLS where it asks for it? --timeout gives more time",
        )

    @property
    def names(self) -> str:
        """The servers, for messages."""
        return ",".join(f"{host}:{port}" for host, port in self.servers)


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """Opens connections with our TLS context, and not for longer than the deadline allows for each server."""

    def __init__(self, session: ZookeeperSession, context: ssl.SSLContext | None, seconds: float) -> None:
        super().__init__()
        self._session = session
        self._context = context
        self._seconds = seconds

    def create_connection(self, *, address: tuple[str, int], hostname: str, **_: object) -> socket.socket:
        try:
            connection = connect(*address[:2], self._seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_hostname=hostname)
            self._session.connected_to = f"{hostname}:{address[1]}"
        except OSError as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            self._session.add_reason(f"{hostname}:{address[1]}: {reason}")
            raise
        return connection


class _Reasons(logging.Handler):
    """Hands kazoo's warnings to the session instead of to a screen."""

    def __init__(self, session: ZookeeperSession) -> None:
        super().__init__(logging.WARNING)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(
            ("Cannot resolve", "Connection dropped: socket connection broken", "Connection time-out")
        ):
            self._session.add_reason(re.sub(r"\[Errno [^]]*\] ", "", as_clause(message)))


def _client(session: ZookeeperSession, context: ssl.SSLContext | None, digest: str | None) -> KazooClient:
    seconds = max(0.5, session._deadline.seconds / len(session.servers))
    handler = _Handler(session, context, seconds)
    logger = logging.Logger("zookeeper", logging.WARNING)  # outside the tree: nothing else prints what it says
    logger.addHandler(_Reasons(session))
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in session.servers)
    again = KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.5, sleep_func=handler.sleep_func)
    return KazooClient(
        hosts=hosts + (session.chroot if session.chroot != "/" else ""),
        timeout=max(_SESSION_SECONDS, 2 * seconds),
        handler=handler,
        auth_data=[("digest", digest)] if digest is not None else None,
        connection_retry=again,
        logger=logger,
    )


def _znode(answer: tuple[bytes, Any]) -> Znode:
    data, stat = answer
    return Znode(data, stat.version, max(stat.mzxid, stat.pzxid))
