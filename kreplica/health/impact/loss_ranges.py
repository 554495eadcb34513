"""Replicas that could lead a partition without a clean leader, and the records that would be lost.

An unclean leader's log becomes the partition's: records of the last leader from that replica's log end offset on are
lost, acknowledged or not (the others truncate to the new leader's epoch, KIP-101, KIP-279).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.engine.projection.failure import Disk, replicas_on_disks
from kreplica.engine.projection.leaving_replicas import dead_replicas
from kreplica.engine.projection.states import partition_states
from kreplica.health.impact.fail import PlayedStep
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact
from kreplica.model.snapshot import LogPosition

Copy = tuple[str, int, int]
"""Topic, partition and broker."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica that is still there and may lack records.

    Args:
        topic, partition, broker: The replica.
        elected: True if an unclean election made it the leader.
        leader: The leader before, None for none.
        end_offset: Its own log end offset, None where not known.
        leader_end_offset: The last leader's log end offset, None where not known.
    """

    topic: str
    partition: int
    broker: int
    elected: bool
    leader: int | None
    end_offset: int | None = None
    leader_end_offset: int | None = None

    @property
    def lost(self) -> tuple[int, int] | None:
        """First offset that is lost and the one after the last; equal where nothing is. None where not known."""
        if self.end_offset is None or self.leader_end_offset is None:
            return None
        return min(self.end_offset, self.leader_end_offset), self.leader_end_offset

    def as_row(self) -> dict[str, object]:
        """The form of the rows."""
        begin, end = self.lost or (self.end_offset, None)
        return {
            "broker": self.broker,
            "elected": self.elected,
            "end_offset": self.end_offset,
            "lost_from": begin,
            "lost_to": end,
        }


def candidates(step: PlayedStep, disks: Sequence[Disk] = ()) -> list[Candidate]:
    """The replicas that survive where nobody can lead cleanly, each partition's in order of its assignment.

    Offsets are those that the snapshot has: the leader's log end offset at most.
    """
    nobody = (step.impacts == FAILURE_IMPACTS.index(Impact.UNAVAILABLE)) & step.no_clean_leader
    rows = np.flatnonzero((nobody | (step.impacts == FAILURE_IMPACTS.index(Impact.UNCLEAN_LEADER))) & ~step.already)
    before = step.before.select(rows)
    states = partition_states(before)
    gone = dead_replicas(before, states) | states.on(step.brokers) | replicas_on_disks(before, states, disks)
    survivors = states.brokers(states.replicas & ~gone & ~states.offline).to_list()
    columns = [before.partitions[name].to_list() for name in ("topic", "partition", "leader", "end_offset")]
    led = step.after.integers("leader").take(rows).to_list()
    return [
        Candidate(topic, number, broker, broker == after, None if leader == -1 else leader, None, end)
        for topic, number, leader, end, brokers, after in zip(*columns, survivors, led, strict=True)
        for broker in brokers or ()
    ]


def copies_to_ask(found: Iterable[Candidate]) -> dict[int, list[tuple[str, int]]]:
    """By broker the copies whose log end offset says what is lost: the candidates' and their leaders'."""
    asked: dict[int, dict[tuple[str, int], None]] = {}
    for one in found:
        for broker in (one.broker, one.leader):
            if broker is not None:
                asked.setdefault(broker, {})[one.topic, one.partition] = None
    return {broker: list(places) for broker, places in asked.items()}


def with_positions(found: Iterable[Candidate], positions: Iterable[LogPosition]) -> list[Candidate]:
    """The candidates with the offsets that were read."""
    ends: Mapping[Copy, int | None] = {(one.topic, one.partition, one.broker): one.end_offset for one in positions}
    return [_measured(one, ends) for one in found]


def _measured(one: Candidate, ends: Mapping[Copy, int | None]) -> Candidate:
    own = ends.get((one.topic, one.partition, one.broker))
    leader = None if one.leader is None else ends.get((one.topic, one.partition, one.leader))
    last = one.leader_end_offset if leader is None else leader
    return Candidate(one.topic, one.partition, one.broker, one.elected, one.leader, own, last)
