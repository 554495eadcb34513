"""Overtaken heartbeats as the models of a consumer group have them, played to the simulator's coordinator.

A real one of 4.3.1 answers the same: ``tests/kafka/protocol/test_overtaken_heartbeats.py``.
"""

from __future__ import annotations

import pytest
from engine.conversations import OneBroker
from engine.overtaken_heartbeats import FAULTS, Played
from plain.consumer import Answer, Request

from kreplica.engine.explorer.models.coordinators.memberships.models import is_member
from kreplica.engine.rules.groups.group_epochs import LEAVE_EPOCH, UNSAID_TIMEOUT
from kreplica.engine.setup import SECOND, TopicSetup
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.model.internal_topics import OFFSETS_TOPIC


class Simulated(Played):
    """A group of the simulator's coordinator, asked without a network."""

    def __init__(self, version: str) -> None:
        super().__init__()
        topics = (TopicSetup("t", ((1,),) * 2), TopicSetup(OFFSETS_TOPIC, ((1,),)))
        at_once = {"group_consumer_assignment_interval_ms": 0} if version == "4.3" else {}
        world = OneBroker(version, *topics, **at_once)
        self._coordinator = GroupCoordinator.of(world.broker)
        self._ask = world.ask

    def heartbeat(self, client: int, said: Request) -> Answer:
        epoch, owned, full = said
        names = None if owned is None else tuple(f"t-{number}" for number in sorted(owned))
        member, timeout, topics = (str(client), ""), 60 * SECOND if full else UNSAID_TIMEOUT, ("t",) if full else None
        ask = (self._coordinator.consumer_heartbeat, "group", member, epoch, timeout, topics, names)
        error, member_epoch, given = self._ask(*ask)()
        if error:
            return error.name, 0, None
        return "", member_epoch, None if given is None else frozenset(int(name.removeprefix("t-")) for name in given)

    def let_go(self, client: int) -> None:
        leave = ("group", (str(client), ""), LEAVE_EPOCH, UNSAID_TIMEOUT, None, None)
        self._ask(self._coordinator.consumer_heartbeat, *leave)()


@pytest.mark.parametrize("steps", FAULTS, ids=["session-over", "time-out"])
@pytest.mark.parametrize("version", ["4.1", "4.2", "4.3"])
def test_the_simulators_coordinator_gives_a_partition_to_two_members(version: str, steps: str) -> None:
    group = Simulated(version)
    last = group.play(f"consumer-group-{version}", steps)[-1].state
    assert all(is_member(last, client) for client in group.clients)
    first, second = (client.current[1] for client in group.clients.values())
    assert first & second
