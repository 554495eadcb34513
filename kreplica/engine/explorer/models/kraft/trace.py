"""States and actions of the KRaft models for people: as the models of one partition show them, and as a trace.

A state is shown as ``one_partition.state.PartitionState``, whatever it has besides being left out. The time of an event
is the number of its action, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.kraft.messages import (
    ANSWER_ISR,
    ASK_ISR,
    EPOCHS,
    ERROR,
    FETCH,
    FETCHED,
    ISR,
    KIND,
    NO_ERROR,
    REGISTER,
    REGISTERED,
    SOURCE,
    TARGET,
    read,
)
from kreplica.engine.explorer.models.kraft.state import CRASHED, FOLLOWS, LEADS, RUNNING, STOPPED, KraftState, now
from kreplica.engine.explorer.models.one_partition.state import PartitionState, log_end
from kreplica.engine.explorer.models.one_partition.trace import (
    CONTROLLER,
    PARTITION,
    Change,
    broker_of,
    brokers_of,
    events_between,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, members
from kreplica.engine.trace import Event, Kind
from kreplica.model.wording.words import ids

_NAMES = {
    REGISTER: "BrokerRegistration",
    REGISTERED: "BrokerRegistration answer",
    ASK_ISR: "AlterPartition",
    ANSWER_ISR: "AlterPartition answer",
    FETCH: "Fetch",
    FETCHED: "Fetch answer",
}
_TAKE_MESSAGES = {
    "register": "the controller registers broker {source}",
    "registered": "broker {target} hears that it is registered",
    "change-isr": "the controller {takes} the ISR that broker {source} asks for",
    "answered": "broker {source} hears that its ISR is {taken}",
    "serve-fetch": "broker {target} answers the fetch of broker {source}",
    "take-records": "broker {target} takes the answer of broker {source}",
}
"""Actions that take a message, in words."""


def seen(state: KraftState) -> PartitionState:
    """The partition of a state: what the controller has decided, each replica's log and view."""
    at, count = now(state), len(state.status)
    epoch, isr = state.leader_epoch[at], state.isr[at]
    known = {LEADS: list(range(count)), FOLLOWS: state.known_leader}
    return PartitionState(
        records=list(state.records),
        high_watermark=list(state.high_watermark),
        epoch=list(state.known_epoch),
        leader=[known[role][broker] if role in known else NO_LEADER for broker, role in enumerate(state.role)],
        isr=list(state.known_isr),
        written=list(state.written),
        begun=[epoch + 1],
        true_leader=[state.leader[at]],
        true_isr=[isr],
        sent_leader=[NO_LEADER] * EPOCHS,
        sent_isr=[0] * EPOCHS,
    )


