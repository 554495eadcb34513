"""The quorum of controllers: each mutant breaks its invariant, by steps that are named here.

One step for each voter that stands, votes, wins, hears, fetches. TLC counts its states, and finds ways as short:
test_judges.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from kreplica.engine.explorer.explored import retraced
from kreplica.engine.explorer.model import Model, successors
from kreplica.engine.explorer.models.quorum.models import model_of
from kreplica.engine.explorer.models.quorum.state import QuorumBounds, QuorumState
from kreplica.engine.explorer.models.quorum.trace import events_of, seen
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.replication.quorum import grants_vote, log_is_up_to_date, quorum_leader
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.report.log_strips import log_strips

PLENTY = 2**30
ONE_EPOCH = QuorumBounds(replicas=3, log=1, last_epoch=1, records=0, stops=0, fences=0)

BREAKS = {
    # one and two stand, each with its own vote
    ("quorum-m6", "one-leader", ONE_EPOCH): ["stand", "stand", "win", "win"],
    # three votes for both
    ("quorum-m5", "one-leader", ONE_EPOCH): ["stand", "stand", "vote", "vote", "win", "win"],
    # three votes, crashes, and votes for the other one
    ("quorum-m2", "one-leader", ONE_EPOCH._replace(stops=1)): [
        *("stand", "stand", "vote", "vote", "win", "win"),
        "crash",
    ],
    # one leads by the vote of three and commits with two; three is elected in the next epoch without the record
    ("quorum-m3", "metadata-kept", ONE_EPOCH._replace(last_epoch=2)): [
        *("stand", "vote", "win", "hear", "fetch", "fetch"),
        *("stand", "vote", "win"),
    ],
    # one leads, crashes with its record on no other log, leads again and commits it alone; or two has it and leads
    ("quorum-m1", "own-epoch", QuorumBounds(3, 2, 2, 0, 1, 0)): [
        *("stand", "vote", "win", "crash"),
        *("stand", "vote", "win", "hear", "fetch", "fetch"),
    ],
}


def at(model: Model, steps: Sequence[tuple[str, tuple[int, ...]]]) -> QuorumState:
    """The state after some actions."""
    state: QuorumState = model.initial
    for name, chosen in steps:
        state = next(one.state for one in successors(model, state) if (one.action.name, one.chosen) == (name, chosen))
    return state


@pytest.mark.one_python
@pytest.mark.parametrize("case", BREAKS, ids=lambda case: f"{case[0]} {case[1]}")
def test_a_mutant_breaks_its_invariant_in_the_fewest_steps(case: tuple[str, str, QuorumBounds]) -> None:
    name, invariant, bounds = case
    model = model_of(name, bounds)
    asked = [one for one in model.invariants if one.name == invariant]
    way = search(model, asked, PLENTY).broken[invariant]
    assert len(retraced(model, way)) == len(BREAKS[case])


def test_figure_8_of_the_raft_paper_loses_what_was_committed() -> None:
    """Record 1 of the first leader is committed in its next epoch, and overwritten by the second leader's."""
    steps = [
        *(("stand", (0,)), ("vote", (1, 0)), ("win", (0,))),
        *(("stand", (1,)), ("vote", (2, 1)), ("win", (1,))),
        *(("crash", (0,)), ("stand", (0,)), ("stand", (0,)), ("vote", (2, 0)), ("win", (0,))),
        *(("hear", (2, 0)), ("fetch", (2,)), ("fetch-unanswered", (2,))),
        *(("hear", (1, 0)), ("stand", (1,)), ("vote", (2, 1)), ("win", (1,))),
    ]
    for name, broken in (("quorum-m1", ["metadata-kept", "own-epoch"]), ("quorum", [])):
        model = model_of(name, QuorumBounds(3, 2, 4, 0, 1, 0))
        state = at(model, steps)
        assert [one.name for one in model.invariants if not one.holds(state)] == broken


