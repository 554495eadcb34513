"""The rules decide as Kafka's controllers do: against their sources restated with lists, and cases known from Kafka."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.controllers import (
    NONE,
    Partition,
    PartitionChange,
    ZooKeeperController,
    kraft_broker_shut_down_uncleanly,
    kraft_broker_stops,
)

from kreplica.engine.rules.controller import controlled_shutdown, elections, isr
from kreplica.engine.rules.replication import replica_set

BROKERS = [11, 5, 7, 3]
"""The assignment: places 0 to 3; ids in another order than places."""


def mask(brokers: list[int]) -> int:
    return sum(1 << BROKERS.index(broker) for broker in brokers)


def place(broker: int) -> int:
    return NONE if broker == NONE else BROKERS.index(broker)


def subset(of: list[int]) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(of), unique=True) if of else st.just([])


@dataclass(frozen=True)
class Case:
    partition: Partition
    active: list[int]
    min_isr: int
    unclean: bool


@st.composite
def cases(draw: st.DrawFn, elr: bool = True) -> Case:
    """States a controller may meet: an ELR outside the ISR, a leader in sync, a last leader where nobody leads."""
    replicas = BROKERS[: draw(st.integers(1, 4))]
    in_sync = draw(subset(replicas))
    rest = [broker for broker in replicas if broker not in in_sync]
    leader = draw(st.sampled_from([NONE, *in_sync]))
    partition = Partition(
        replicas,
        in_sync,
        leader,
        draw(subset(rest)) if elr else [],
        draw(subset(rest)) if elr and leader == NONE else [],
    )
    min_isr = draw(st.integers(1, len(replicas)))
    return Case(partition, draw(subset(replicas)), min_isr, draw(st.booleans()))


def kraft_answer(partition: Partition) -> tuple[int, int, int, int]:
    return place(partition.leader), mask(partition.isr), mask(partition.elr), mask(partition.last_known_elr)


@given(cases(), st.booleans())
def test_kraft_broker_stops(case: Case, elr_enabled: bool) -> None:
    before = case.partition
    for broker in before.replicas:
        expected = kraft_broker_stops(
            before, broker, case.active, case.min_isr, elr_enabled=elr_enabled, unclean=case.unclean
        )
        answer = controlled_shutdown.kraft_broker_stops(
            place(broker), *kraft_answer(before), mask(case.active), case.min_isr, elr_enabled, case.unclean
        )
        assert answer == kraft_answer(expected)


@given(cases())
def test_a_broker_that_shut_down_uncleanly_leaves_the_elr_too(case: Case) -> None:
    before = case.partition
    for broker in before.replicas:
        expected = kraft_broker_shut_down_uncleanly(before, broker, case.active, case.min_isr, unclean=case.unclean)
        answer = controlled_shutdown.kraft_broker_stops(
            place(broker), *kraft_answer(before), mask(case.active), case.min_isr, True, case.unclean, True
        )
        assert answer == kraft_answer(expected)


@given(cases(), st.booleans(), st.sampled_from(["PREFERRED", "ONLINE", "UNCLEAN"]))
def test_kraft_elections(case: Case, elr_enabled: bool, election: str) -> None:
    before = case.partition
    change = PartitionChange(
        before, case.active, case.min_isr, elr_enabled=elr_enabled, election=election, target_isr=before.isr
    )
    leader, unclean = change.elect_leader()
    facts = (*kraft_answer(before), mask(case.active), elr_enabled)
    if election == "PREFERRED":
        answer = elections.kraft_elect_preferred(*facts)
    else:
        answer = elections.kraft_elect(*facts, election == "UNCLEAN")
    assert answer == (place(leader), unclean)


@given(cases(), st.data())
def test_kraft_change_of_an_isr_by_its_leader(case: Case, data: st.DataObject) -> None:
    before = case.partition
    target = data.draw(subset(before.replicas))
    expected = PartitionChange(
        before, case.active, case.min_isr, elr_enabled=True, election="ONLINE", target_isr=target
    ).build()
    answer = isr.kraft_change(*kraft_answer(before), mask(target), mask(case.active), case.min_isr, True, False)
    assert answer == kraft_answer(expected)


@given(cases(elr=False), st.data())
def test_zookeeper_brokers_shut_down_one_after_the_other_and_then_go(case: Case, data: st.DataObject) -> None:
    partition = case.partition
    stopping = data.draw(st.lists(st.sampled_from(partition.replicas), unique=True, min_size=1))
    live = {*case.active, *stopping}
    controller = ZooKeeperController(partition, live, unclean=case.unclean)
    leader, in_sync, replicas = place(partition.leader), mask(partition.isr), mask(partition.replicas)
    alive, shutting_down = mask(list(live)), 0
    for broker in stopping:
        controller.controlled_shutdown(broker)
        shutting_down |= mask([broker])
        leader, in_sync = controlled_shutdown.zookeeper_controlled_shutdown(
            place(broker), leader, replicas, in_sync, alive, shutting_down
        )
        assert (leader, in_sync) == (place(controller.leader), mask(controller.isr))
    for broker in stopping:
        controller.broker_failure(broker)
        alive &= ~mask([broker])
        leader, in_sync = controlled_shutdown.zookeeper_broker_failure(
            place(broker), leader, replicas, in_sync, alive, case.unclean
        )
        assert (leader, in_sync) == (place(controller.leader), mask(controller.isr))


@given(cases())
def test_what_a_preferred_election_needs(case: Case) -> None:
    partition, online = case.partition, mask(case.active)
    for broker in partition.replicas:
        valid = PartitionChange(
            partition, case.active, 1, elr_enabled=True, election="ONLINE", target_isr=partition.isr
        ).is_valid_new_leader(broker)
        facts = (place(broker), mask(partition.isr), mask(partition.elr))
        assert (elections.leader_obstacle(*facts, online, -1) == elections.MAY_LEAD) is valid
        assert (elections.leader_obstacle(*facts, -1, online) == elections.MAY_LEAD) is valid
    in_zookeeper = elections.zookeeper_elect_preferred(mask(partition.isr), online)
    first = partition.replicas[0]
    assert in_zookeeper == (0 if first in partition.isr and first in case.active else NONE)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # (leader, isr, elr, last known, acceptable, min ISR, ELR, unclean): broker at place 0 stops.
        ((0, 0b111, 0, 0, 0b111, 2, True, False), (1, 0b110, 0, 0)),
        ((0, 0b011, 0, 0, 0b111, 2, True, False), (1, 0b010, 0b001, 0)),
        ((0, 0b001, 0b010, 0, 0b111, 2, True, False), (1, 0b010, 0b001, 0)),  # a live ELR member takes over
        ((0, 0b001, 0b010, 0, 0b101, 2, True, False), (NONE, 0, 0b011, 0b001)),
        ((0, 0b001, 0, 0, 0b111, 1, False, False), (NONE, 0b001, 0, 0)),  # the last replica standing stays in the ISR
        ((0, 0b001, 0, 0, 0b111, 1, False, True), (1, 0b010, 0, 0)),  # unclean: records are lost
        ((1, 0b110, 0, 0, 0b111, 2, True, False), (1, 0b110, 0, 0)),  # not in the ISR: nothing changes
    ],
)
def test_kraft_cases(facts: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert controlled_shutdown.kraft_broker_stops(0, *facts) == expected  # type: ignore[arg-type]


def test_kafka_19522_the_last_known_leader_has_to_be_back() -> None:
    assert elections.kraft_elect(NONE, 0, 0, 0b100, 0b011, True, False) == (NONE, False)
    assert elections.kraft_elect(NONE, 0, 0, 0b100, 0b111, True, False) == (2, True)


@given(st.sets(st.integers(0, 99)))
def test_sets_of_any_size(members: set[int]) -> None:
    replicas = sum(1 << member for member in members)
    assert replica_set.size(replicas) == len(members)
    assert replica_set.first(replicas) == min(members, default=NONE)
    assert replica_set.members(replicas) == sorted(members)
    assert all(replica_set.contains(replicas, one) is (one in members) for one in range(-1, 101))


def test_who_is_not_in_the_isr_changes_nothing_by_going_offline() -> None:
    """ReplicaStateMachine.doRemoveReplicasFromIsr looks only at partitions whose ISR has the replica."""
    assert isr.zookeeper_remove_from_isr(2, 2, 0b011) == (2, 0b011)


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("in_sync", [True, False])
def test_what_keeps_a_replica_from_leading(active: bool, online: bool, in_sync: bool) -> None:
    """The first of isValidNewLeader's conditions that fails: a broker that is gone explains the rest."""
    failing = [
        (active, elections.BROKER_NOT_ACTIVE),
        (online, elections.REPLICA_OFFLINE),
        (in_sync, elections.NOT_IN_SYNC),
    ]
    expected = next((obstacle for holds, obstacle in failing if not holds), elections.MAY_LEAD)
    own = 0b010
    active_set, online_set = own if active else 0b101, own if online else 0b101
    assert elections.leader_obstacle(1, own if in_sync else 0b101, 0, active_set, online_set) == expected
    assert elections.leader_obstacle(1, 0, own if in_sync else 0b101, active_set, online_set) == expected, "of the ELR"
    assert len({elections.MAY_LEAD, *(obstacle for _, obstacle in failing)}) == 4


