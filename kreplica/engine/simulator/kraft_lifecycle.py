"""How a broker tells a KRaft controller of its life: it registers, sends heartbeats, and asks to be let go.

kafka.server.BrokerLifecycleManager, since 2.8: one request at a time, and a time for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kreplica.engine.rules.broker_registration import SHUTDOWN_PATIENCE_MS, heartbeat_wait, resend_wait
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.setup import MILLISECOND

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker import Broker
    from kreplica.engine.simulator.link_kraft import KraftLink

RETRY_AFTER = 50 * MILLISECOND
"""Until a request that failed is sent again: what kafka.server.DefaultAlterPartitionManager waits."""


class KraftLifecycle:
    """A broker's side of its registration.

    ``_running`` is whether the broker has been unfenced in this life, ``_at_once`` whether something is to be told as
    soon as the answer under way has come, ``_due`` the number of the timer that counts: a later one replaces it.
    """

    __slots__ = (
        "_at_once",
        "_due",
        "_failures",
        "_in_flight",
        "_link",
        "_previous_epoch",
        "_registered",
        "_running",
        "_then_stop",
        "_told_to_wait",
    )

    def __init__(self, link: KraftLink) -> None:
        self._link = link
        self._previous_epoch = -1
        self.ended()

    def ended(self) -> None:
        """The broker's process is gone."""
        self._at_once = self._in_flight = self._registered = self._running = self._told_to_wait = False
        self._due = self._failures = 0
        self._then_stop: Callable[[], None] | None = None

    @property
    def _broker(self) -> Broker:
        return self._link.broker

    def begin(self, clean: bool) -> None:
        """Registers; heartbeats follow. ``clean`` says whether the life before ended cleanly."""
        if not clean:
            self._previous_epoch = -1
        self._communicate()

    def begin_controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Asks to be let go, and goes when it is, or when its patience is at an end.

        A broker that has not been unfenced yet leads nothing, and goes at once.
        """
        if not self._running:
            then()
            return
        self._then_stop = then
        self._broker.after(SHUTDOWN_PATIENCE_MS * MILLISECOND, then)
        self._communicate()

    # -- when

    def _communicate(self) -> None:
        if self._in_flight:
            self._at_once = True
            return
        self._in_flight = True
        self._send()

    def _send(self) -> None:
        if self._registered:
            self._heartbeat()
        else:
            self._register()

    def _next_in(self, wait_ms: int) -> None:
        wait = 0 if self._at_once else wait_ms * MILLISECOND
        self._at_once = False
        self._due += 1
        self._broker.after(wait, self._is_due, self._due)

    def _is_due(self, number: int) -> None:
        if number == self._due:
            self._communicate()

    def _succeeded(self, wait_ms: int) -> None:
        self._in_flight, self._failures = False, 0
        self._next_in(wait_ms)

    def _refused(self, error: int) -> None:
        if error == ErrorCode.NOT_CONTROLLER:
            self._not_sent("")
            return
        wait = resend_wait(self._failures, self._broker.integer("broker.session.timeout.ms"))
        self._in_flight = self._at_once = False
        self._failures += 1
        self._next_in(wait)

    def _not_sent(self, _reason: str) -> None:
        self._broker.after(RETRY_AFTER, self._send)

    # -- what

    def _register(self) -> None:
        broker = self._broker

        def answered(error: int, epoch: int, _offset: int) -> None:
            if error:
                self._refused(error)
                return
            self._previous_epoch = broker.broker_epoch = epoch
            self._registered = True
            self._succeeded(0)

        self._link.call(
            "BrokerRegistration",
            lambda controller: controller.brokers.register,
            (broker.id, broker.incarnation, self._previous_epoch),
            answered,
            self._not_sent,
        )

    def _heartbeat(self) -> None:
        broker, wants_shutdown = self._broker, self._then_stop is not None

        def answered(error: int, fenced: bool, stops: bool) -> None:
            if error:
                self._refused(error)
            elif stops and self._then_stop is not None:
                self._then_stop()
            else:
                self._told(fenced)

        self._link.call(
            "BrokerHeartbeat",
            lambda controller: controller.brokers.heartbeat,
            (broker.id, broker.broker_epoch, self._link.metadata_offset, False, wants_shutdown),
            answered,
            self._not_sent,
        )

    def _told(self, fenced: bool) -> None:
        """An answer that does not let it go."""
        self._running = self._running or not fenced
        wants_shutdown, interval = self._then_stop is not None, self._broker.integer("broker.heartbeat.interval.ms")
        wait = heartbeat_wait(self._running, wants_shutdown, self._told_to_wait, interval)
        self._told_to_wait = self._told_to_wait or wants_shutdown
        self._succeeded(wait)
