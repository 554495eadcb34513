"""Session of one run of moves: the cluster, the plan, its journal and the options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kreplica.execution.moves.clock import MACHINE_CLOCK, Clock
from kreplica.execution.moves.cluster import MoveCluster
from kreplica.execution.moves.plans.journal import Entry
from kreplica.execution.moves.plans.progress import MoveProgress
from kreplica.execution.moves.throttles.rate_changes import RateRequest, Throttle, nobody_asks

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.plan import ReplicaPlan


class Journal(Protocol):
    """Record of what a run intends and of what became of it."""

    def append(self, entry: Entry) -> None:
        """Notes an entry; it is kept when this returns."""


def _never() -> bool:
    return False


def _say_nothing(_: str) -> None:
    """Takes what is told where nobody listens."""


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Options of a run.

    Args:
        throttle: Bytes a second for each broker, or the bounds of an automatic rate; None for no throttle.
        max_wait: Seconds without progress, or with the cluster worse than before, after which the run stops.
        poll: Seconds between two looks at the cluster.
        stopping: Tells whether nothing more is to begin; what is in flight then finishes.
        tell: Called with each event, as one clause.
        clock: Time as the run counts and spends it.
        through_controllers: Whether throttles of brokers that are down are put back by the KRaft controllers' own
            listener, unread, instead of when they are back.
        asked_rate: Gives a rate that somebody asks for meanwhile; None where nobody does.
    """

    throttle: Throttle = None
    max_wait: float = 600.0
    poll: float = 1.0
    stopping: Callable[[], bool] = _never
    tell: Callable[[str], None] = _say_nothing
    clock: Clock = MACHINE_CLOCK
    through_controllers: bool = False
    asked_rate: Callable[[], RateRequest | None] = nobody_asks


@dataclass(frozen=True, slots=True)
class MoveSession:
    """Cluster, plan and journal of one run."""

    cluster: MoveCluster
    plan: ReplicaPlan
    progress: MoveProgress
    journal: Journal
    options: MoveOptions
