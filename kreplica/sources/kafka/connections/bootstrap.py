"""Connects to the cluster by its bootstrap servers: to the first that answers; a failure lists what was tried.

Servers are tried in their order. The next one is tried when one fails, or is still silent after a short while, so that
a paused or unreachable server costs little. Refused credentials end it: further tries may lock an account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kreplica.errors import AuthenticationError, KreplicaError, UnreachableError
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import (
    Address,
    BrokerFailure,
    BrokerSilentError,
    CredentialsRefusedError,
)
from kreplica.sources.kafka.connections.messages import MetadataRequest
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from kreplica.system.deadline import Deadline

PATIENCE_SECONDS = 1.0
"""Seconds that one server may be silent before the next is tried beside it."""


class Bootstrap:
    """Connects to one server after another; keeps what failed.

    Args:
        addresses: The bootstrap servers.
        settings: ClientSettings.kafka_python.
        deadline: When to give up.
    """

    def __init__(self, addresses: Sequence[Address], settings: Mapping[str, object], deadline: Deadline) -> None:
        self._waiting = list(dict.fromkeys(addresses))
        self._trying: Pool[Address, BrokerConnection] = Pool(most=len(addresses))
        self._settings = settings
        self._deadline = deadline
        self._failures: list[BrokerFailure] = []

    def connect(self) -> BrokerConnection:
        """An open connection to a server not returned or failed before.

        Raises:
            UnreachableError: None is left, or the deadline passed; names each server and its failure.
            AuthenticationError: A server refused the credentials.
        """
        patience = min(PATIENCE_SECONDS, self._deadline.seconds / (len(self._waiting) + 1))
        while self._waiting or self._trying.unfinished:
            if self._waiting and not self._trying.unfinished:
                self._try_next()
            remaining = self._deadline.remaining()
            answer = self._trying.next(min(patience, remaining) if self._waiting else remaining)
            if answer is None:
                if not self._waiting or self._deadline.remaining() <= 0:
                    break
                self._try_next()
                continue
            _, connection, error = answer
            if connection is not None:
                return connection
            assert error is not None, "a call gives a result or raises"
            self.failed(error)
        raise self._unreachable()

    def failed(self, error: BaseException) -> None:
        """Notes why a server could not be used.

        Raises:
            AuthenticationError: It refused the credentials.
            BaseException: ``error`` itself, unless it is about one server.
        """
        if isinstance(error, CredentialsRefusedError):
            raise _refused(error) from None
        if not isinstance(error, BrokerFailure):
            raise error
        self._failures.append(error)

    def close(self) -> None:
        """Takes no more connections; one that opens now is closed by the thread that opened it."""
        self._trying.abandon(BrokerConnection.close)

    def _try_next(self) -> None:
        address = self._waiting.pop(0)
        self._trying.add(address, partial(_open, address, self._settings, self._deadline))

    def _unreachable(self) -> KreplicaError:
        silent = f"no answer within {self._deadline.seconds:g} s"
        pending = [BrokerSilentError(address, silent) for address in (*self._trying.unfinished, *self._waiting)]
        by_reason: dict[str, list[str]] = {}
        for failure in (*self._failures, *pending):
            by_reason.setdefault(failure.reason, []).append(str(failure.address))
        tried = ", ".join(f"{', '.join(addresses)} ({reason})" for reason, addresses in by_reason.items())
        return UnreachableError(
            "cannot reach the cluster",
            f"tried {tried}",
            "check the bootstrap servers and the client properties (--command-config, context)",
        )


def _open(address: Address, settings: Mapping[str, object], deadline: Deadline) -> BrokerConnection:
    connection = BrokerConnection(address, settings, deadline)
    if not connection.supports(MetadataRequest):
        connection.close()
        raise BrokerFailure(address, "is a KRaft controller, not a broker: give a broker's address")
    return connection


def _refused(error: CredentialsRefusedError) -> KreplicaError:
    return AuthenticationError(
        "the cluster does not accept the credentials",
        str(error),
        "check the security settings (--command-config, context)",
    )
