"""Counterexamples of consumers that commit, as traces: one application of a group, and the group's coordinator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.clients.commits import CommitsState
from kreplica.engine.explorer.models.clients.traces.change import Change
from kreplica.engine.explorer.models.one_partition.trace import events_between
from kreplica.engine.trace import Event, Kind

CONSUMER, COORDINATOR, GROUP, ORDERS = "consumer-a", "broker-3", "billing", "orders-0"
"""The application, the coordinator of its group, and the partition that it reads."""


def events_of(initial: CommitsState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _Commits)


class _Commits(Change):
    """An action of the application."""

    before: CommitsState
    after: CommitsState

    def events(self) -> Iterator[Event]:
        """The events, in order: of the application, and its commit."""
        if self.name == "poll":
            at = self.before.position[0]
            yield self.event(Kind.CONSUMED, CONSUMER, ORDERS, at, f"m{at + 1}", GROUP)
        elif self.name == "process":
            at = self.chosen[0]
            yield self.event(Kind.PROCESSED, CONSUMER, ORDERS, at, f"m{at + 1}", GROUP, "done")
        elif self.name == "crash":
            yield self.event(Kind.CRASHED, CONSUMER, False)
            yield self.event(Kind.STARTED, CONSUMER)
        if self.after.committed != self.before.committed:
            yield self.message(COORDINATOR, CONSUMER, "OffsetCommit")
            yield self.event(Kind.OFFSET_COMMITTED, COORDINATOR, GROUP, ORDERS, self.after.committed[0], "")