def test_who_led_last_leads_only_where_nobody_else_may() -> None:
    """PartitionChangeBuilder.canElectLastKnownLeader: ISR and ELR are empty, one is known, and it is back."""
    last = elections.kraft_last_known_leader
    assert last(0, 0, 0b010, 0b110, True) == 1
    assert last(0, 0, 0b010, 0b101, True) == NONE
    assert last(0b001, 0, 0b010, 0b110, True) == NONE
    assert last(0, 0b001, 0b010, 0b110, True) == NONE
    assert last(0, 0, 0b011, 0b111, True) == NONE
    assert last(0, 0, 0, 0b111, True) == NONE
    assert last(0, 0, 0b010, 0b110, False) == NONE


def test_in_zookeeper_mode_who_is_in_sync_and_not_assigned_does_not_lead() -> None:
    """PartitionLeaderElectionAlgorithms look through the assignment; an ISR may have others in it (KAFKA-9672)."""
    assigned, isr, live = 0b0011, 0b0101, 0b0110
    assert elections.zookeeper_elect_offline(assigned, isr, live, False) == NONE
    assert elections.zookeeper_elect_offline(assigned, isr, live, True) == 1
    assert elections.zookeeper_elect_offline(assigned, isr, 0b0100, True) == NONE
    assert elections.zookeeper_elect_controlled_shutdown(assigned, isr, 0b0111, 0b0001) == NONE
    assert elections.zookeeper_elect_controlled_shutdown(assigned, 0b0110, 0b0111, 0b0001) == 1