def told(before: KraftState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    choice, name = step.chosen[0], step.action.name
    if name == "ask-for-isr":
        return f"broker {broker_of(choice)} asks for the ISR {ids(brokers_of(read(step.state.asked[choice], ISR)))}"
    if name not in _TAKE_MESSAGES:
        return step.action.words(step.chosen) + _decided(before, step.state)
    message = before.messages[choice]
    refused = now(step.state) == now(before) if name == "change-isr" else read(message, ERROR) != NO_ERROR
    sentence = _TAKE_MESSAGES[name].format(
        source=broker_of(read(message, SOURCE)),
        target=broker_of(read(message, TARGET)),
        takes="refuses" if refused else "takes",
        taken="refused" if refused else "taken",
    )
    return sentence + _decided(before, step.state)


def _decided(before: KraftState, after: KraftState) -> str:
    """The leader that the controller elects besides, in words."""
    leader = after.leader[now(after)]
    if leader == before.leader[now(before)]:
        return ""
    return "; nobody leads" if leader == NO_LEADER else f"; broker {broker_of(leader)} is elected"


def events_of(initial: KraftState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _KraftChange)


class _KraftChange(Change):
    """Two states, one after the other, and the events between them.

    Args:
        number: Of the action.
        before: The state before it.
        step: The action, and the state after it.
    """

    def __init__(self, number: int, before: KraftState, step: Taken) -> None:
        super().__init__(1_000 * number, seen(before), seen(step.state))
        self.from_state: KraftState = before
        self.to_state: KraftState = step.state
        self.arrived = self.message_of(step)

    def message_of(self, step: Taken) -> int:
        """The message that the action takes, 0 if it takes none."""
        return self.from_state.messages[step.chosen[0]] if step.action.name in _TAKE_MESSAGES else 0

    def events(self) -> list[Event]:
        """The events, in order: of brokers that go down or start, of the controller, of the others."""
        before, after = self.from_state.status, self.to_state.status
        moved = [broker for broker, status in enumerate(after) if status != before[broker] and status != RUNNING]
        found = self.arrival()
        for broker in moved:
            found += [*self.status(broker), *self.log(broker), *self.high_watermark(broker)]
        found += [*self.activity(), *self.decided()]
        for broker in range(len(after)):
            if broker not in moved:
                found += [*self.heard(broker), *self.log(broker), *self.high_watermark(broker)]
        return found

    def arrival(self) -> list[Event]:
        """The message that arrives."""
        kind = read(self.arrived, KIND)
        if self.arrived == 0:
            return []
        sender, taker = f"broker-{broker_of(read(self.arrived, SOURCE))}", CONTROLLER
        if kind in (FETCH, FETCHED):
            taker = f"broker-{broker_of(read(self.arrived, TARGET))}"
        elif kind == ANSWER_ISR:
            sender, taker = CONTROLLER, sender
        elif kind == REGISTERED:
            sender, taker = CONTROLLER, f"broker-{broker_of(read(self.arrived, TARGET))}"
        return [self.message(taker, sender, _NAMES[kind])]

    def status(self, broker: int) -> list[Event]:
        """A broker that goes down or starts."""
        node, status = f"broker-{broker_of(broker)}", self.to_state.status[broker]
        if status == CRASHED:
            return [self.event(Kind.CRASHED, node, False), self.event(Kind.DISK_LOST, node)]
        if status == STOPPED:
            return [self.event(Kind.STOPPED, node)]
        end, high_watermark = log_end(self.after, broker), self.after.high_watermark[broker]
        recovered = self.event(Kind.RECOVERED, node, PARTITION, end, 0, high_watermark)
        return [self.event(Kind.STARTED, node), recovered]

    def activity(self) -> list[Event]:
        """Brokers that the controller fences or counts as active again."""
        found: list[Event] = []
        before, after = self.from_state.unfenced[0], self.to_state.unfenced[0]
        for broker in members(before ^ after):
            if contains(after, broker):
                found.append(self.event(Kind.BROKER_UNFENCED, CONTROLLER, broker_of(broker), ""))
            else:
                runs = self.to_state.status[broker] == RUNNING
                why = "fenced" if runs else "it is gone"
                found.append(self.event(Kind.BROKER_FENCED, CONTROLLER, broker_of(broker), why, ""))
        return found

    def decided(self) -> list[Event]:
        """The controller's decision."""
        at, after = now(self.to_state), self.to_state
        if at == now(self.from_state):
            return []
        leader, epoch = broker_of(after.leader[at]), after.leader_epoch[at]
        isr, elr = brokers_of(after.isr[at]), brokers_of(after.elr[at])
        why = "its leader asks for this ISR" if self.arrived and read(self.arrived, KIND) == ASK_ISR else "decided"
        return [self.event(Kind.PARTITION_CHANGED, CONTROLLER, PARTITION, leader, epoch, isr, elr, at + 1, why, "")]

    def log(self, replica: int) -> list[Event]:
        """Records that a log gains or loses; the message that brings them has been told."""
        return [event for event in super().log(replica) if event.kind != Kind.MESSAGE]

    def heard(self, replica: int) -> list[Event]:
        """Decisions of the controller that a broker hears of."""
        before, after = self.from_state, self.to_state
        if after.heard[replica] <= before.heard[replica] or self.arrived:
            return []
        node = f"broker-{broker_of(replica)}"
        found = [self.message(node, CONTROLLER, "metadata")]
        epoch = after.known_epoch[replica]
        if after.role[replica] == LEADS:
            isr, end = brokers_of(after.known_isr[replica]), log_end(self.after, replica)
            return [*found, self.event(Kind.BECAME_LEADER, node, PARTITION, epoch, isr, end)]
        if after.role[replica] == FOLLOWS:
            leader = broker_of(after.known_leader[replica])
            return [*found, self.event(Kind.BECAME_FOLLOWER, node, PARTITION, epoch, leader)]
        return [*found, self.event(Kind.RESIGNED, node, PARTITION, epoch)]
