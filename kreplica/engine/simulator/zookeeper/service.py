"""ZooKeeper as a service that does not fail: znodes with versions, sessions with ephemeral znodes, watches.

Kafka relies on this: writes happen one after the other; a write may name the version it expects; a transaction is
done whole or not at all; a watch fires once; a session that has not been heard of for its timeout expires, and its
ephemeral znodes go with it. Data are tuples of plain values.

Kafka's znodes: their paths and contents. kafka.zk.ZkData.

/controller                       (broker id,), ephemeral
/controller_epoch                 (epoch,)
/brokers/ids/<id>                 (rack,), ephemeral
/brokers/topics/<topic>           ((partition, replicas, adding, removing), ...)
/brokers/partitions/<partition>   (controller epoch, leader, leader epoch, ISR): brokers' ids; Kafka has it at
                                  /brokers/topics/<topic>/partitions/<n>/state
/isr_change_notification/<n>      partitions
/log_dir_event_notification/<n>   (broker id,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from kreplica.engine.rules.controller.zookeeper_session import session_is_over
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.environment import TIMED_OUT
from kreplica.engine.simulator.node import Node
from kreplica.engine.trace import Kind

OK = "ok"
NO_NODE = "no node"
NODE_EXISTS = "node exists"
BAD_VERSION = "bad version"
SESSION_EXPIRED = "session expired"
ROLLED_BACK = "rolled back"
"""Results of operations; ZooKeeper's KeeperException codes."""

ANY_VERSION = -1

PINGS_A_SESSION = 3
"""Number of pings within a session timeout."""


class Operation(NamedTuple):
    """One operation: ``get``, ``owner``, ``children``, ``create``, ``set``, ``delete`` or ``check``.

    Args:
        what: The kind of operation.
        path: Path of the znode.
        data: For create and set.
        version: The version that set, delete and check expect; ANY_VERSION for any.
        ephemeral: For create: whether it goes with the session.
        watch: For get and children: whether the next change is reported.
    """

    what: str
    path: str
    data: Any = None
    version: int = ANY_VERSION
    ephemeral: bool = False
    watch: bool = False


class Result(NamedTuple):
    """Result of an operation: its code, and if the znode exists its data, version and creation transaction.

    For ``children`` the data are pairs of name and creation transaction, by name; for ``owner`` they are the session of
    an ephemeral znode (Stat.ephemeralOwner).
    """

    code: str
    data: Any = None
    version: int = ANY_VERSION
    created: int = 0


Transaction = tuple[Operation, ...]


class Znode:
    """A znode; ``owner`` is the session of an ephemeral one, 0 for others; ``created`` the transaction that made it."""

    __slots__ = ("created", "data", "owner", "version")

    def __init__(self, data: Any, owner: int, created: int) -> None:
        self.data = data
        self.version = 0
        self.owner = owner
        self.created = created


class Watcher(Protocol):
    """A client as the service knows it."""

    node: Node

    def handle_watch(self, session: int, what: str, path: str, reply: Callable[..., object]) -> None:
        """Handles a watch event."""


class Session:
    """A client's session; it ends at ``deadline`` unless the client is heard of."""

    __slots__ = ("client", "deadline", "id", "timeout")

    def __init__(self, number: int, client: Watcher, timeout: int, now: int) -> None:
        self.id = number
        self.client = client
        self.timeout = timeout
        self.deadline = now + timeout


