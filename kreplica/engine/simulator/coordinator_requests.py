"""How a client asks the coordinator of its transactions.

org.apache.kafka.clients.producer.internals.TransactionManager.TxnRequestHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kreplica.engine.rules.coordinator_partition import TRANSACTIONS_TOPIC
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.simulator.transaction_coordinator import TransactionCoordinator

if TYPE_CHECKING:
    from kreplica.engine.simulator.client import Client

TRY_AGAIN = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NETWORK_EXCEPTION,
    )
)
"""With these a client asks again, after retry.backoff.ms and with fresh metadata."""

Handler = Callable[[TransactionCoordinator], Callable[..., object]]


def ask_transaction_coordinator(
    client: Client,
    transactional_id: str,
    name: str,
    handler: Handler,
    arguments: tuple[Any, ...],
    then: Callable[..., object],
) -> None:
    """Asks until the coordinator answers with more than to try again.

    Args:
        client: Who asks.
        transactional_id: Goes first into the request, and says who the coordinator is.
        name: Kafka's name of the request, for the trace.
        handler: Which of the coordinator's methods takes it.
        arguments: The rest of the request.
        then: Called with the error and the other values of the answer.
    """
    leader = client.leader(client.simulation.home(TRANSACTIONS_TOPIC, transactional_id))

    def again(_reason: str = "") -> None:
        client.refresh_later(ask_transaction_coordinator, client, transactional_id, name, handler, arguments, then)

    def answered(error: ErrorCode, *values: int) -> None:
        if error in TRY_AGAIN:
            again()
        else:
            then(error, *values)

    if leader is None:
        again()
        return
    there = handler(TransactionCoordinator.of(leader))
    sent, timeout = (transactional_id, *arguments), client.microseconds("request.timeout.ms")
    client.simulation.network.call(client, leader, name, there, sent, answered, again, timeout)
