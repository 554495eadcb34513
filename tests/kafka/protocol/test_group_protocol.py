"""One conversation with a group coordinator, a real one and the simulator's: both give the same answers.

Members of the classic protocol join, sync, commit, leave and fall silent, word by word as consumers say it: no client
library decides when. What a step is told is compared, whatever the time it takes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest
from engine.conversations import OneBroker
from real_clusters.coordinators import RealCoordinator
from waiting import until

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import MILLISECOND, TopicSetup
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.model.internal_topics import OFFSETS_TOPIC
from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

NOBODY, OUTSIDE = "", -1
PATIENT, IMPATIENT = 120_000, 6_000
"""Session timeouts in milliseconds: one that no slow machine reaches, and the least that brokers take."""
SHARES = {"a": "t-0", "b": "t-1"}
"""Assignment by the leader of a group."""

Answer = tuple[str, object, object]
Later = Callable[[], Answer]


class Coordinator(Protocol):
    """A group's coordinator. Members are told by a name of the test; who has no id yet asks for one.

    ``join`` and ``sync`` may be parked: they give a function that waits for the answer. It is the error, the generation
    and whether the member leads, or the error and what is assigned to it.
    """

    ids: dict[str, str]

    def join(self, group: str, name: str, instance: str | None = None, session: int = PATIENT) -> Later: ...
    def sync(self, group: str, name: str, generation: int, leads: bool) -> Later: ...
    def heartbeat(self, group: str, name: str, generation: int, instance: str | None = None) -> str: ...
    def commit(self, group: str, name: str, generation: int, instance: str | None = None) -> str: ...
    def leave(self, group: str, name: str) -> str: ...
    def wait(self, condition: Callable[[], bool], what: str) -> None: ...


def two_members(on: Coordinator) -> Iterator[tuple[str, object]]:
    """One joins, another comes and goes, the first goes too and a third begins anew."""
    yield "a is the first member", on.join("g", "a")()
    yield "a assigns", on.sync("g", "a", 1, True)()
    yield "heartbeats", [on.heartbeat("g", name, of) for name, of in (("a", 1), ("a", 0), ("stranger", 1))]
    yield "commits", [on.commit("g", name, of) for name, of in (("a", 1), ("a", 0), ("stranger", 1), (NOBODY, OUTSIDE))]
    b = on.join("g", "b")
    on.wait(lambda: on.heartbeat("g", "a", 1) == "REBALANCE_IN_PROGRESS", "a to hear that b joins")
    yield "while b waits", [on.commit("g", "a", 1), on.commit("g", "a", 0), on.sync("g", "a", 1, True)()]
    yield "a joins again", on.join("g", "a")()
    yield "and b is told", b()
    yield "between join and sync", [on.heartbeat("g", "a", 2), on.commit("g", "a", 2), on.commit("g", "a", 1)]
    b = on.sync("g", "b", 2, False)
    yield "shares", (on.sync("g", "a", 2, True)(), b())
    yield "b leaves", [on.leave("g", "b"), on.heartbeat("g", "a", 2), on.commit("g", "b", 2), on.leave("g", "b")]
    yield "a alone", (on.join("g", "a")(), on.sync("g", "a", 3, True)())
    yield "and a", [on.leave("g", "a"), on.commit("g", "a", 3), on.commit("g", NOBODY, OUTSIDE)]
    yield "a has an id that is gone", on.join("g", "a")()
    yield "the empty group was generation 4", on.join("g", "c")()


def static_members(on: Coordinator) -> Iterator[tuple[str, object]]:
    """A second process takes the instance over: no rebalance, and the first one is fenced."""
    yield "joins", (on.join("s", "first", "one")(), on.sync("s", "first", 1, True)())
    yield "is replaced", on.join("s", "second", "one")()
    yield "heartbeats", [on.heartbeat("s", name, 1, "one") for name in ("first", "second")]
    yield "commits", [on.commit("s", name, 1, "one") for name in ("first", "second")]


def silence(on: Coordinator) -> Iterator[tuple[str, object]]:
    """A member that is not heard of within its session is out, and the group empty."""
    yield "joins", (on.join("x", "silent", session=IMPATIENT)(), on.sync("x", "silent", 1, True)())
    yield "from outside", on.commit("x", NOBODY, OUTSIDE)
    on.wait(lambda: on.commit("x", NOBODY, OUTSIDE) == "NONE", "the session to be over")
    yield "too late", [on.heartbeat("x", "silent", 1), on.commit("x", "silent", 1)]
    yield "who comes then", on.join("x", "next")()


def conversation(on: Coordinator) -> list[tuple[str, object]]:
    return [*two_members(on), *static_members(on), *silence(on)]


class Real(RealCoordinator):
    """A broker's coordinator, asked over the wire."""

    def __init__(self, sandbox: Sandbox, threads: ThreadPoolExecutor) -> None:
        super().__init__(sandbox)
        self._threads = threads

    def join(self, group: str, name: str, instance: str | None = None, session: int = PATIENT) -> Later:
        from kafka.protocol.consumer.group import JoinGroupRequest, JoinGroupResponse

        subscription = struct.pack(">hih1si", 0, 1, 1, b"t", -1)
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription)]

        def ask() -> Answer:
            request = JoinGroupRequest(
                group_id=group,
                session_timeout_ms=session,
                rebalance_timeout_ms=PATIENT,
                member_id=self.ids.get(name, NOBODY),
                group_instance_id=instance,
                protocol_type="consumer",
                protocols=protocols,
                reason=None,
            )
            answer = self.send(group, request, JoinGroupResponse)
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394: it asks again with the id
                self.ids[name] = answer.member_id
                return ask()
            if answer.error_code == 0:
                self.ids[name] = answer.member_id
            return ErrorCode(answer.error_code).name, answer.generation_id, answer.leader == self.ids.get(name)

        return self._threads.submit(ask).result

    def sync(self, group: str, name: str, generation: int, leads: bool) -> Later:
        from kafka.protocol.consumer.group import SyncGroupRequest, SyncGroupResponse

        shares = {self.ids[one]: share for one, share in SHARES.items() if one in self.ids} if leads else {}
        assigned = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=one, assignment=share.encode())
            for one, share in shares.items()
        ]
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=self.ids[name],
            group_instance_id=None,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assigned,
        )

        def ask() -> Answer:
            answer = self.send(group, request, SyncGroupResponse)
            return ErrorCode(answer.error_code).name, bytes(answer.assignment).decode(), None

        return self._threads.submit(ask).result

    def leave(self, group: str, name: str) -> str:
        from kafka.protocol.consumer.group import LeaveGroupRequest, LeaveGroupResponse

        member = LeaveGroupRequest.MemberIdentity(member_id=self.ids[name], group_instance_id=None, reason=None)
        answer = self.send(group, LeaveGroupRequest(group_id=group, members=[member]), LeaveGroupResponse)
        return ErrorCode(answer.error_code or answer.members[0].error_code).name

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, what)


