"""Requests that a plan has refused: answered with an error, as by a broker that cannot take them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kreplica.engine.rules.replication.error_codes import ErrorCode

Answer = Callable[[tuple[Any, ...], ErrorCode], tuple[Any, ...]]
_NO_ID = -1


def _error_alone(_arguments: tuple[Any, ...], error: ErrorCode) -> tuple[Any, ...]:
    return (error,)


def _without_id(_arguments: tuple[Any, ...], error: ErrorCode) -> tuple[Any, ...]:
    return error, _NO_ID, _NO_ID


def _of_a_partition(arguments: tuple[Any, ...], error: ErrorCode) -> tuple[Any, ...]:
    partition = arguments[-4]  # before records, acks and timeout; a transactional id may stand before it
    return partition, error, -1


REFUSABLE: Mapping[str, Answer] = {
    "Produce": _of_a_partition,
    "InitProducerId": _without_id,
    "AddPartitionsToTxn": _error_alone,
    "AddOffsetsToTxn": _error_alone,
    "TxnOffsetCommit": _error_alone,
    "EndTxn": _without_id,
    "OffsetCommit": _error_alone,
}
"""Requests that can be refused, by Kafka's names, each with its answer: of its arguments and the error."""


class Refusal:
    """The next requests of a kind between two processes, which are refused.

    Args:
        source, target: Names of the processes.
        request: One of ``REFUSABLE``.
        error: Error of the answers.
        left: Number of requests.
    """

    __slots__ = ("_error", "_left", "_request", "_source", "_target")

    def __init__(self, source: str, target: str, request: str, error: ErrorCode, left: int) -> None:
        self._source = source
        self._target = target
        self._request = request
        self._error = error
        self._left = left

    def takes(self, source: str, target: str, request: str) -> bool:
        """True if it is this request that is refused; each time one fewer is left."""
        assert self._left, "one that is used up is taken away"
        if (source, target, request) != (self._source, self._target, self._request):
            return False
        self._left -= 1
        return True

    @property
    def is_used_up(self) -> bool:
        """True once all the requests have been refused."""
        return not self._left

    def answer(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of the answer to a request with these arguments."""
        return REFUSABLE[self._request](arguments, self._error)
