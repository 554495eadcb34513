"""Losses played over states: what one state lists changes nothing for the others."""

from __future__ import annotations

from clusters.generated import partition, snapshot_of

from kreplica.fleet.availability.losses import Loss, LossRules, LostKind
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact

ALIVE = [{"broker": broker, "alive": True} for broker in (1, 2, 3)]


def test_eligible_leader_replicas_of_another_time_are_off() -> None:
    """A replica alone in the ISR stays there when it is lost without ELR, and leaves it for the ELR with it."""
    lone = partition(replicas=[2, 3], isr=[2], leader=3, min_isr=1, unclean_leader_election=True)
    listing = partition(number=1, replicas=[2, 3], isr=[3], leader=3, elr=[2], min_isr=2)
    around = snapshot_of([lone, listing], ALIVE, source="describe-text")
    two = [Loss(LostKind.BROKER, broker=2)]
    off = LossRules().harms(around, False, around.partitions, two)
    assert off.states.tolist() == []
    on = LossRules().harms(around, True, around.partitions, two)
    assert (on.states.tolist(), [FAILURE_IMPACTS[one] for one in on.impacts.tolist()]) == ([0], [Impact.UNDER_MIN_ISR])
