"""The counterexample of any model of clients as a trace."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.clients.commits import CommitsState
from kreplica.engine.explorer.models.clients.retries import RetriesState
from kreplica.engine.explorer.models.clients.traces import commits, producers, transactions
from kreplica.engine.explorer.models.clients.transactions import TransactionsState
from kreplica.engine.trace import Event


def events_of(initial: State, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    if isinstance(initial, RetriesState):
        return producers.events_of(initial, steps)
    if isinstance(initial, CommitsState):
        return commits.events_of(initial, steps)
    assert isinstance(initial, TransactionsState)
    return transactions.events_of(initial, steps)
