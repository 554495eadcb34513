"""Requests and answers between processes, with latency, loss and cuts. A link keeps its order, as a connection does.

A process that is down breaks the connection: the caller notices one latency later. What was on its way to a process
that ends is lost with the connection, and does not reach the process that is started in its place: the caller notices
one latency after it would have arrived. A cut or lossy link drops the message: the caller notices nothing until its
timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

from kreplica.engine.simulator.environment import (
    DISCONNECTED,
    REQUEST_TIMEOUT,
    TIMED_OUT,
    Clock,
    Failure,
    Link,
    Process,
)
from kreplica.engine.simulator.refusals import Refusal
from kreplica.engine.simulator.scheduler import Pending, RandomStreams
from kreplica.engine.trace import Kind


class Request(NamedTuple):
    """A request, and the handling of its answer: see ``Network.call``."""

    name: str
    handler: Callable[..., object]
    arguments: tuple[Any, ...]
    on_reply: Callable[..., object] | None
    on_failure: Failure | None


class Call:
    """One request in flight, at its target, or answered.

    ``held`` is the time by which it arrives later than its link would have it. ``reaches`` is the run of the target
    that the connection is to: the present one, or the next one while the target is down.
    """

    __slots__ = (
        "arguments",
        "deadline",
        "done",
        "handler",
        "held",
        "id",
        "incarnation",
        "name",
        "network",
        "on_failure",
        "on_reply",
        "reaches",
        "sent",
        "source",
        "target",
    )

    def __init__(self, network: Network, ends: tuple[Process, Process], request: Request, deadline: int) -> None:
        network.calls += 1
        self.network = network
        self.id = network.calls
        self.source, self.target = ends
        self.name, self.handler, self.arguments, self.on_reply, self.on_failure = request
        self.deadline = deadline
        self.held = 0
        self.incarnation = self.source.incarnation
        self.reaches = self.target.incarnation + (not self.target.up)
        self.sent = network.clock.now
        self.done = False

    def reply(self, *values: Any) -> None:
        """Answers the request; a second answer, or one after the process's end, is ignored."""
        if self.target.open_calls.pop(self.id, None) is not None:
            self.network.send_back(self, values)

    def disconnect(self) -> None:
        """Tells the caller that the target is gone."""
        clock = self.network.clock
        clock.at(clock.now + self.network.latency, self.fail, DISCONNECTED)

    def fail(self, reason: str) -> None:
        """Ends the call without an answer, once."""
        source = self.source
        if self.done or self.incarnation != source.incarnation:
            return
        if source.paused:
            source.backlog.append((self.fail, (reason,)))
            return
        self.done = True
        self.target.open_calls.pop(self.id, None)
        if reason == TIMED_OUT:  # the caller closes the connection: its new requests overtake the old ones
            self.network.link(source, self.target).last_arrival = 0
        if self.on_failure is not None:
            self.on_failure(reason)


