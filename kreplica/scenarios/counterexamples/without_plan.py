"""Reasons for which a counterexample is not played as a plan of faults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kreplica.engine.explorer import catalogue
from kreplica.engine.explorer.catalogue import ABOUT

if TYPE_CHECKING:
    from kreplica.engine.explorer.proof import Proof

GOAL = "a goal is broken if a state is never reached; a run ends, so it cannot show that"

_NO_RELEASE = "no release behaves like this model"
_LOSES_NOTHING = f"{_NO_RELEASE}, or the same steps lose nothing in a run"
_GUARD = "every release has the guard that this model lacks"

REASONS: Mapping[str, str] = {
    catalogue.ONE_PARTITION: f"{_LOSES_NOTHING}; a plan has at most three replicas",
    catalogue.ASYNC_ISR: (
        f"{_NO_RELEASE}: a leader that waits for another ISR counts its replicas, too (KIP-497, since 2.7); before 2.7"
        " it wrote the ISR to ZooKeeper by itself, and had no request to wait for"
    ),
    catalogue.ANSWERS: "plans of this model have two replicas, and two other brokers that fail",
    catalogue.KRAFT: (
        "the same steps lose nothing in a run, where a follower that has all of the leader's log is never too slow; a"
        " plan has at most three replicas, and writes all records together"
    ),
    catalogue.SETTINGS: f"{_LOSES_NOTHING}; a plan has three replicas, and writes all records together",
    catalogue.QUORUM: f"{_GUARD}; a run elects its controllers at once, without votes",
    catalogue.PRODUCERS: "in a run the steps come in another order; a plan has at most two records",
    catalogue.COMMITS: "in a plan the application crashes once, after one of its own steps, and starts again as before",
    catalogue.TRANSACTIONS: "in a plan one EndTxn is late, the one that commits the first transaction",
    catalogue.COORDINATOR: f"{_NO_RELEASE}; releases behave like coordinator-3.9 and -4.1",
    catalogue.GROUP: f"{_NO_RELEASE}; releases behave like consumer-group-4.1, -4.2 and -4.3",
    catalogue.MEMBERSHIP: (
        "a plan has two consumers and one fault:"
        " the heartbeat by which the first one joins is late, or its session ends"
    ),
}
"""By the subject of a model."""

GUARDED = frozenset((catalogue.COORDINATOR, catalogue.GROUP, catalogue.MEMBERSHIP))
"""Subjects of which every release has the guards that mutants lack."""

OTHERS: Mapping[str, str] = dict.fromkeys(
    ("consumer-group-4.3-mended", "settings-4.1-mended", "settings-4.3-mended"), _NO_RELEASE
)
"""By model, where the reason is another than that of its subject."""


def why_no_plan(model: str, is_goal: bool) -> str:
    """The reason for which a counterexample is not played as faults of a run.

    Args:
        model: Name of the model.
        is_goal: Whether it is of a goal.
    """
    about = ABOUT[model]
    if is_goal:
        return GOAL
    if about.mutant and about.subject in GUARDED:
        return _GUARD
    return OTHERS.get(model, REASONS[about.subject])


def reasons_of(proof: Proof, played: Collection[str]) -> dict[str, str]:
    """The reasons for which counterexamples of a proof are not played, by the invariant or goal that they break.

    Args:
        proof: The proof.
        played: Those that are played.
    """
    goals = {goal.name for goal in proof.model.goals}
    return {name: why_no_plan(proof.model.name, name in goals) for name in proof.found.broken if name not in played}
