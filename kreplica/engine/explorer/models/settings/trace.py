"""States and actions of the models of settings for people: as the models of one partition show them, and as a trace.

A state is shown as ``one_partition.state.PartitionState``, whatever it has besides being left out. The time of an event
is the number of its action, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.one_partition.state import PartitionState, leads, log_end
from kreplica.engine.explorer.models.one_partition.trace import (
    CONTROLLER,
    PARTITION,
    Change,
    broker_of,
    brokers_of,
    events_between,
)
from kreplica.engine.explorer.models.settings.state import MOST_EPOCH, SettingsState
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, members
from kreplica.engine.trace import Event, Kind
from kreplica.model.wording.words import counted, listed

_EPOCHS = MOST_EPOCH + 1
_ENDS = ("crash", "lose-log", "lose-power", "all-lose-power")


def seen(state: SettingsState) -> PartitionState:
    """The partition of a state: the controller's decision, each replica's log and view."""
    return PartitionState(
        records=[0 if each == 0 else 1 + (each - 1) * _EPOCHS + state.written_in[each - 1] for each in state.records],
        high_watermark=list(state.high_watermark),
        epoch=list(state.epoch),
        leader=list(state.leader),
        isr=list(state.isr),
        written=[sum(epoch >= 0 for epoch in state.written_in)],
        begun=[state.true_epoch[0] + 1],
        true_leader=list(state.true_leader),
        true_isr=list(state.true_isr),
        sent_leader=[NO_LEADER] * _EPOCHS,
        sent_isr=[0] * _EPOCHS,
    )


def told(before: SettingsState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    words, leader = step.action.words(step.chosen), step.state.true_leader[0]
    if step.action.name == "all-lose-power":
        words += _kept(before, step.state)
    acknowledged = members(step.state.acknowledged[0] & ~before.acknowledged[0])
    if acknowledged:
        words += f"; {listed([f'm{record + 1}' for record in acknowledged])} acknowledged"
    if leader == before.true_leader[0] or step.action.name == "elect-preferred":
        return words
    return f"{words}; {'nobody leads' if leader == NO_LEADER else f'broker {broker_of(leader)} is elected'}"


def _kept(before: SettingsState, after: SettingsState) -> str:
    """Brokers that have something left of what they had not flushed."""
    kept = [log_end(seen(after), replica) - flushed for replica, flushed in enumerate(before.flushed)]
    told = [f"{counted(many, 'record')} of broker {broker_of(replica)}" for replica, many in enumerate(kept) if many]
    return f"; of what was not flushed the disks have {listed(told) if told else 'none'}"


def events_of(initial: SettingsState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _SettingsChange)


class _SettingsChange(Change):
    """Two states, one after the other, and the events between them.

    Args:
        number: Of the action.
        before: The state before it.
        step: The action, and the state after it.
    """

    def __init__(self, number: int, before: SettingsState, step: Taken) -> None:
        super().__init__(1_000 * number, seen(before), seen(step.state))
        self.from_state: SettingsState = before
        self.to_state: SettingsState = step.state
        self.name, self.broker = step.action.name, step.chosen[0]

    def events(self) -> list[Event]:
        """The events, in order: of a broker that goes down or starts, of the controller, of the others."""
        found = [*self.moved(), *self.activity(), *self.decided()]
        for broker in range(len(self.after.leader)):
            if self.name not in _ENDS:
                found += [*self.heard(broker), *self.log(broker), *self.high_watermark(broker)]
        return found

    def moved(self) -> list[Event]:
        """A broker that goes down or starts."""
        node = f"broker-{broker_of(self.broker)}"
        if self.name == "crash":
            return [self.event(Kind.CRASHED, node, False)]
        if self.name == "lose-power":
            return self.without_power(self.broker)
        if self.name == "all-lose-power":
            return [event for broker in range(len(self.after.leader)) for event in self.without_power(broker)]
        if self.name == "lose-log":
            return [self.event(Kind.CRASHED, node, False), self.event(Kind.DISK_LOST, node), *self.log(self.broker)]
        if self.name != "start":
            return []
        recovered = self.event(Kind.RECOVERED, node, PARTITION, log_end(self.after, self.broker), 0, 0)
        return [self.event(Kind.STARTED, node), recovered]

    def without_power(self, broker: int) -> list[Event]:
        """A broker whose machine loses power, up or not, and its log as it is on the disk."""
        return [self.event(Kind.CRASHED, f"broker-{broker_of(broker)}", True), *self.log(broker)]

    def activity(self) -> list[Event]:
        """A broker that the controller fences or counts as active again."""
        before, after = self.from_state.active[0], self.to_state.active[0]
        found: list[Event] = []
        for broker in members(before ^ after):
            if contains(after, broker):
                found.append(self.event(Kind.BROKER_UNFENCED, CONTROLLER, broker_of(broker), ""))
            else:
                why = "its session expired" if contains(self.to_state.running[0], broker) else "it is gone"
                found.append(self.event(Kind.BROKER_FENCED, CONTROLLER, broker_of(broker), why, ""))
        return found

    def decided(self) -> list[Event]:
        """The controller's decision."""
        before, after = self.from_state, self.to_state
        decision = (after.true_leader, after.true_epoch, after.true_isr, after.elr)
        if decision == (before.true_leader, before.true_epoch, before.true_isr, before.elr):
            return []
        asked = self.name in ("fetch", "shrink-isr")
        leader, epoch = broker_of(after.true_leader[0]), after.true_epoch[0]
        isr, elr = brokers_of(after.true_isr[0]), brokers_of(after.elr[0])
        why = "its leader asks for this ISR" if asked else "decided"
        changed = self.event(Kind.PARTITION_CHANGED, CONTROLLER, PARTITION, leader, epoch, isr, elr, 0, why, "")
        return [*([self.message(CONTROLLER, f"broker-{leader}", "AlterPartition")] if asked else []), changed]

    def heard(self, replica: int) -> list[Event]:
        """The controller's decision as a broker hears of it."""
        if self.name not in ("hear", "start") or self.broker != replica:
            return []
        node, epoch = f"broker-{broker_of(replica)}", self.after.epoch[replica]
        found = [self.message(node, CONTROLLER, "metadata")]
        leader = self.after.leader[replica]
        if leads(self.after, replica):
            isr, end = brokers_of(self.after.isr[replica]), log_end(self.after, replica)
            return [*found, self.event(Kind.BECAME_LEADER, node, PARTITION, epoch, isr, end)]
        if leader == NO_LEADER:
            return [*found, self.event(Kind.RESIGNED, node, PARTITION, epoch)]
        return [*found, self.event(Kind.BECAME_FOLLOWER, node, PARTITION, epoch, broker_of(leader))]
