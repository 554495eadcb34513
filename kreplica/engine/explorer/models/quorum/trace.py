"""States of the quorum as those of one partition, and counterexamples as traces: lanes are controllers."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.one_partition.state import PartitionState, leads, log_end
from kreplica.engine.explorer.models.one_partition.trace import Change, broker_of, events_between
from kreplica.engine.explorer.models.quorum.models import newest_leader
from kreplica.engine.explorer.models.quorum.state import LEADS, QuorumState
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.engine.trace import Event, Kind

METADATA_LOG = "__cluster_metadata-0"
_MILLISECOND = 1_000


def seen(state: QuorumState) -> PartitionState:
    """A state as that of a partition: its replicas are the voters, all in sync.

    Records are told apart by epoch and offset. A voter that has resigned, or stands, knows no leader.
    """
    count, log, epochs = len(state.role), len(state.committed), len(state.won) + 1
    newest = newest_leader(state)
    begun = state.epoch[newest] + 1 if newest != NO_LEADER else 0
    names = sorted({(place % log, epoch) for place, epoch in enumerate(state.records) if epoch})
    records = [
        1 + names.index((place % log, epoch)) * epochs + epoch if epoch else 0
        for place, epoch in enumerate(state.records)
    ]
    return PartitionState(
        records=records,
        high_watermark=list(state.high_watermark),
        epoch=list(state.epoch),
        leader=[leader if _is_known(state, voter) else NO_LEADER for voter, leader in enumerate(state.leader)],
        isr=[everybody(count) if state.role[voter] == LEADS else 0 for voter in range(count)],
        written=[len(names)],
        begun=[begun],
        true_leader=[newest],
        true_isr=[everybody(count)],
        sent_leader=[NO_LEADER] * epochs,
        sent_isr=[0] * epochs,
    )


def _is_known(state: QuorumState, voter: int) -> bool:
    return state.leader[voter] != voter or state.role[voter] == LEADS


def events_of(initial: QuorumState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _QuorumChange)


class _QuorumChange(Change):
    """Two states, one after the other, and the events between them.

    Args:
        number: Of the action.
        before: The state before it.
        step: The action, and the state after it.
    """

    partition = METADATA_LOG

    def __init__(self, number: int, before: QuorumState, step: Taken) -> None:
        super().__init__(_MILLISECOND * number, seen(before), seen(step.state))
        self.step = step

    def node(self, replica: int) -> str:
        """The node of a voter."""
        return f"controller-{broker_of(replica)}"

    def decided(self) -> list[Event]:
        """Crashes, votes that are asked for, and who is cut off."""
        voter = self.node(self.step.chosen[0])
        if self.step.action.name == "crash":
            return [self.event(Kind.CRASHED, voter, False), self.event(Kind.STARTED, voter)]
        if self.step.action.name == "vote":
            return [self.message(voter, self.node(self.step.chosen[1]), "Vote")]
        return []

    def heard(self, replica: int) -> list[Event]:
        """Leadership as a voter comes to know of it, or gives it up."""
        before, after = self.before.leader[replica], self.after.leader[replica]
        epoch, node = self.after.epoch[replica], self.node(replica)
        if after == before and (after == NO_LEADER or self.before.epoch[replica] == epoch):
            return []
        if leads(self.after, replica):
            voters = tuple(range(1, len(self.after.leader) + 1))
            end = log_end(self.before, replica)
            return [self.event(Kind.BECAME_LEADER, node, self.partition, epoch, voters, end)]
        if after == NO_LEADER:
            return [self.event(Kind.RESIGNED, node, self.partition, epoch)]
        told = self.message(node, self.node(after), "BeginQuorumEpoch")
        return [told, self.event(Kind.BECAME_FOLLOWER, node, self.partition, epoch, broker_of(after))]
