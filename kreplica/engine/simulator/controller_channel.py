"""Requests of a ZooKeeper-mode controller to one broker: in order, one at a time, again until they are answered.

kafka.controller.ControllerChannelManager, RequestSendThread.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from kreplica.engine.setup import MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from kreplica.engine.simulator.node import Node

RETRY_AFTER = 100 * MILLISECOND
"""Until a request that failed is sent again: kafka.controller.RequestSendThread."""


class ControllerChannel:
    """The queue to one broker; it is dropped with all that is in it when broker or controller are gone."""

    __slots__ = ("_open", "_queue", "_sending", "source", "target")

    def __init__(self, source: Node, target: Node) -> None:
        self.source = source
        self.target = target
        self._queue: deque[tuple[str, Callable[..., object], tuple[Any, ...], Callable[..., object]]] = deque()
        self._sending = False
        self._open = True

    def send(
        self, name: str, handler: Callable[..., object], arguments: tuple[Any, ...], then: Callable[..., object]
    ) -> None:
        """Sends a request once those before it are answered; ``then`` gets its answer."""
        self._queue.append((name, handler, arguments, then))
        if not self._sending:
            self._next()

    def close(self) -> None:
        """Sends nothing any more."""
        self._open = False
        self._queue.clear()

    def _next(self) -> None:
        self._sending = self._open and len(self._queue) > 0
        if self._sending:
            name, handler, arguments, _ = self._queue[0]
            network = self.source.simulation.network
            network.call(self.source, self.target, name, handler, arguments, self._answered, self._failed)

    def _answered(self, *values: Any) -> None:
        if not self._open:
            return
        then = self._queue.popleft()[3]
        then(*values)
        self._next()

    def _failed(self, _reason: str) -> None:
        if self._open:
            self.source.after(RETRY_AFTER, self._next)
