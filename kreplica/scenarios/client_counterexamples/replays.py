"""Counterexamples of the models of clients, played: a run with the same events, and what keeps it from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kreplica.engine.checkers.transactions import transaction_outcomes
from kreplica.engine.explorer import catalogue
from kreplica.engine.explorer.catalogue import ABOUT
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.trace import events_of
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.setup import KAFKAS_OWN
from kreplica.engine.trace import LEADER, Event, Kind, text_of
from kreplica.scenarios import scenario_named
from kreplica.scenarios.client_counterexamples import producers, transactions
from kreplica.scenarios.playing import Run, play_file
from kreplica.scenarios.replay import Replay

Moment = tuple[str, str, tuple[object, ...]]
"""Kind, node and values of an event."""
HARMS: Mapping[str, Callable[[Run], Sequence[str]]] = {
    "no-duplicate": lambda run: run.outcome.histories.duplicated,
    "in-order": lambda run: run.outcome.histories.reordered,
    "ends-as-asked": lambda run: transaction_outcomes(run.events).broken,
    "not-half-visible": lambda run: transaction_outcomes(run.events).torn,
}
"""For each invariant what a run comes to that breaks it."""
PLANS: Mapping[str, Callable[[Model, Sequence[Taken]], PlanFile | None]] = {
    catalogue.PRODUCERS: producers.producer_plan,
    catalogue.TRANSACTIONS: transactions.transaction_plan,
}
"""By subject of a model, the plan of a counterexample."""
MENDS: Mapping[str, Mapping[str, str]] = {**producers.MENDS, **transactions.MENDS}
WHERE: Mapping[str, str] = {
    catalogue.PRODUCERS: "brokers 1 to 3; broker 1 leads",
    catalogue.TRANSACTIONS: "broker 1 coordinates, broker 2 leads debit, broker 3 credit",
}
"""The clusters in words."""


def replay_of_clients(model: Model, invariant: str, steps: Sequence[Taken]) -> Replay | None:
    """The plan of a counterexample, and what it comes to; None if a run has no such events, or nothing mends it.

    Args:
        model: One of the models of clients.
        invariant: Name of the invariant that the steps lead to a breach of.
        steps: The counterexample.
    """
    subject = ABOUT[model.name].subject
    file = PLANS[subject](model, steps) if subject in PLANS else None
    run = None if file is None else _played(file, invariant, story(events_of(model.initial, steps)))
    if file is None or run is None:
        return None
    mends = MENDS[invariant]
    mended = play_file(scenario_named(file.scenario), file, others=mends)
    return None if HARMS[invariant](mended) else Replay(file, run, mended, WHERE[subject], mends)


def _played(file: PlanFile, invariant: str, wanted: Sequence[Moment]) -> Run | None:
    """A run of the plan; None if it has not begun as the counterexample goes, or breaks nothing."""
    run = play_file(scenario_named(file.scenario), file)
    same = story(run.events)[: len(wanted)] == list(wanted)
    return run if same and HARMS[invariant](run) else None


def story(events: Iterable[Event]) -> list[Moment]:
    """Moments of clients and of what leaders wrote, in order: a counterexample and its run have the same."""
    return [moment for event in events if (moment := _moment(event)) is not None]


def _moment(event: Event) -> Moment | None:
    if event.kind in (Kind.SENT, Kind.RETRIED, Kind.ACKNOWLEDGED, Kind.TRANSACTION_ENDED):
        return event.kind, event.node, event.values
    if event.kind == Kind.APPENDED and event.values[-1] == LEADER and not event.values[0].startswith(KAFKAS_OWN):
        partition, base, end, records, _ = event.values
        return event.kind, event.node, (partition, base, end, *map(text_of, records))
    return None
