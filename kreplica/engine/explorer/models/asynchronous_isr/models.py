"""The model of requests for an ISR that are under way, and the same without what guards it.

One leader leads throughout. Requests and answers are sets: each may arrive at any time, in any order, again or never.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Invariant, Model
from kreplica.engine.rules.controller.alter_partition import maximal_isr
from kreplica.engine.rules.replication.high_watermark import leader_high_watermark
from kreplica.engine.rules.replication.replica_set import contains, everybody, only, without

LEADER = 0
NOTHING_PENDING = -1


class AsyncBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        replicas: Replicas of the partition.
        log: Records of a log.
        last_epoch: The largest partition epoch, counted from 0.
    """

    replicas: int
    log: int
    last_epoch: int


class AsyncState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        true_isr, true_epoch: ISR and partition epoch as the controller has them.
        isr, epoch: As the leader knows them.
        pending_isr: Whoever is in a set that the leader has asked for since.
        pending_epoch: The partition epoch of its last request.
        ends: Log end offset of each replica.
        asked: For each partition epoch the ISRs that were asked for in it, as a set of sets.
        told: For each partition epoch 1 + the ISR that the controller has told, 0 if there is none.
    """

    true_isr: list[int]
    true_epoch: list[int]
    isr: list[int]
    epoch: list[int]
    pending_isr: list[int]
    pending_epoch: list[int]
    ends: list[int]
    asked: list[int]
    told: list[int]


Counts = Callable[[int, int, bool], int]
"""The replicas that hold the high watermark back: ISR, pending ISR, whether a request is pending."""


def isr_alone(isr: int, _pending_isr: int, _pending: bool) -> int:
    """The ISR as the leader knows it, whatever it has asked for."""
    return isr


TABLES: dict[str, Counts] = {"async-isr": maximal_isr, "async-isr-m1": isr_alone}
"""The rule of each model by its name."""


def model_of(name: str, bounds: AsyncBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    everyone, epochs, sets = everybody(bounds.replicas), bounds.last_epoch + 1, 1 << bounds.replicas
    isr = Field(everyone)
    epoch = Field(bounds.last_epoch)
    layout = Layout(
        AsyncState,
        {
            "true_isr": isr,
            "true_epoch": epoch,
            "isr": isr,
            "epoch": epoch,
            "pending_isr": isr,
            "pending_epoch": Field(bounds.last_epoch, NOTHING_PENDING),
            "ends": Field(bounds.log, count=bounds.replicas),
            "asked": Field((1 << sets) - 1, count=epochs),
            "told": Field(sets, count=epochs),
        },
    )
    initial = AsyncState(
        true_isr=[everyone],
        true_epoch=[0],
        isr=[everyone],
        epoch=[0],
        pending_isr=[0],
        pending_epoch=[NOTHING_PENDING],
        ends=[0] * bounds.replicas,
        asked=[0] * epochs,
        told=[0] * epochs,
    )
    high_watermark = high_watermark_of(TABLES[name])
    return Model(name, layout, initial, _actions(bounds, high_watermark), (_valid(high_watermark),))


def high_watermark_of(counts: Counts) -> Callable[[AsyncState], int]:
    """Builds the leader's high watermark in a state, by the replicas that hold it back."""

    def high_watermark(state: AsyncState) -> int:
        pending = state.pending_epoch[0] != NOTHING_PENDING
        return leader_high_watermark(0, state.ends, counts(state.isr[0], state.pending_isr[0], pending))

    return high_watermark


def _valid(high_watermark: Callable[[AsyncState], int]) -> Invariant:
    def holds(state: AsyncState) -> bool:
        lowest = high_watermark(state)
        for replica in range(len(state.ends)):
            if contains(state.true_isr[0], replica) and state.ends[replica] < lowest:
                return False
        return True

    promise = "every member of the controller's ISR has all below the leader's high watermark"
    return Invariant("valid-high-watermark", holds, promise)


def decide(state: AsyncState, isr: int) -> bool:
    """Writes an ISR of the controller and tells it; False if there is no partition epoch left."""
    epoch = state.true_epoch[0] + 1
    if epoch == len(state.told):
        return False
    state.true_isr[0] = isr
    state.true_epoch[0] = epoch
    state.told[epoch] = 1 + isr
    return True


def ask(state: AsyncState, isr: int) -> bool:
    """Sends a request for an ISR, which is pending until the leader hears of another."""
    epoch = state.epoch[0]
    state.asked[epoch] |= only(isr)
    state.pending_isr[0] |= isr
    state.pending_epoch[0] = epoch
    return True


def _actions(bounds: AsyncBounds, high_watermark: Callable[[AsyncState], int]) -> tuple[Action, ...]:
    replicas, log = bounds.replicas, bounds.log

    def removes(state: AsyncState, replica: int) -> bool:
        isr = state.true_isr[0]
        if replica == LEADER or not contains(isr, replica):
            return False
        return decide(state, without(isr, only(replica)))

    def takes(state: AsyncState, isr: int) -> bool:
        return contains(state.asked[state.true_epoch[0]], isr) and decide(state, isr)

    def shrinks(state: AsyncState, replica: int) -> bool:
        isr = state.isr[0]
        if replica == LEADER or not contains(isr, replica):
            return False
        return ask(state, without(isr, only(replica)))

    def expands(state: AsyncState, replica: int) -> bool:
        isr = state.isr[0]
        if contains(isr, replica) or state.ends[replica] < high_watermark(state):
            return False
        return ask(state, isr | only(replica))

    def writes(state: AsyncState, leader: int) -> bool:
        if state.ends[leader] == log:
            return False
        state.ends[leader] += 1
        return True

    def hears(state: AsyncState, epoch: int) -> bool:
        if epoch <= state.epoch[0] or state.told[epoch] == 0:
            return False
        state.isr[0] = state.told[epoch] - 1
        state.epoch[0] = epoch
        state.pending_isr[0] = 0
        state.pending_epoch[0] = NOTHING_PENDING
        return True

    def fetches(state: AsyncState, replica: int) -> bool:
        if replica == LEADER or state.ends[replica] >= state.ends[LEADER]:
            return False
        state.ends[replica] += 1
        return True

    each, epochs = (replicas,), (bounds.last_epoch + 1,)
    return (
        Action("remove-from-isr", removes, each, "the controller removes broker {0} from the ISR", (1,)),
        Action("change-isr", takes, (1 << replicas,), "the controller takes an ISR that the leader asks for", (0,)),
        Action("shrink-isr", shrinks, each, "broker 1 asks for the ISR without broker {0}", (1,)),
        Action("expand-isr", expands, each, "broker 1 asks for the ISR with broker {0}", (1,)),
        Action("write", writes, (1,), "a producer writes a record to broker {0}", (1,)),
        Action("hear", hears, epochs, "broker 1 hears of the ISR of partition epoch {0}", (0,)),
        Action("fetch", fetches, each, "broker {0} fetches a record", (1,)),
    )
