"""Counterexamples of the models of clients, played: a run with the same events, and what keeps it from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kreplica.engine.checkers.groups.processing import processing_outcomes
from kreplica.engine.checkers.transactions import transaction_outcomes
from kreplica.engine.explorer import catalogue
from kreplica.engine.explorer.catalogue import ABOUT
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.clients.trace import events_of
from kreplica.engine.plans.file import PlanFile
from kreplica.engine.setup import KAFKAS_OWN
from kreplica.engine.trace import LEADER, Event, Kind, text_of
from kreplica.scenarios import scenario_named
from kreplica.scenarios.counterexamples.clients import commits, producers, transactions
from kreplica.scenarios.counterexamples.replay import Replay
from kreplica.scenarios.playing import Run, play_file

Moment = tuple[str, str, tuple[object, ...]]
"""Kind, node and values of an event."""
HARMS: Mapping[str, Callable[[Run], Sequence[str]]] = {
    "no-duplicate": lambda run: run.outcome.histories.duplicated,
    "in-order": lambda run: run.outcome.histories.reordered,
    "ends-as-asked": lambda run: transaction_outcomes(run.events).broken,
    "not-half-visible": lambda run: transaction_outcomes(run.events).torn,
    "nothing-skipped": lambda run: processing_outcomes(run.events).passed_over,
    "processed-once": lambda run: processing_outcomes(run.events).processed_twice,
    "commit-behind": lambda run: processing_outcomes(run.events).committed_early,
}
"""For each invariant what a run comes to that breaks it."""
PLANS: Mapping[str, Callable[[Model, Sequence[Taken]], PlanFile | None]] = {
    catalogue.PRODUCERS: producers.producer_plan,
    catalogue.TRANSACTIONS: transactions.transaction_plan,
    catalogue.COMMITS: commits.commit_plan,
}
"""By subject of a model, the plan of a counterexample."""
MENDS: Mapping[str, Mapping[str, str]] = {**producers.MENDS, **transactions.MENDS}
WHERE: Mapping[str, str] = {
    catalogue.PRODUCERS: "brokers 1 to 3; broker 1 leads",
    catalogue.TRANSACTIONS: "broker 1 coordinates, broker 2 leads debit, broker 3 credit",
    catalogue.COMMITS: "broker 1 leads, broker 3 coordinates the group",
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
    file = PLANS[subject](model, steps)
    run = None if file is None else play_file(scenario_named(file.scenario), file)
    if file is None or run is None or not HARMS[invariant](run):
        return None
    wanted = story(model, events_of(model.initial, steps))
    if story(model, run.events)[: len(wanted)] != wanted:
        return None
    found = _kept(model, invariant, file, run)
    return None if HARMS[invariant](found.mended) else found


def _kept(model: Model, invariant: str, file: PlanFile, run: Run) -> Replay:
    """The run beside one in which the invariant is to be kept, by a setting or another application."""
    subject = ABOUT[model.name].subject
    if subject == catalogue.COMMITS:
        other, words = commits.kept_by(model.name, invariant, file)
        return Replay(file, run, play_file(scenario_named(other.scenario), other), WHERE[subject], otherwise=[words])
    mends = MENDS[invariant]
    return Replay(file, run, play_file(scenario_named(file.scenario), file, others=mends), WHERE[subject], mends)


def story(model: Model, events: Iterable[Event]) -> list[Moment]:
    """Moments of clients and of what leaders wrote, in order: a counterexample and its run have the same.

    Commits are among them where an application makes them: with enable.auto.commit a poll without records makes more.

    Args:
        model: The model.
        events: Of the counterexample, or of its run.
    """
    if ABOUT[model.name].subject == catalogue.COMMITS:
        return list(_processing(events, by_hand=model.name in commits.BY_HAND))
    return [moment for event in events if (moment := _moment(event)) is not None]


def _processing(events: Iterable[Event], by_hand: bool) -> Iterator[Moment]:
    committed = 0
    for event in events:
        if event.kind in (Kind.CONSUMED, Kind.PROCESSED, Kind.CRASHED):
            yield event.kind, event.node, event.values
        elif event.kind == Kind.OFFSET_COMMITTED and by_hand and event.values[2] > committed:
            committed = event.values[2]
            yield event.kind, event.node, event.values[:3]


def _moment(event: Event) -> Moment | None:
    if event.kind in (Kind.SENT, Kind.RETRIED, Kind.ACKNOWLEDGED, Kind.TRANSACTION_ENDED):
        return event.kind, event.node, event.values
    if event.kind == Kind.APPENDED and event.values[-1] == LEADER and not event.values[0].startswith(KAFKAS_OWN):
        partition, base, end, records, _ = event.values
        return event.kind, event.node, (partition, base, end, *map(text_of, records))
    return None