class Network:
    """All links of a world.

    Args:
        clock: The run's.
        streams: The run's; jitter and losses each have one.
        latency: One way, in microseconds.
        jitter: Largest random addition, in microseconds.
    """

    __slots__ = ("_chance", "_losses", "calls", "clock", "jitter", "latency", "refusals")

    def __init__(self, clock: Clock, streams: RandomStreams, latency: int, jitter: int) -> None:
        self.clock = clock
        self.latency = latency
        self.jitter = jitter
        self._chance: Random = streams.stream("network")
        self._losses: Random = streams.stream("losses")
        self.calls = 0
        self.refusals: list[Refusal] = []

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
    ) -> Call:
        """Sends a request: see ``environment.Transport``."""
        request = Request(name, handler, arguments, on_reply, on_failure)
        call = Call(self, (source, target), request, self.clock.now + timeout)
        link = self.link(source, target)
        if link.cuts or (link.loss and self._losses.randrange(100) < link.loss):
            self._lose(source, target, call)
        else:
            self.clock.at(self._arrival(link, call), self._deliver, call)
        return call

    def link(self, source: Process, target: Process) -> Link:
        """The direction from one process to another; a process also reaches itself by one."""
        link = source.links.get(target.name)
        if link is None:
            link = source.links[target.name] = Link(source.name, target.name)
        return link

    def reachable(self, source: Process, target: Process) -> bool:
        """True if a request and its answer would get through now."""
        return target.up and not self.link(source, target).cuts and not self.link(target, source).cuts

    def send_back(self, call: Call, values: tuple[Any, ...]) -> None:
        """Sends an answer."""
        if call.on_reply is None:
            return
        link = self.link(call.target, call.source)
        if link.cuts or (link.loss and self._losses.randrange(100) < link.loss):
            self._lose(call.target, call.source, call)
        else:
            self.clock.at(self._arrival(link, call), self._return, call, values, self.clock.now)

    def _arrival(self, link: Link, call: Call) -> int:
        """The arrival time of a message sent now: never before one that was sent earlier.

        One that takes longer than the caller's timeout arrives all the same: see ``Call.fail``.
        """
        arrival = self.clock.now + self.latency + link.delay
        if link.source == link.target:
            arrival = self.clock.now
        elif self.jitter:
            arrival += self._chance.randrange(self.jitter + 1)
        arrival = max(arrival, link.last_arrival)
        link.last_arrival = arrival
        if arrival > call.deadline:
            self.clock.at(call.deadline, call.fail, TIMED_OUT)
        return arrival

    def _lose(self, source: Process, target: Process, call: Call) -> None:
        source.emit(Kind.DROPPED, target.name, call.name, "the link is down")
        self.clock.at(call.deadline, call.fail, TIMED_OUT)

    def break_connections(self, pending: Iterable[Pending], one: Process, other: Process, delay: int) -> None:
        """Breaks the connections between two processes.

        Args:
            pending: The calls that the clock is about to make.
            one, other: The processes.
            delay: Time by which requests under way arrive later, in microseconds.
        """
        directions = ((one, other), (other, one))
        under_way, waiting = self._calls_of(pending), (*one.open_calls.values(), *other.open_calls.values())
        calls = {call.id: call for call in (*under_way, *waiting) if isinstance(call, Call)}
        between = [call for _, call in sorted(calls.items()) if (call.source, call.target) in directions]
        for call in between:
            if call.id not in call.target.open_calls:
                call.held += delay
        self.link(one, other).last_arrival = self.link(other, one).last_arrival = 0
        for call in between:
            call.fail(DISCONNECTED)

    def _calls_of(self, pending: Iterable[Pending]) -> list[Call]:
        """The requests that are under way, answered, or lost and not given up yet; those that may time out twice."""
        found = []
        for function, arguments in pending:
            owner = getattr(function, "__self__", None)
            if owner is self and arguments and isinstance(arguments[0], Call):
                found.append(arguments[0])
            elif isinstance(owner, Call):
                found.append(owner)
        return found

    def _deliver(self, call: Call) -> None:
        if call.held:
            held, call.held = call.held, 0
            self.clock.at(self.clock.now + held, self._deliver, call)
            return
        target = call.target
        # a connection ends with its process, and what was sent on it: see NetworkClient.processDisconnection
        if not (target.up and target.listens) or target.incarnation != call.reaches:
            call.disconnect()
            return
        if target.paused:
            target.backlog.append((self._deliver, (call,)))
            target.open_calls[call.id] = call  # it is told of the process's end
            self.clock.at(call.deadline, call.fail, TIMED_OUT)
            return
        if call.done:  # it timed out while the target was paused: the request is handled all the same
            call.on_reply = None
        target.emit(Kind.MESSAGE, call.source.name, call.sent, call.name, call.arguments)
        target.open_calls[call.id] = call
        if self.refusals and (answer := self._refusal(call)) is not None:
            call.reply(*answer)
        else:
            call.handler(*call.arguments, call.reply)

    def _refusal(self, call: Call) -> tuple[Any, ...] | None:
        """The answer to a request that the plan has refused; None if it has not."""
        for refusal in self.refusals:
            if refusal.takes(call.source.name, call.target.name, call.name):
                if refusal.is_used_up:
                    self.refusals.remove(refusal)
                return refusal.answer(call.arguments)
        return None

    def _return(self, call: Call, values: tuple[Any, ...], sent: int) -> None:
        source = call.source
        if call.done or call.incarnation != source.incarnation:
            return
        if source.paused:
            source.backlog.append((self._return, (call, values, sent)))
            self.clock.at(call.deadline, call.fail, TIMED_OUT)
            return
        call.done = True
        source.emit(Kind.MESSAGE, call.target.name, sent, call.name + " answer", values)
        if call.on_reply is not None:
            call.on_reply(*values)
