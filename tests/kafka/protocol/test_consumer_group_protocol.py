"""One conversation with a group coordinator by KIP-848's protocol: a real one and the simulator's answer the same.

Members say ConsumerGroupHeartbeat word by word, no client library decides when. What is compared of each answer is the
error, the member epoch, and the partitions that the member then knows to be its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest
from engine.conversations import OneBroker
from real_clusters.consumer_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from real_clusters.coordinators import RealCoordinator
from waiting import until

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import MILLISECOND, TopicSetup
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.model.internal_topics import OFFSETS_TOPIC
from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2
PATIENT, IMPATIENT = 120_000, 3_000
"""Rebalance timeouts in milliseconds: one that no slow machine reaches, and one that is waited for."""
INTERVAL = 6_000
"""Of the group whose members come within it, in milliseconds: long enough for four heartbeats on a slow machine."""
GROUP_RESOURCE = 32
"""ConfigResource.Type.GROUP."""
TOPICS = ("t",)
PARTITIONS = 4

Numbers = frozenset[int]
Answer = tuple[str, int | None, Numbers]
"""Error, member epoch, numbers of the partitions of t; of an error neither of these."""


def numbers(*partitions: int) -> Numbers:
    return frozenset(partitions)


@dataclass(frozen=True, slots=True)
class Beat:
    """What a ConsumerGroupHeartbeat says; the rebalance timeout is in milliseconds."""

    group: str
    member: str
    epoch: int
    owned: Numbers = frozenset()
    instance: str | None = None
    rebalance: int = PATIENT
    topics: tuple[str, ...] = TOPICS


class Coordinator(Protocol):
    """A group's coordinator; members give themselves their ids (KIP-1082)."""

    def beat(self, *said: Any, **more: Any) -> Answer:
        """A heartbeat that says what ``Beat`` holds."""
        return self.answer(Beat(*said, **more))

    def answer(self, beat: Beat) -> Answer: ...
    def commit(self, group: str, name: str, generation: int, instance: str | None = None) -> str: ...
    def wait(self, condition: Callable[[], bool], what: str) -> None: ...


EVERYTHING = numbers(*range(PARTITIONS))


def two_members(on: Coordinator) -> Iterator[tuple[str, object]]:
    """One joins and has everything; a second comes, and gets what the first gives up, once it has."""
    yield "nobody is there", [on.beat("pair", "a", 2, EVERYTHING), on.beat("pair", "a", LEAVE)]
    yield "a joins", on.beat("pair", "a", JOIN)
    yield "and again, the answer was lost", on.beat("pair", "a", JOIN)
    yield "stays", on.beat("pair", "a", 2, EVERYTHING)
    yield (
        "other epochs",
        [on.beat("pair", *one) for one in (("a", 3, EVERYTHING), ("a", 1, EVERYTHING), ("stranger", 2))],
    )
    yield "commits", [on.commit("pair", name, epoch) for name, epoch in (("a", 2), ("a", 0), ("stranger", 2), ("", -1))]
    yield "b joins", on.beat("pair", "b", JOIN)
    told = on.beat("pair", "a", 2, EVERYTHING)
    yield "a is to give up", told
    yield "and has not yet", [on.beat("pair", "a", 2, EVERYTHING), on.beat("pair", "b", 3), on.commit("pair", "a", 2)]
    kept = told[2]
    yield "a has given up", on.beat("pair", "a", 2, kept)
    yield "the answer was lost", [on.beat("pair", "a", 2, kept), on.beat("pair", "a", 2, EVERYTHING)]
    yield "a's commits", [on.commit("pair", "a", epoch) for epoch in (3, 2, 1, 4)]
    given = on.beat("pair", "b", 3)
    yield "b is given what a had", given
    yield "b's commits", [on.commit("pair", "b", epoch) for epoch in (3, 2, 4)]
    yield "both stay", [on.beat("pair", "a", 3, kept), on.beat("pair", "b", 3, given[2])]
    yield "b leaves", [on.beat("pair", "b", LEAVE), on.beat("pair", "b", 3, given[2]), on.beat("pair", "b", LEAVE)]
    yield "b's commit", on.commit("pair", "b", 3)
    yield "a has all again", [on.beat("pair", "a", 3, kept), on.beat("pair", "a", 4, EVERYTHING)]
    yield "and again from the beginning", [on.beat("pair", "a", JOIN), on.beat("pair", "a", 4, EVERYTHING)]
    yield "and leaves", [on.beat("pair", "a", LEAVE), on.beat("pair", "a", 4), on.commit("pair", "", -1)]
    yield "who comes then", [on.beat("pair", "c", JOIN), on.beat("pair", "c", LEAVE)]


