"""Single nodes of a live cluster, one deadline for all of them: its controller, its brokers by id, the quorum's leader.

A cluster in ZooKeeper mode answers some requests at its controller only, where a KRaft broker forwards them. Only a
broker itself tells and changes its own settings and log directories. Settings of a broker that is down can be changed
by the KRaft controllers' own listener (KIP-919, Kafka 3.7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kreplica.config.addresses import parse_bootstrap_servers
from kreplica.config.properties import translate
from kreplica.sources.kafka.connections.bootstrap import Bootstrap
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure, BrokerSilentError
from kreplica.sources.kafka.connections.messages import MetadataRequest, MetadataResponse
from kreplica.sources.kafka.connections.sasl import with_token
from kreplica.sources.kafka.quorum import leader_address
from kreplica.system.deadline import Deadline
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

Answer = TypeVar("Answer")


class Nodes:
    """Connections to nodes of one cluster, opened when they are asked for and closed together.

    Args:
        handle: With bootstrap servers; ``handle.timeout`` bounds all that is asked through it.

    Attributes:
        entry: The first server that answered.
        brokers: Addresses of the live brokers, by id.
        settings: ClientSettings.kafka_python, with a token where one is used.
        deadline: When every wait ends.

    Raises:
        UnreachableError: No bootstrap server answered in time.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """

    def __init__(self, handle: ClusterHandle) -> None:
        assert handle.bootstrap_servers is not None, "a live cluster whose brokers are named"
        self.deadline = Deadline(handle.timeout)
        self.settings: Mapping[str, object] = with_token(translate(handle.properties).kafka_python, self.deadline)
        servers = [Address(*server) for server in parse_bootstrap_servers(handle.bootstrap_servers)]
        self._opened: dict[Address, BrokerConnection] = {}
        self.entry, metadata = _enter(servers, self.settings, self.deadline)
        self.brokers = {one.node_id: Address(one.host, one.port) for one in metadata.brokers}
        self._controller: int = metadata.controller_id

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self.entry, *self._opened.values()):
            connection.close()

    @property
    def in_kraft(self) -> bool:
        """True if KRaft controllers lead the cluster: a broker then forwards what is for them."""
        return "metadata.version" in self.entry.features

    def each_broker(
        self, calls: Mapping[int, Callable[[BrokerConnection], Answer]]
    ) -> dict[int, Answer | BrokerFailure]:
        """Asks several brokers side by side, so that a silent one costs the others nothing.

        Args:
            calls: What to ask, by id of the broker.

        Returns:
            What each call returned, or why its broker could not be asked: not alive, silent, closed.
        """
        addresses = self.brokers
        live = {
            broker: partial(self._call, addresses[broker], calls[broker]) for broker in calls if broker in addresses
        }
        pool = Pool(live, self.deadline)
        found: dict[int, Answer | BrokerFailure] = {}
        for broker, answer, error in pool.results():
            if error is None:
                found[broker] = cast("Answer", answer)
            elif isinstance(error, BrokerFailure):
                found[broker] = error
            else:
                raise error
        silent = f"no answer within {self.deadline.seconds:g} s"
        found |= {broker: BrokerSilentError(addresses[broker], silent) for broker in pool.unfinished}
        return {
            broker: BrokerFailure(self.entry.address, f"says that broker {broker} is not alive")
            if broker not in addresses
            else found[broker]
            for broker in calls
        }

    def _call(self, address: Address, call: Callable[[BrokerConnection], Answer]) -> Answer:
        with BrokerConnection(address, self.settings, self.deadline, proven=True) as connection:
            return call(connection)

    def controller(self) -> BrokerConnection:
        """A connection for requests that the controller answers: to it, or to a KRaft broker, which forwards them.

        Raises:
            BrokerFailure: There is no controller now, or it cannot be used.
        """
        if self.in_kraft:
            return self.entry
        if self._controller not in self.brokers:
            raise BrokerFailure(self.entry.address, "says that the cluster has no controller now")
        return self._open(self.brokers[self._controller], proven=True)

    def quorum_leader(self) -> BrokerConnection:
        """A connection to the active KRaft controller by its own listener; its security is the brokers' one.

        Raises:
            BrokerFailure: The cluster does not tell its address, or it cannot be used.
        """
        return self._open(leader_address(self.entry), proven=False)

    def _open(self, address: Address, *, proven: bool) -> BrokerConnection:
        if address not in self._opened:
            self._opened[address] = BrokerConnection(address, self.settings, self.deadline, proven=proven)
        return self._opened[address]


def _enter(servers: list[Address], settings: Mapping[str, object], deadline: Deadline) -> tuple[BrokerConnection, Any]:
    """The first server that answers, and the brokers and controller that it knows."""
    bootstrap = Bootstrap(servers, settings, deadline)
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False)
    try:
        while True:
            connection = bootstrap.connect()
            try:
                # Version 1 (Kafka 0.10) is the first in which no topics are none, and which names the controller.
                return connection, connection.send(request, MetadataResponse, oldest=1)
            except BaseException as error:
                connection.close()
                bootstrap.failed(error)
    finally:
        bootstrap.close()
