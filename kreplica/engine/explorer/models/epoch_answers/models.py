"""Models of requests of followers that are under way while leader epochs begin: KAFKA-7786.

One leader leads throughout; each time another broker dies, the controller begins its next leader epoch. Brokers hear of
each epoch in order, at any time. A follower has one request under way: it asks where its last leader epoch ends when it
begins to follow anew, and fetches from then on.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Goal, Healing, Invariant, Model
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import ANY_EPOCH, answer_counts, leader_epoch_error, stops_fetching
from kreplica.engine.rules.replication.leader_and_isr import makes_follower
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

LEADER = 0
MOST_REPLICAS, MOST_EPOCH = 3, 4
"""Within these bounds plain Python has every state in a few seconds: these models are not compiled."""

TABLES = {f"epoch-answers-{release}": version_named(release) for release in ("2.0.1", "2.1", "2.1.1")}
"""The release of each model."""


class AnswersBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        replicas: The leader and its followers.
        last_epoch: The largest leader epoch, counted from 0.
    """

    replicas: int
    last_epoch: int


class Stage(IntEnum):
    """Work of a follower."""

    ASKS = 0
    """It has to learn where its last leader epoch ends."""
    FETCHES = 1
    STOPPED = 2
    """It waits for the controller's next report."""


class UnderWay(IntEnum):
    """Request of a follower, or its answer."""

    NOTHING = 0
    QUESTION = 1
    FETCH = 2
    ANSWER_TO_QUESTION = 3
    ANSWER_TO_FETCH = 4


class AnswersState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        died: For each broker that can die 1 once it has, in their order.
        epoch: The leader epoch that each replica knows, that of the leader first.
        stage: Of each replica: ``Stage``; the leader's stays as it is.
        under_way: Of each replica: ``UnderWay``.
        asked_in: The leader epoch in which each replica has sent what is under way; ``ANY_EPOCH`` without.
        answer: The error code of each answer that is under way.
    """

    died: list[int]
    epoch: list[int]
    stage: list[int]
    under_way: list[int]
    asked_in: list[int]
    answer: list[int]


def last_begun(state: AnswersState) -> int:
    """The latest leader epoch: each broker that dies has the controller begin another."""
    return sum(state.died)


def model_of(name: str, bounds: AnswersBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    count = bounds.replicas
    layout = Layout(
        AnswersState,
        {
            "died": Field(1, count=bounds.last_epoch),
            "epoch": Field(bounds.last_epoch, count=count),
            "stage": Field(max(Stage), count=count),
            "under_way": Field(max(UnderWay), count=count),
            "asked_in": Field(bounds.last_epoch, ANY_EPOCH, count),
            "answer": Field(max(ErrorCode), count=count),
        },
    )
    initial = AnswersState(
        died=[0] * bounds.last_epoch,
        epoch=[0] * count,
        stage=[Stage.FETCHES] * count,
        under_way=[UnderWay.NOTHING] * count,
        asked_in=[ANY_EPOCH] * count,
        answer=[ErrorCode.NONE] * count,
    )
    taken = _actions(bounds, TABLES[name])
    healing = Healing(taken[1:], lambda _: True, GOALS)
    return Model(name, layout, initial, taken, INVARIANTS, healing=healing, compiles=False)


def _actions(bounds: AnswersBounds, version: Version) -> tuple[Action, ...]:
    return (
        _begins(bounds),
        _hears(bounds, version),
        _sends(bounds),
        _answers(bounds, version),
        _takes(bounds, version),
    )


def _begins(bounds: AnswersBounds) -> Action:
    def take(state: AnswersState, _: int) -> bool:
        begun = last_begun(state)
        if begun == bounds.last_epoch:
            return False
        state.died[begun] = 1
        return True

    return Action(
        "begin-epoch", take, (1,), "another broker dies, and the next leader epoch of the same leader begins", (1,)
    )


def _hears(bounds: AnswersBounds, version: Version) -> Action:
    def take(state: AnswersState, replica: int) -> bool:
        known = state.epoch[replica]
        if known == last_begun(state):
            return False
        state.epoch[replica] = known + 1
        anew = makes_follower(LEADER, LEADER, known + 1, known, version.epochs_followed_on)
        if replica != LEADER and anew:
            state.stage[replica] = Stage.ASKS
        return True

    return Action("hear", take, (bounds.replicas,), "broker {0} hears of the next leader epoch", (1,))


def _sends(bounds: AnswersBounds) -> Action:
    def take(state: AnswersState, replica: int) -> bool:
        stage = state.stage[replica]
        if replica == LEADER or stage == Stage.STOPPED or state.under_way[replica] != UnderWay.NOTHING:
            return False
        state.under_way[replica] = UnderWay.QUESTION if stage == Stage.ASKS else UnderWay.FETCH
        state.asked_in[replica] = state.epoch[replica]
        return True

    return Action("ask", take, (bounds.replicas,), "broker {0} asks its leader", (1,))


def _answers(bounds: AnswersBounds, version: Version) -> Action:
    answers = {UnderWay.QUESTION: UnderWay.ANSWER_TO_QUESTION, UnderWay.FETCH: UnderWay.ANSWER_TO_FETCH}

    def take(state: AnswersState, replica: int) -> bool:
        asked = UnderWay(state.under_way[replica])
        if asked not in answers:
            return False
        sent = state.asked_in[replica] if version.fenced_fetch else ANY_EPOCH
        state.under_way[replica] = answers[asked]
        state.answer[replica] = leader_epoch_error(sent, state.epoch[LEADER])
        return True

    return Action("answer", take, (bounds.replicas,), "the request of broker {0} arrives, and is answered", (1,))


def _takes(bounds: AnswersBounds, version: Version) -> Action:
    def take(state: AnswersState, replica: int) -> bool:
        arrived, error = state.under_way[replica], ErrorCode(state.answer[replica])
        if arrived not in (UnderWay.ANSWER_TO_QUESTION, UnderWay.ANSWER_TO_FETCH):
            return False
        drops = arrived == UnderWay.ANSWER_TO_FETCH or version.stale_epoch_ends_dropped
        counts = answer_counts(state.asked_in[replica], state.epoch[replica], drops)
        state.under_way[replica], state.asked_in[replica] = UnderWay.NOTHING, ANY_EPOCH
        state.answer[replica] = ErrorCode.NONE
        if counts and stops_fetching(error):
            state.stage[replica] = Stage.STOPPED
        elif counts and error == ErrorCode.NONE:
            state.stage[replica] = Stage.FETCHES
        return True

    return Action("take-answer", take, (bounds.replicas,), "the answer arrives at broker {0}", (1,))


def stopped_is_behind(state: AnswersState) -> bool:
    """True if every follower that has stopped fetching has a report to hear of yet."""
    begun = last_begun(state)
    behind = [epoch < begun for epoch in state.epoch]
    return all(late for late, stage in zip(behind, state.stage, strict=True) if stage == Stage.STOPPED)


def everybody_fetches(state: AnswersState) -> bool:
    """True if every follower fetches in the latest leader epoch, which its leader knows, too."""
    begun = last_begun(state)
    return all(epoch == begun for epoch in state.epoch) and set(state.stage) == {Stage.FETCHES}


INVARIANTS = (
    Invariant("stopped-is-behind", stopped_is_behind, "who has stopped fetching has a later leader epoch to hear of"),
)
GOALS = (
    Goal("followers-fetch", everybody_fetches, "without faults every follower fetches in the latest leader epoch"),
)