class Simulated:
    """The simulator's coordinator, asked without a network; its time runs while an answer is waited for."""

    def __init__(self) -> None:
        topics = (TopicSetup("t", ((1,), (1,))), TopicSetup(OFFSETS_TOPIC, ((1,),)))
        world = OneBroker("4.1", *topics, group_initial_rebalance_delay_ms=0)
        self._coordinator = GroupCoordinator.of(world.broker)
        self._ask, self.wait = world.ask, world.wait
        self.ids: dict[str, str] = {}

    def join(self, group: str, name: str, instance: str | None = None, session: int = PATIENT) -> Later:
        member = (self.ids.get(name, NOBODY), instance or "")
        timeouts = (session * MILLISECOND, PATIENT * MILLISECOND)
        later = self._ask(self._coordinator.join, group, name, member, timeouts, ("t",), ())
        if name not in self.ids and instance is None:  # KIP-394: it is given an id at once, and asks again with that
            error, _, self.ids[name], _, _ = later()
            assert error is ErrorCode.MEMBER_ID_REQUIRED
            return self.join(group, name, instance, session)

        def answer() -> Answer:
            error, generation, member_id, leader, _ = later()
            self.ids[name] = self.ids[name] if error else member_id
            return error.name, generation, leader == self.ids[name]

        return answer

    def sync(self, group: str, name: str, generation: int, leads: bool) -> Later:
        shares = tuple((self.ids[one], (share,)) for one, share in SHARES.items() if one in self.ids) if leads else ()
        later = self._ask(self._coordinator.sync, group, (self.ids[name], ""), generation, shares)

        def answer() -> Answer:
            error, partitions = later()
            return error.name, "".join(partitions), None

        return answer

    def heartbeat(self, group: str, name: str, generation: int, instance: str | None = None) -> str:
        member = (self.ids.get(name, name), instance or "")
        return str(self._ask(self._coordinator.heartbeat, group, member, generation)()[0].name)

    def commit(self, group: str, name: str, generation: int, instance: str | None = None) -> str:
        member = (self.ids.get(name, name), instance or "")
        return str(self._ask(self._coordinator.commit, group, member, generation, (("t-0", 7, -1),))()[0].name)

    def leave(self, group: str, name: str) -> str:
        return str(self._ask(self._coordinator.leave, group, self.ids[name])()[0].name)


def test_a_real_coordinator_and_the_simulators_say_the_same(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t", assignment=[[1, 2, 3], [2, 3, 1]])
    with ThreadPoolExecutor(4) as threads:
        told = conversation(Real(kraft_cluster, threads))
    assert told == conversation(Simulated())