def three_members(on: Coordinator) -> Iterator[tuple[str, object]]:
    """A third comes while the second still waits; then one wants other topics too."""
    yield "a and b", [on.beat("trio", "a", JOIN), on.beat("trio", "b", JOIN)]
    first = on.beat("trio", "a", 2, EVERYTHING)
    yield "c comes before a has given up", [first, on.beat("trio", "c", JOIN)]
    yield "a's task is as before", on.beat("trio", "a", 2, EVERYTHING)
    yield "b waits on in a new epoch", [on.beat("trio", "b", epoch) for epoch in (3, 3, 4, 3)]
    second = on.beat("trio", "a", 2, first[2])
    yield "a has given up", second
    yield "b and c are told", [on.beat("trio", "b", 4), on.beat("trio", "c", 4)]
    yield "a has the rest", on.beat("trio", "a", 4, second[2])
    yield "epochs before", [on.beat("trio", "a", 2, second[2]), on.beat("trio", "b", 3), on.beat("trio", "c", 3)]
    share = on.beat("trio", "b", 4)[2]
    yield "b has its share", [share, on.beat("trio", "b", 4, share), on.beat("trio", "b", 3, share)]
    yield "another subscription", on.beat("trio", "b", 4, share, topics=("t", "nothing-yet"))
    yield "a hears of the epoch", on.beat("trio", "a", 4, second[2])
    yield "they leave", [on.beat("trio", name, LEAVE) for name in ("c", "b", "a")]


def static_members(on: Coordinator) -> Iterator[tuple[str, object]]:
    """An instance is held until its process says that it leaves; who takes it over has what it had."""
    yield "joins", on.beat("static", "first", JOIN, instance="one")
    yield "another", on.beat("static", "other", JOIN, instance="two")
    kept = on.beat("static", "first", 2, EVERYTHING, "one")[2]
    yield (
        "they share",
        [kept, on.beat("static", "first", 2, kept, "one"), on.beat("static", "other", 3, instance="two")],
    )
    yield "is held", [on.beat("static", name, JOIN, instance="one") for name in ("second", "first")]
    yield (
        "instances of nobody and of others",
        [
            on.beat("static", "first", 3, kept, "three"),
            on.beat("static", "second", 3, instance="one"),
            on.beat("static", "first", LEAVE, instance="three"),
            on.beat("static", "second", LEAVE_FOR_A_WHILE, instance="one"),
        ],
    )
    yield "leaves for a while", on.beat("static", "first", LEAVE_FOR_A_WHILE, instance="one")
    yield "nobody notices", on.beat("static", "other", 3, EVERYTHING - kept, "two")
    yield "and speaks on", [on.beat("static", "first", 3, kept, "one"), on.commit("static", "first", 3, "one")]
    yield "is taken over", on.beat("static", "second", JOIN, instance="one")
    yield (
        "the first is fenced",
        [
            on.beat("static", "first", 3, kept, "one"),
            on.beat("static", "first", LEAVE, instance="one"),
            on.commit("static", "first", 3, "one"),
            on.commit("static", "second", 3, "one"),
        ],
    )
    yield "leaves for good", on.beat("static", "second", LEAVE, instance="one")
    yield "and the other has all", on.beat("static", "other", 3, EVERYTHING - kept, "two")
    yield "and goes", on.beat("static", "other", LEAVE, instance="two")


def silence(on: Coordinator) -> Iterator[tuple[str, object]]:
    """Who does not give its partitions up within its rebalance timeout is out."""
    yield "joins", on.beat("silent", "slow", JOIN, rebalance=IMPATIENT)
    yield "another", on.beat("silent", "quick", JOIN)
    yield "is to give up", on.beat("silent", "slow", 2, EVERYTHING, rebalance=IMPATIENT)
    on.wait(lambda: on.commit("silent", "slow", 2) == "UNKNOWN_MEMBER_ID", "the slow one to be out")
    yield "is out", on.beat("silent", "slow", 2, EVERYTHING)
    yield "the other has all", on.beat("silent", "quick", 3)
    yield "comes anew", on.beat("silent", "slow", JOIN)


