"""A broker's connection to ZooKeeper: its session, its requests, its watches.

kafka.zookeeper.ZooKeeperClient and kafka.zk.KafkaZkClient. Requests are sent again until they are answered
(retryRequestsUntilConnected). Only ZooKeeper itself reports that a session has expired: a client that cannot reach it
goes on as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.setup import SECOND
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.zookeeper.service import (
    OK,
    PINGS_A_SESSION,
    SESSION_EXPIRED,
    Result,
    Transaction,
    ZooKeeper,
)

RETRY_AFTER = SECOND
"""Time until an unanswered request is sent again."""

NO_SESSION = 0

_NAMES = {
    "get": "getData",
    "owner": "getData",
    "children": "getChildren",
    "set": "setData",
    "create": "create",
    "delete": "delete",
    "check": "check",
}
"""ZooKeeper's names of operations, as org.apache.zookeeper.ZooDefs.OpCode has them."""


def _name(transactions: tuple[Transaction, ...]) -> str:
    """Names of requests that are sent together; a transaction of several operations is a multi."""
    return ", ".join(dict.fromkeys("multi" if len(one) > 1 else _NAMES[one[0].what] for one in transactions))


class ZooKeeperClient:
    """The session of one process.

    Args:
        node: The process.
        zookeeper: The service.
        timeout: zookeeper.session.timeout.ms, in microseconds.
        on_watch: Called with the change (``created``, ``changed``, ``deleted``, ``children``) and the path.
        on_expired: Called when the session turns out to have expired.
    """

    __slots__ = ("node", "on_expired", "on_watch", "session", "timeout", "zookeeper")

    def __init__(
        self,
        node: Node,
        zookeeper: ZooKeeper,
        timeout: int,
        on_watch: Callable[[str, str], object],
        on_expired: Callable[[], object],
    ) -> None:
        self.node = node
        self.zookeeper = zookeeper
        self.timeout = timeout
        self.on_watch = on_watch
        self.on_expired = on_expired
        self.session = NO_SESSION
        zookeeper.clients[node.name] = self

    def connect(self, then: Callable[[], object]) -> None:
        """Begins a session, then calls ``then``."""
        self.session = NO_SESSION
        self._call("connect", self.zookeeper.handle_connect, (self.node.name, self.timeout), self._connected, then)

    def close(self) -> None:
        """Asks ZooKeeper to end the session: the last request of a clean stop."""
        cluster = self.node.cluster
        soon = cluster.clock.now + cluster.transport.latency
        cluster.clock.at(soon, self.zookeeper.close, self.session)

    def forget(self) -> None:
        """Forgets the session of an ended process; ZooKeeper finds out by its timeout."""
        self.session = NO_SESSION

    def request(self, transactions: tuple[Transaction, ...], then: Callable[..., object], *context: Any) -> None:
        """Sends transactions; calls ``then(results, *context)`` with a tuple of results for each.

        Does nothing if the session expires before they are answered.
        """
        if self.session != NO_SESSION:
            arguments, name = (self.session, transactions), _name(transactions)
            self._call(name, self.zookeeper.handle_requests, arguments, self._answered, self.session, then, context)

    def handle_watch(self, session: int, what: str, path: str, reply: Callable[..., object]) -> None:
        """Handles a watch event."""
        reply()
        if session == self.session:
            self.on_watch(what, path)

    def _connected(self, session: int, then: Callable[[], object]) -> None:
        self.session = session
        self.node.after(self.timeout // PINGS_A_SESSION, self._ping, session)
        then()

    def _ping(self, session: int) -> None:
        if session == self.session:
            self._call("ping", self.zookeeper.handle_ping, (session,), self._pinged, session)

    def _pinged(self, alive: bool, session: int) -> None:
        if session != self.session:
            return
        if alive:
            self.node.after(self.timeout // PINGS_A_SESSION, self._ping, session)
        else:
            self._over()

    def _answered(
        self,
        code: str,
        results: tuple[tuple[Result, ...], ...],
        session: int,
        then: Callable[..., object],
        context: tuple[Any, ...],
    ) -> None:
        if session != self.session:
            return
        if code == SESSION_EXPIRED:
            self._over()
            return
        assert code == OK
        then(results, *context)

    def _over(self) -> None:
        self.session = NO_SESSION
        self.on_expired()

    def _call(
        self,
        name: str,
        handler: Callable[..., object],
        arguments: tuple[Any, ...],
        then: Callable[..., object],
        *context: Any,
    ) -> None:
        """Calls the service until it answers; stops when the client has another session."""

        def again(_reason: str) -> None:
            self.node.after(RETRY_AFTER, self._call, name, handler, arguments, then, *context)

        def answered(*values: Any) -> None:
            then(*values, *context)

        transport = self.node.cluster.transport
        patience = self.timeout // PINGS_A_SESSION
        transport.call(self.node, self.zookeeper, name, handler, arguments, answered, again, patience)
