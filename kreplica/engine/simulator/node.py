"""A process: it can be killed, paused and restarted. Its planned calls end with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.environment import Link, OpenCall
from kreplica.engine.trace import Kind


class Node:
    """A process of the simulated world.

    Args:
        cluster: Its cluster, with the clock, the trace and the transport.
        name: Its name in the trace.

    ``incarnation`` counts the starts of the process: timers and answers of an earlier run are ignored. While ``paused``
    its events wait in ``backlog``. Until it ``listens`` nobody can connect to it.
    """

    __slots__ = (
        "backlog",
        "clock",
        "cluster",
        "incarnation",
        "links",
        "listens",
        "name",
        "open_calls",
        "paused",
        "trace",
        "up",
    )

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.clock = cluster.clock
        self.trace = cluster.trace
        self.name = name
        self.incarnation = 0
        self.up = False
        self.listens = True
        self.paused = False
        self.backlog: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self.links: dict[str, Link] = {}
        self.open_calls: dict[int, OpenCall] = {}

    def emit(self, kind: str, *values: Any) -> None:
        """Writes an event of this node into the trace."""
        self.trace.emit(self.clock.now, kind, self.name, values)

    def after(self, delay: int, function: Callable[..., object], *arguments: Any) -> None:
        """Calls a function ``delay`` microseconds from now, unless this process ends before."""
        clock = self.clock
        clock.at(clock.now + delay, self._fire, self.incarnation, function, arguments)

    def start(self) -> None:
        """Starts the process; ``on_start`` is the process's own part."""
        if self.up:
            return
        self.up = True
        self.incarnation += 1
        self.emit(Kind.STARTED)
        self.on_start()

    def kill(self, power: bool = False) -> None:
        """Ends the process at once: callers that wait for an answer learn that the connection is gone."""
        if not self.up:
            return
        self._end()
        self.emit(Kind.CRASHED, power)
        self.on_end()

    def stop(self) -> None:
        """Stops the process cleanly; processes with work to do before override it."""
        if not self.up:
            return
        self._end()
        self.emit(Kind.STOPPED)
        self.on_end()

    def pause(self) -> None:
        """Pauses until ``resume``."""
        if self.up and not self.paused:
            self.paused = True
            self.emit(Kind.PAUSED)

    def resume(self) -> None:
        """Resumes: all waiting events happen now, in their order."""
        if not self.paused:
            return
        self.paused = False
        self.emit(Kind.RESUMED)
        waiting, self.backlog = self.backlog, []
        for function, arguments in waiting:
            self.clock.at(self.clock.now, function, *arguments)

    def on_start(self) -> None:
        """Does the first work of the process."""

    def on_end(self) -> None:
        """Forgets the state that does not outlive the process."""

    def _end(self) -> None:
        self.up = False
        self.paused = False
        self.incarnation += 1
        self.backlog = []
        calls, self.open_calls = self.open_calls, {}
        for call in calls.values():
            call.disconnect()

    def _fire(self, incarnation: int, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        if incarnation != self.incarnation:
            return
        if self.paused:
            self.backlog.append((self._fire, (incarnation, function, arguments)))
            return
        function(*arguments)