def within_the_interval(on: Coordinator) -> Iterator[tuple[str, object]]:
    """KIP-1263: who comes soon after an assignment waits until the interval is over, and somebody is heard of."""
    yield "the first is assigned to at once", on.beat("together", "a", JOIN)
    yield "the second is not", on.beat("together", "b", JOIN)
    yield "nor by heartbeats", [on.beat("together", "a", 2, EVERYTHING), on.beat("together", "b", 2)]
    on.wait(lambda: on.beat("together", "a", 2, EVERYTHING)[2] != EVERYTHING, "the interval to be over")
    told = on.beat("together", "a", 2, EVERYTHING)
    yield "a is to give up", told
    yield "a has given up", on.beat("together", "a", 2, told[2])
    yield "b is given it, in the epoch of both", on.beat("together", "b", 2)
    yield "b leaves, a has nothing yet", [on.beat("together", "b", LEAVE), on.beat("together", "a", 3, told[2])]


def conversation(on: Coordinator) -> list[tuple[str, object]]:
    return [*two_members(on), *three_members(on), *static_members(on), *silence(on)]


class Real(RealCoordinator, Coordinator):
    """A broker's coordinator, asked over the wire."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self._known: dict[tuple[str, str], Numbers] = {}
        self._topic = self._topic_id()

    def _topic_id(self) -> object:
        from kafka.protocol.metadata import MetadataRequest, MetadataResponse

        topics = [MetadataRequest.MetadataRequestTopic(name="t")]
        return self.exchange(1, MetadataRequest(topics=topics), MetadataResponse).topics[0].topic_id

    def answer(self, beat: Beat) -> Answer:
        partitions = ConsumerGroupHeartbeatRequest.TopicPartitions
        request = ConsumerGroupHeartbeatRequest(
            group_id=beat.group,
            member_id=beat.member,
            member_epoch=beat.epoch,
            instance_id=beat.instance,
            rebalance_timeout_ms=beat.rebalance,
            subscribed_topic_names=list(beat.topics),
            topic_partitions=[partitions(topic_id=self._topic, partitions=sorted(beat.owned))] if beat.owned else [],
        )
        answer = self.send(beat.group, request, ConsumerGroupHeartbeatResponse)
        if answer.error_code:
            return ErrorCode(answer.error_code).name, None, numbers()
        if beat.epoch < JOIN:
            return "NONE", answer.member_epoch, numbers()
        if answer.assignment is not None:
            found = [number for one in answer.assignment.topic_partitions for number in one.partitions]
            self._known[beat.group, beat.member] = numbers(*found)
        return "NONE", answer.member_epoch, self._known.get((beat.group, beat.member), numbers())

    def set_interval(self, group: str, milliseconds: int) -> None:
        """consumer.assignment.interval.ms of a group."""
        from kafka.protocol.admin import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse

        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        setting = resource.AlterableConfig(
            name="consumer.assignment.interval.ms", config_operation=0, value=str(milliseconds)
        )
        named = resource(resource_type=GROUP_RESOURCE, resource_name=group, configs=[setting])
        request = IncrementalAlterConfigsRequest(resources=[named], validate_only=False)
        answer = self.exchange(1, request, IncrementalAlterConfigsResponse)
        assert [one.error_code for one in answer.responses] == [0], answer

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, what)


class Simulated(Coordinator):
    """The simulator's coordinator, asked without a network; its time runs while an answer is waited for."""

    def __init__(self, interval: int = 0) -> None:
        topics = (TopicSetup("t", ((1,),) * PARTITIONS), TopicSetup(OFFSETS_TOPIC, ((1,),)))
        world = OneBroker("4.3", *topics, group_consumer_assignment_interval_ms=interval)
        self._coordinator = GroupCoordinator.of(world.broker)
        self._ask, self.wait = world.ask, world.wait

    def answer(self, beat: Beat) -> Answer:
        names = tuple(f"t-{number}" for number in sorted(beat.owned))
        member = (beat.member, beat.instance or "")
        arguments = (beat.group, member, beat.epoch, beat.rebalance * MILLISECOND, beat.topics, names)
        error, member_epoch, partitions = self._ask(self._coordinator.consumer_heartbeat, *arguments)()
        if error:
            return error.name, None, numbers()
        assert partitions is not None  # these heartbeats say everything
        return "NONE", member_epoch, numbers(*(int(name.removeprefix("t-")) for name in partitions))

    def commit(self, group: str, name: str, generation: int, instance: str | None = None) -> str:
        arguments = (group, (name, instance or ""), generation, (("t-0", 7, -1),))
        return str(self._ask(self._coordinator.commit, *arguments)()[0].name)


def test_a_real_coordinator_and_the_simulators_say_the_same(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t", assignment=[[1, 2, 3]] * PARTITIONS)
    real = Real(kraft_cluster)
    assert conversation(real) == conversation(Simulated())
    real.set_interval("together", INTERVAL)
    assert [*within_the_interval(real)] == [*within_the_interval(Simulated(INTERVAL))]
