"""States of the models for people: as the models of one partition show them, and as a trace.

Brokers that die are shown behind the leader and its followers, one for each leader epoch after the first. Every replica
has the one record that was written before.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.epoch_answers.models import LEADER, AnswersState, Stage, UnderWay, last_begun
from kreplica.engine.explorer.models.one_partition.state import PartitionState
from kreplica.engine.explorer.models.one_partition.trace import Change, broker_of, events_between
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import everybody, only, without
from kreplica.engine.trace import Event, Kind

_NAMES = {UnderWay.QUESTION: "OffsetForLeaderEpoch", UnderWay.FETCH: "Fetch"}
_ASKED = {UnderWay.ANSWER_TO_QUESTION: UnderWay.QUESTION, UnderWay.ANSWER_TO_FETCH: UnderWay.FETCH}


def seen(state: AnswersState) -> PartitionState:
    """A state as one partition's."""
    live, last_epoch, begun = len(state.epoch), len(state.died), last_begun(state)
    count = live + last_epoch
    isr = everybody(count)
    for dead in range(begun):
        isr = without(isr, only(live + dead))
    epochs = last_epoch + 1
    return PartitionState(
        records=[1] * count,
        high_watermark=[1] * count,
        epoch=[*state.epoch, *range(last_epoch)],
        leader=[LEADER] * count,
        isr=[isr] * count,
        written=[1],
        begun=[begun + 1],
        true_leader=[LEADER],
        true_isr=[isr],
        sent_leader=[LEADER] * epochs,
        sent_isr=[0] * epochs,
    )


def told(before: AnswersState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    name, replica, after = step.action.name, step.chosen[0], step.state
    words = step.action.words(step.chosen)
    if name == "begin-epoch":
        return f"another broker dies, and leader epoch {last_begun(after)} of the same leader begins"
    if name == "hear":
        return f"broker {broker_of(replica)} hears of leader epoch {after.epoch[replica]}"
    if name == "ask":
        what = "where its last epoch ends" if after.under_way[replica] == UnderWay.QUESTION else "for records"
        return f"{words} {what}, in leader epoch {after.asked_in[replica]}"
    if name == "answer":
        return f"{words}: {_verdict(after.answer[replica])}"
    stopped = after.stage[replica] == Stage.STOPPED and before.stage[replica] != Stage.STOPPED
    return f"{words}{'; it stops fetching' if stopped else ''}"


def _verdict(error: int) -> str:
    return ErrorCode(error).name


def events_of(initial: AnswersState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """

    def change(number: int, before: AnswersState, step: Taken) -> Change:
        return _AnswersChange(1_000 * number, before, step)

    return events_between(initial, steps, change)


class _AnswersChange(Change):
    """Two states, one after the other, and the events between them.

    Args:
        time: Of the events.
        before: The state before.
        step: The action, and the state after it.
    """

    def __init__(self, time: int, before: AnswersState, step: Taken) -> None:
        super().__init__(time, seen(before), seen(step.state))
        self.from_state, self.step = before, step

    def events(self) -> list[Event]:
        """The events, in order: a broker that dies, the controller, the others, what arrives."""
        dead = f"broker-{broker_of(len(self.step.state.epoch) + last_begun(self.from_state))}"
        dies = [self.event(Kind.CRASHED, dead, False)] if self.step.action.name == "begin-epoch" else []
        return [*dies, *super().events(), *self.arrived()]

    def arrived(self) -> list[Event]:
        """A request at the leader, or its answer at a follower."""
        name, replica = self.step.action.name, self.step.chosen[0]
        leader, follower = self.node(LEADER), self.node(replica)
        if name == "answer":
            return [self.message(leader, follower, _NAMES[UnderWay(self.from_state.under_way[replica])])]
        if name == "take-answer":
            asked = _ASKED[UnderWay(self.from_state.under_way[replica])]
            return [self.message(follower, leader, f"{_NAMES[asked]} answer")]
        return []