class WatchEvent:
    """A watch that has fired. A client that the event does not reach learns of it later, as long as its session lasts.

    org.apache.zookeeper.ClientCnxn.SendThread.primeConnection: a client that is connected again names its watches;
    org.apache.zookeeper.server.DataTree.setWatches fires those whose znode has changed meanwhile.
    """

    __slots__ = ("_arrived", "_path", "_session", "_what", "_zookeeper")

    def __init__(self, zookeeper: ZooKeeper, session: Session, what: str, path: str) -> None:
        self._zookeeper = zookeeper
        self._session = session
        self._what = what
        self._path = path
        self._arrived = False

    def send(self) -> None:
        """Sends the event, again and again until it arrives or the session ends."""
        zookeeper, session = self._zookeeper, self._session
        told, patience = (session.id, self._what, self._path), session.timeout // PINGS_A_SESSION
        transport = zookeeper.cluster.transport
        transport.call(zookeeper, session.client.node, "watch event", self._arrives, told, None, self._missed, patience)

    def _arrives(self, session: int, what: str, path: str, reply: Callable[..., object]) -> None:
        if self._arrived:
            reply()
            return
        self._arrived = True
        self._session.client.handle_watch(session, what, path, reply)

    def _missed(self, reason: str) -> None:
        """Sends it again, with what holds by now; not while it waits at a process that stands still."""
        if self._arrived or reason != TIMED_OUT or self._session.id not in self._zookeeper.sessions:
            return
        if self._session.client.node.paused:
            self._zookeeper.after(self._session.timeout // PINGS_A_SESSION, self._missed, TIMED_OUT)
            return
        if self._what != "children":
            self._what = "changed" if self._path in self._zookeeper.znodes else "deleted"
        self.send()


class ZooKeeper(Node):
    """The service, node ``zookeeper`` of the trace.

    ``watches`` counts the watches set now, ``fired`` those that have fired.
    """

    __slots__ = ("_child_watches", "_data_watches", "_transaction", "clients", "fired", "sessions", "znodes")

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, "zookeeper")
        self.znodes: dict[str, Znode] = {}
        self.sessions: dict[int, Session] = {}
        self.clients: dict[str, Watcher] = {}
        self.fired = 0
        self._transaction = 0
        self._data_watches: dict[str, dict[int, None]] = {}
        self._child_watches: dict[str, dict[int, None]] = {}

    def on_start(self) -> None:
        """Gives every session its full timeout, as a new leader of the ensemble does."""
        for session in self.sessions.values():
            session.deadline = self.clock.now + session.timeout
            self.after(session.timeout, self._look_at, session)

    @property
    def watches(self) -> int:
        """Number of watches that are set."""
        return sum(map(len, self._data_watches.values())) + sum(map(len, self._child_watches.values()))

    def handle_connect(self, client: str, timeout: int, reply: Callable[..., object]) -> None:
        """Begins a session of a client; answers with its number."""
        self._transaction += 1
        session = Session(self._transaction, self.clients[client], timeout, self.clock.now)
        self.sessions[session.id] = session
        self.after(timeout, self._look_at, session)
        reply(session.id)

    def handle_ping(self, session: int, reply: Callable[..., object]) -> None:
        """Keeps a session alive; answers whether it still exists."""
        reply(self._touch(session))

    def close(self, session: int) -> None:
        """Ends a session at its client's request."""
        found = self.sessions.get(session)
        if found is not None:
            self._end_session(found)

    def handle_requests(
        self, session: int, transactions: tuple[Transaction, ...], reply: Callable[..., object]
    ) -> None:
        """Executes transactions in their order; answers with a tuple of results for each."""
        if not self._touch(session):
            reply(SESSION_EXPIRED, ())
            return
        reply(OK, tuple(self._do(session, transaction) for transaction in transactions))

    def expire(self, client: str) -> None:
        """Ends the session of a live client, as an overloaded ensemble or a lost packet would."""
        for session in list(self.sessions.values()):
            if session.client.node.name == client:
                self._expire(session)

    def put(self, path: str, data: Any) -> None:
        """Writes a znode before the run begins."""
        self._create(0, Operation("create", path, data))

    def data(self, path: str) -> Any:
        """The data of a znode, None without one; for readers outside the simulated cluster."""
        znode = self.znodes.get(path)
        return None if znode is None else znode.data

    def _touch(self, number: int) -> bool:
        session = self.sessions.get(number)
        if session is not None:
            session.deadline = self.clock.now + session.timeout
        return session is not None

    def _look_at(self, session: Session) -> None:
        """Ends a session whose timeout is over, or looks again when it may be."""
        if session.id not in self.sessions:
            return
        if session_is_over(self.clock.now, session.deadline):
            self._expire(session)
        else:
            self.after(session.deadline - self.clock.now, self._look_at, session)

    def _expire(self, session: Session) -> None:
        self.emit(Kind.SESSION_EXPIRED, session.client.node.name)
        self._end_session(session)

    def _end_session(self, session: Session) -> None:
        del self.sessions[session.id]
        for watches in (*self._data_watches.values(), *self._child_watches.values()):
            watches.pop(session.id, None)
        for path in [path for path, znode in self.znodes.items() if znode.owner == session.id]:
            self._delete(Operation("delete", path))

    def _do(self, session: int, transaction: Transaction) -> tuple[Result, ...]:
        """Executes all of a transaction's operations, or none if one of several fails."""
        if len(transaction) > 1:
            codes = [self._obstacle(operation) for operation in transaction]
            if any(code != OK for code in codes):
                return tuple(Result(ROLLED_BACK if code == OK else code) for code in codes)
        return tuple(self._apply(session, operation) for operation in transaction)

    def _obstacle(self, operation: Operation) -> str:
        znode = self.znodes.get(operation.path)
        if operation.what == "create":
            return OK if znode is None else NODE_EXISTS
        if znode is None:
            return NO_NODE
        return OK if operation.version in (ANY_VERSION, znode.version) else BAD_VERSION

    def _apply(self, session: int, operation: Operation) -> Result:
        if operation.what in ("get", "owner"):
            return self._get(session, operation)
        if operation.what == "children":
            return self._children(session, operation)
        code = self._obstacle(operation)
        if code != OK:
            return Result(code)
        if operation.what == "create":
            return self._create(session, operation)
        if operation.what == "set":
            return self._set(operation)
        return self._delete(operation) if operation.what == "delete" else Result(OK)

    def _get(self, session: int, operation: Operation) -> Result:
        if operation.watch:
            self._data_watches.setdefault(operation.path, {})[session] = None
        znode = self.znodes.get(operation.path)
        if znode is None:
            return Result(NO_NODE)
        data = znode.owner if operation.what == "owner" else znode.data
        return Result(OK, data, znode.version, znode.created)

    def _children(self, session: int, operation: Operation) -> Result:
        if operation.watch:
            self._child_watches.setdefault(operation.path, {})[session] = None
        start = operation.path + "/"
        names = sorted(path for path in self.znodes if path.startswith(start) and "/" not in path[len(start) :])
        return Result(OK, tuple((path[len(start) :], self.znodes[path].created) for path in names))

    def _create(self, session: int, operation: Operation) -> Result:
        self._transaction += 1
        owner = session if operation.ephemeral else 0
        znode = self.znodes[operation.path] = Znode(operation.data, owner, self._transaction)
        self._written(operation.path, znode)
        self._tell_watchers(self._data_watches, operation.path, "created", operation.path)
        self._tell_parent_watchers(operation.path)
        return Result(OK, znode.data, 0, znode.created)

    def _set(self, operation: Operation) -> Result:
        self._transaction += 1
        znode = self.znodes[operation.path]
        znode.data = operation.data
        znode.version += 1
        self._written(operation.path, znode)
        self._tell_watchers(self._data_watches, operation.path, "changed", operation.path)
        return Result(OK, znode.data, znode.version, znode.created)

    def _delete(self, operation: Operation) -> Result:
        self._transaction += 1
        del self.znodes[operation.path]
        self.emit(Kind.ZNODE_DELETED, operation.path)
        self._tell_watchers(self._data_watches, operation.path, "deleted", operation.path)
        self._tell_parent_watchers(operation.path)
        return Result(OK)

    def _written(self, path: str, znode: Znode) -> None:
        self.emit(Kind.ZNODE_WRITTEN, path, znode.data, znode.version)

    def _tell_parent_watchers(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        self._tell_watchers(self._child_watches, parent, "children", parent)

    def _tell_watchers(self, watches: dict[str, dict[int, None]], path: str, what: str, told: str) -> None:
        for number in watches.pop(path, {}):
            self.fired += 1
            WatchEvent(self, self.sessions[number], what, told).send()


CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
STATES = "/brokers/partitions"
ISR_CHANGES = "/isr_change_notification"
DIRECTORY_EVENTS = "/log_dir_event_notification"

StateData = tuple[int, int, int, tuple[int, ...]]
Assigned = tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def state_path(partition: str) -> str:
    """The znode with a partition's leader and ISR."""
    return f"{STATES}/{partition}"


def state_data(state: PartitionState, controller_epoch: int) -> StateData:
    """Contents of the state znode of a partition."""
    return controller_epoch, state.leader_id, state.leader_epoch, state.listed_isr()


def state_of(assigned: Assigned, data: StateData, version: int, keeps_order: bool) -> PartitionState:
    """State of a partition from its two znodes; ``keeps_order`` if the order of the ISR matters."""
    partition, replicas, adding, removing = assigned
    _, leader, leader_epoch, isr = data
    known = PartitionState(partition, replicas, adding=adding, removing=removing, isr_order=isr if keeps_order else ())
    place = replicas.index(leader) if leader in replicas else NO_LEADER
    return known._replace(leader=place, leader_epoch=leader_epoch, isr=known.places(isr), partition_epoch=version)
