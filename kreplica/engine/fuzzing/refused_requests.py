"""Requests that random plans have refused: which kinds a client sends, and errors after which it sends them again.

Each error is one that a broker gives for a while: a leader without enough replicas, a partition or a coordinator that
has moved or is being loaded, another transaction under way. So nothing is lost by it that a client has promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from kreplica.engine.fault_plan import RefuseRequest
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import ConsumerSetup, ProducerSetup, Setup, TransactionalSetup, TransformSetup

_OF_LEADERS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)
_OF_COORDINATORS = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_OF_TRANSACTIONS = (*_OF_COORDINATORS, ErrorCode.CONCURRENT_TRANSACTIONS)

_TRANSACTIONAL: Mapping[str, tuple[ErrorCode, ...]] = {
    "Produce": _OF_LEADERS,
    "InitProducerId": _OF_TRANSACTIONS,
    "AddPartitionsToTxn": _OF_TRANSACTIONS,
    "EndTxn": _OF_TRANSACTIONS,
}
_REFUSED: Mapping[type, Mapping[str, tuple[ErrorCode, ...]]] = {
    ProducerSetup: {"Produce": _OF_LEADERS},
    TransactionalSetup: _TRANSACTIONAL,
    TransformSetup: {**_TRANSACTIONAL, "AddOffsetsToTxn": _OF_TRANSACTIONS, "TxnOffsetCommit": _OF_COORDINATORS},
    ConsumerSetup: {"OffsetCommit": _OF_COORDINATORS},
}
"""By the kind of a client its requests, each with the errors; a reader sends none that can be refused."""


def refused_requests(setup: Setup, target: str, chance: Random) -> RefuseRequest:
    """Returns a fault that refuses one or some requests of a client; those of every node where no client has any.

    Args:
        setup: The cluster with its clients.
        target: The broker that refuses.
        chance: The only source of randomness.
    """
    clients = [(client.name, _REFUSED[type(client)]) for client in setup.clients if type(client) in _REFUSED]
    source, requests = chance.choice(clients) if clients else ("*", _REFUSED[ProducerSetup])
    request = chance.choice(sorted(requests))
    return RefuseRequest(source, target, request, chance.choice(requests[request]).name, chance.choice((1, 1, 2, 5)))