def test_a_leader_that_was_replaced_and_has_not_heard_of_it_breaks_nothing() -> None:
    """The one of epoch 2 commits a record and crashes; the one of epoch 1 has never heard of it."""
    steps = [
        *(("stand", (0,)), ("vote", (1, 0)), ("stand", (1,)), ("vote", (2, 1)), ("win", (0,)), ("win", (1,))),
        *(("hear", (2, 1)), ("fetch", (2,)), ("fetch", (2,)), ("crash", (1,))),
    ]
    model = model_of("quorum", QuorumBounds(3, 2, 2, 0, 1, 0))
    state = at(model, steps)
    assert (state.role[0], state.epoch[0], state.committed[0]) == (2, 1, 2)
    assert [one.name for one in model.invariants if not one.holds(state)] == []


def settles(name: str) -> bool:
    """Whether one voter leads in the end, from every state with a leader that no other has heard of yet."""
    model = model_of(name, QuorumBounds(3, 2, 2, 0, 0, 1))
    begun = replace(model, initial=at(model, [("stand", (0,)), ("vote", (1, 0)), ("vote", (2, 0)), ("win", (0,))]))
    found = search(begun, [], PLENTY, goals=begun.goals)
    assert found.complete
    if found.broken:
        last = found.broken["leader-settles"][-1]
        assert (last.cut_off, last.role[0]) == ([0], 2)
    return not found.broken


@pytest.mark.one_python
@pytest.mark.parametrize(("name", "wanted"), [("quorum", True), ("quorum-m4", False)])
def test_a_leader_that_is_cut_off_resigns(name: str, wanted: bool) -> None:
    assert settles(name) == wanted


def test_the_events_of_a_way_make_its_logs() -> None:
    model = model_of("quorum", QuorumBounds(3, 2, 2, 0, 1, 0))
    ways = (
        *(("stand", (0,)), ("vote", (1, 0)), ("win", (0,)), ("hear", (1, 0)), ("fetch", (1,)), ("fetch", (1,))),
        *(("crash", (0,)), ("stand", (1,)), ("vote", (0, 1)), ("win", (1,))),
    )
    state, steps = model.initial, []
    for name, chosen in ways:
        found = (one for one in successors(model, state) if (one.action.name, one.chosen) == (name, chosen))
        steps.append(next(found))
        state = steps[-1].state
    strips = {strip.node: strip for strip in log_strips(events_of(model.initial, steps))}
    logs = {
        node: [(piece.epoch, value) for piece in strip.pieces for value in piece.values]
        for node, strip in strips.items()
    }
    assert logs == {"controller-1": [(1, "m1")], "controller-2": [(1, "m1"), (2, "m2")]}
    assert seen(state).true_leader == [1]


def test_votes_go_to_logs_that_are_not_behind_and_to_one_candidate_an_epoch() -> None:
    """QuorumState.canGrantVote and KafkaRaftClient.handleVoteRequest, case by case."""
    assert not grants_vote(1, 3, 4, NO_LEADER, NO_LEADER, True)  # an older epoch
    assert grants_vote(1, 5, 4, 2, 2, True)  # a later epoch: vote and leader of the old one are forgotten
    assert not grants_vote(1, 5, 4, NO_LEADER, NO_LEADER, False)
    assert grants_vote(1, 4, 4, NO_LEADER, NO_LEADER, True)
    assert not grants_vote(1, 4, 4, NO_LEADER, NO_LEADER, False)
    assert grants_vote(1, 4, 4, 1, NO_LEADER, False)  # asked once more
    assert not grants_vote(1, 4, 4, 2, NO_LEADER, True)
    assert not grants_vote(1, 4, 4, NO_LEADER, 2, True)  # it knows the leader


def test_a_majority_elects_whose_log_is_behind_none() -> None:
    """The election by omniscience picks a voter that each of the others would vote for."""
    logs = [(0, 0), (1, 1), (1, 2), (2, 1), (2, 3)]
    for chosen in product(logs, repeat=3):
        leader = quorum_leader([epoch for epoch, _ in chosen], [end for _, end in chosen], everybody(3))
        assert all(log_is_up_to_date(*chosen[leader], *other) for other in chosen)
