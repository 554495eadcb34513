"""The joints of the simulator: what a process is handed, and knows of other processes.

A process has a clock, a trace and a transport, and the facts of its cluster (``cluster.Cluster``). It knows neither the
run that plays it nor the network behind the transport, so that another driver can hand it other ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kreplica.engine.setup import SECOND

REQUEST_TIMEOUT = 30 * SECOND
"""request.timeout.ms of clients and brokers where nothing else is set (CommonClientConfigs, AbstractConfig)."""

DISCONNECTED = "disconnected"
TIMED_OUT = "timed out"
"""Reasons that ``on_failure`` is called with."""

Failure = Callable[[str], object]


class Clock(Protocol):
    """Virtual time, and the calls that are due in it."""

    now: int
    """The time, in microseconds."""

    def at(self, time: int, function: Callable[..., object], *arguments: Any) -> None:
        """Calls ``function(*arguments)`` at ``time``, or now if that is past."""


class Sink(Protocol):
    """The trace of a run."""

    def emit(self, time: int, kind: str, node: str, values: tuple[Any, ...]) -> None:
        """Adds one event."""


class Link:
    """One direction between two processes: its faults, and the arrival time of its last message."""

    __slots__ = ("cuts", "delay", "last_arrival", "loss", "source", "target")

    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        self.cuts = 0
        self.delay = 0
        self.loss = 0
        self.last_arrival = 0


class OpenCall(Protocol):
    """A request that a process has not answered yet."""

    def disconnect(self) -> None:
        """Tells the caller that the process is gone."""


class SentCall(Protocol):
    """A request as its sender knows it; ``done`` once it was answered or has failed."""

    done: bool

    def fail(self, reason: str) -> None:
        """Ends the call without an answer, once."""


class Process(Protocol):
    """A process as the transport knows it.

    ``incarnation`` counts the starts and ends of the process. While ``paused`` its events wait in ``backlog``. Until it
    ``listens`` nobody can connect to it.
    """

    name: str
    incarnation: int
    up: bool
    listens: bool
    paused: bool
    backlog: list[tuple[Callable[..., object], tuple[Any, ...]]]
    links: dict[str, Link]
    open_calls: dict[int, OpenCall]

    def emit(self, kind: str, *values: Any) -> None:
        """Writes an event of this process into the trace."""


class Transport(Protocol):
    """Requests and answers between processes."""

    latency: int
    """Of one way, in microseconds."""

    def call(
        self,
        source: Process,
        target: Process,
        name: str,
        handler: Callable[..., object],
        arguments: tuple[Any, ...],
        on_reply: Callable[..., object] | None = None,
        on_failure: Failure | None = None,
        timeout: int = REQUEST_TIMEOUT,
    ) -> SentCall:
        """Sends a request.

        Args:
            source, target: The sender and the receiver.
            name: Kafka's name of the request, for the trace.
            handler: The target's; called as ``handler(*arguments, reply)``, and calls ``reply(*values)`` once.
            arguments: Frozen values.
            on_reply: Called with the values of the answer; None for a request that is not answered.
            on_failure: Called with DISCONNECTED or TIMED_OUT.
            timeout: In microseconds.
        """

    def link(self, source: Process, target: Process) -> Link:
        """The direction from one process to another; a process also reaches itself by one."""

    def reachable(self, source: Process, target: Process) -> bool:
        """True if a request and its answer would get through now."""
