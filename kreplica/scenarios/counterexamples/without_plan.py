"""Reasons for which a counterexample has no plan: what a run has no fault for, or no release does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kreplica.engine.explorer import catalogue
from kreplica.engine.explorer.catalogue import ABOUT

if TYPE_CHECKING:
    from kreplica.engine.explorer.proof import Proof

_CLIENTS = "plans have faults of brokers, links and requests; what these clients do, and when, is none of them"
_NO_RELEASE = "no release is like the model, or its steps lose nothing as faults of a run"

GOAL = "a goal is of what never comes about; a run ends"
REASONS: Mapping[str, str] = {
    catalogue.ONE_PARTITION: f"{_NO_RELEASE}; plans have up to three replicas",
    catalogue.ASYNC_ISR: "no release counts the high watermark with the known ISR alone",
    catalogue.ANSWERS: "the scenario has two replicas, and two brokers that die",
    catalogue.KRAFT: (
        "its steps lose nothing as faults of a run, where nobody is too slow who has all of the leader's log; plans"
        " have up to three replicas, and write all records together"
    ),
    catalogue.SETTINGS: f"{_NO_RELEASE}; plans have three replicas, and write all records together",
    catalogue.QUORUM: "no release lacks the guard, and a run elects its controllers at once, without votes",
    catalogue.PRODUCERS: "as faults of a run its steps come in another order; plans have up to two records",
    catalogue.COMMITS: "in plans the application crashes once, when it has done something, and goes on as it began",
    catalogue.TRANSACTIONS: "in plans one EndTxn is late, of the first transaction, and that is committed",
    catalogue.COORDINATOR: _CLIENTS,
    catalogue.GROUP: _CLIENTS,
    catalogue.MEMBERSHIP: _CLIENTS,
}
"""By the subject of a model."""


def why_no_plan(model: str, is_goal: bool) -> str:
    """The reason for which a counterexample is not played as faults of a run.

    Args:
        model: Name of the model.
        is_goal: Whether it is of a goal.
    """
    return GOAL if is_goal else REASONS[ABOUT[model].subject]


def reasons_of(proof: Proof, played: Collection[str]) -> dict[str, str]:
    """The reasons for which counterexamples of a proof are not played, by the invariant or goal that they break.

    Args:
        proof: The proof.
        played: Those that are played.
    """
    goals = {goal.name for goal in proof.model.goals}
    return {name: why_no_plan(proof.model.name, name in goals) for name in proof.found.broken if name not in played}
