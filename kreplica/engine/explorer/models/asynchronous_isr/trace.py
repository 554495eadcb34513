"""States of the models for people: as the models of one partition show them, and as a trace.

A state is shown as ``one_partition.state.PartitionState`` with one leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.asynchronous_isr.models import LEADER, TABLES, AsyncState, high_watermark_of
from kreplica.engine.explorer.models.one_partition.state import PartitionState, log_end
from kreplica.engine.explorer.models.one_partition.trace import (
    CONTROLLER,
    PARTITION,
    Change,
    brokers_of,
    events_between,
)
from kreplica.engine.trace import Event, Kind

_LEADER = "broker-1"


def seen_of(name: str) -> Callable[[AsyncState], PartitionState]:
    """Builds what shows a state of a model: the leader's high watermark goes by the model's rule."""
    high_watermark = high_watermark_of(TABLES[name])

    def seen(state: AsyncState) -> PartitionState:
        count, log = len(state.ends), max(state.ends)
        records = [1 + at if at < end else 0 for end in state.ends for at in range(log)]
        return PartitionState(
            records=records,
            high_watermark=[high_watermark(state), *([0] * (count - 1))],
            epoch=[0] * count,
            leader=[LEADER] * count,
            isr=[state.isr[0]] * count,
            written=[log],
            begun=[1],
            true_leader=[LEADER],
            true_isr=list(state.true_isr),
            sent_leader=[LEADER],
            sent_isr=[0],
        )

    return seen


def events_of(seen: Callable[[AsyncState], PartitionState]) -> Callable[[AsyncState, Sequence[Taken]], list[Event]]:
    """Builds what tells a counterexample as a trace.

    Args:
        seen: A state of the model as one partition's.
    """

    def events(initial: AsyncState, steps: Sequence[Taken]) -> list[Event]:
        return events_between(
            initial,
            steps,
            lambda number, before, step: _AsyncChange(1_000 * number, seen(before), seen(step.state), before, step),
        )

    return events


class _AsyncChange(Change):
    """Two states, one after the other, and the events between them.

    Args:
        time: Of the events.
        shown, shown_after: The states as one partition's.
        before: The state before.
        step: The action, and the state after it.
    """

    def __init__(
        self, time: int, shown: PartitionState, shown_after: PartitionState, before: AsyncState, step: Taken
    ) -> None:
        super().__init__(time, shown, shown_after)
        self.from_state, self.step = before, step

    def decided(self) -> list[Event]:
        """The controller's decision, or the leader's request."""
        name, after = self.step.action.name, self.step.state
        if name in ("shrink-isr", "expand-isr"):
            isr = brokers_of(after.pending_isr[0])
            return [self.event(Kind.ISR_ASKED, _LEADER, PARTITION, isr, "pending until it hears of an ISR", "")]
        if after.true_epoch == self.from_state.true_epoch:
            return []
        asked = name == "change-isr"
        why = "its leader asks for this ISR" if asked else "decided"
        isr, epoch = brokers_of(after.true_isr[0]), after.true_epoch[0]
        changed = self.event(Kind.PARTITION_CHANGED, CONTROLLER, PARTITION, 1, 0, isr, (), epoch, why, "")
        return [*([self.message(CONTROLLER, _LEADER, "AlterPartition")] if asked else []), changed]

    def heard(self, replica: int) -> list[Event]:
        """The ISR that the leader hears of."""
        after = self.step.state
        if replica != LEADER or after.epoch == self.from_state.epoch:
            return []
        isr, end = brokers_of(after.isr[0]), log_end(self.after, LEADER)
        told = self.message(_LEADER, CONTROLLER, "AlterPartition answer")
        return [told, self.event(Kind.BECAME_LEADER, _LEADER, PARTITION, 0, isr, end)]
