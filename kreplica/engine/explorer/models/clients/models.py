"""The models of clients by their names, and their states as those of a partition with one broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.explorer.models.clients.commits import Commits, CommitsState, commits_model
from kreplica.engine.explorer.models.clients.retries import FIVE, ONE, RetriesState, length, retries_model
from kreplica.engine.explorer.models.clients.transactions import transactions_model
from kreplica.engine.explorer.models.one_partition.state import PartitionState

MOST_RECORDS = MOST_FAULTS = 3
"""Within these bounds plain Python has every state in a few seconds: these models are not compiled."""

TABLES: dict[str, Callable[[str, ClientBounds], Model]] = {
    "retries": partial(retries_model, in_flight=FIVE, idempotent=False),
    "retries-one": partial(retries_model, in_flight=ONE, idempotent=False),
    "retries-idempotent": partial(retries_model, in_flight=FIVE, idempotent=True),
    "commit-before": partial(commits_model, commits=Commits.BEFORE),
    "commit-after": partial(commits_model, commits=Commits.AFTER),
    "commit-auto": partial(commits_model, commits=Commits.AUTO),
    "commit-handed-over": partial(commits_model, commits=Commits.HANDED_OVER),
    "end-txn-1": partial(transactions_model, version=1),
    "end-txn-2": partial(transactions_model, version=2),
}
"""The function that builds each model, by its name."""


def model_of(name: str, bounds: ClientBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    return TABLES[name](name, bounds)


def seen(state: State) -> PartitionState:
    """A state as that of a partition: its log, and as high watermark what a consumer has committed."""
    log = _log(state)
    return PartitionState(
        records=[1 + record for record in log] or [0],
        high_watermark=[state.committed[0] if isinstance(state, CommitsState) else len(log)],
        epoch=[0],
        leader=[0],
        isr=[1],
        written=[len(log)],
        begun=[1],
        true_leader=[0],
        true_isr=[1],
        sent_leader=[0],
        sent_isr=[1],
    )


def _log(state: State) -> Sequence[int]:
    """The records of the log, in order: all that are there to consume, or what was written."""
    if isinstance(state, CommitsState):
        return range(len(state.times))
    if isinstance(state, RetriesState):
        return [record - 1 for record in state.log[: length(state.log)]]
    return [place for place, fate in enumerate(state.fates) if fate != 0]
