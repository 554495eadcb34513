"""Brokers, other controllers and epochs, as controllers keep track of them: Kafka's own cases and closed forms."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.controllers import NONE, Partition, ZooKeeperController

from kreplica.engine.rules.controller import (
    broker_failure,
    broker_registration,
    controlled_shutdown,
    controller_election,
    leader_epoch_bump,
    unclean_election,
    zookeeper_isr,
)
from kreplica.engine.rules.controller.balance import kraft_passes, zookeeper_balances
from kreplica.engine.rules.controller.elections import zookeeper_leader_for_offline
from kreplica.engine.rules.controller.elr_index import listed, unlisted
from kreplica.engine.rules.controller.zookeeper_session import session_is_over
from kreplica.engine.rules.replication import log_directory, quorum
from kreplica.engine.versions.supported import version_named

REPLICAS = [0, 1, 2, 3]
sets = st.lists(st.sampled_from(REPLICAS), unique=True)


def mask(brokers: list[int]) -> int:
    return sum(1 << broker for broker in brokers)


@given(sets.filter(bool), sets, sets, st.data(), st.booleans())
def test_brokers_that_fail_together(
    isr: list[int], gone: list[int], others: list[int], data: st.DataObject, unclean: bool
) -> None:
    leader = data.draw(st.sampled_from([NONE, *isr]))
    live = [broker for broker in others if broker not in gone]
    controller = ZooKeeperController(Partition(REPLICAS, isr, leader, [], []), live, unclean=unclean)
    if gone and leader not in live:
        controller.elect_for_offline()
    for broker in sorted(gone):
        controller.remove_replica_from_isr(broker)
    answer = broker_failure.zookeeper_brokers_fail(mask(gone), leader, mask(REPLICAS), mask(isr), mask(live), unclean)
    assert answer == (controller.leader, mask(controller.isr))


@given(sets.filter(bool), sets, st.booleans())
def test_a_leader_for_a_partition_without_one(isr: list[int], live: list[int], unclean: bool) -> None:
    controller = ZooKeeperController(Partition(REPLICAS, isr, NONE, [], []), live, unclean=unclean)
    controller.elect_for_offline()
    answer = zookeeper_leader_for_offline(mask(REPLICAS), mask(isr), mask(live), unclean)
    assert answer == (controller.leader, mask(controller.isr))


def test_set_p_is_every_partition_of_a_broker_that_is_gone() -> None:
    assignments = ((1, 2), (2, 3), (3, 1), (3, 4))
    assert broker_failure.failed_partitions(assignments, (1,)) == (0, 2)
    assert broker_failure.failed_partitions(assignments, (1, 4)) == (0, 2, 3)
    assert broker_failure.failed_partitions(assignments, ()) == ()


def test_brokers_that_are_new_gone_and_bounced() -> None:
    assert broker_failure.brokers_changed({1: 10, 2: 11, 3: 12}, {2: 11, 3: 15, 4: 16}) == ((4,), (1,), (3,))
    known, registered = {6: 1, 1: 2, 5: 3, 2: 4}, {9: 8, 5: 13, 2: 14, 7: 9}
    assert broker_failure.brokers_changed(known, registered) == ((7, 9), (1, 6), (2, 5)), "in the order of their ids"


@pytest.mark.parametrize("unclean", [True, False])
@pytest.mark.parametrize("leader", [NONE, 0, 1])
@pytest.mark.parametrize("replica", [0, 1])
def test_old_controllers_could_empty_an_isr(replica: int, leader: int, unclean: bool) -> None:
    """KafkaController.removeReplicaFromIsr of 1.0: "Retaining last ISR" only without unclean elections."""
    for isr in ([], [0], [1], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        expected = leader, isr
        if replica in isr:
            others = [one for one in isr if one != replica]
            expected = NONE if leader == replica else leader, others if others or unclean else isr
        answer = broker_failure.zookeeper_remove_from_isr_until_1_0(replica, leader, mask(isr), unclean)
        assert answer == (expected[0], mask(expected[1])), isr


def test_who_is_told() -> None:
    assert broker_failure.told_of_change(0b111, 0b1011, 0) == 0b011
    assert broker_failure.told_of_change(0b111, 0b111, 0b010) == 0b101


@pytest.mark.parametrize(
    ("now", "change", "propagation", "expected"),
    [
        (7_500, 2_500, 0, False),
        (7_501, 2_500, 0, True),
        (60_000, 59_000, 0, False),
        (60_001, 59_000, 0, True),
        (70_000, 69_000, 10_000, False),
        (70_001, 69_000, 10_000, True),
    ],
)
def test_isr_changes_are_told_after_5_or_60_seconds(now: int, change: int, propagation: int, expected: bool) -> None:
    """IsrExpirationTest and ReplicaManager: nothing new for 5 s, or nothing told for 60 s; both strictly."""
    assert zookeeper_isr.propagates(True, now, change, propagation) is expected
    assert not zookeeper_isr.propagates(False, now, change, propagation)


def test_a_lone_isr_change_is_told_within_seven_and_a_half_seconds() -> None:
    assert zookeeper_isr.CHECK_INTERVAL_MS == 2_500, "IsrChangePropagationConfig.checkIntervalMs"
    for change in range(0, 2_500, 100):
        checks = range(0, 60_000, zookeeper_isr.CHECK_INTERVAL_MS)
        told = next(now for now in checks if now > change and zookeeper_isr.propagates(True, now, change, 0))
        assert 5_000 < told - change <= 7_500


def test_conditional_writes() -> None:
    assert zookeeper_isr.conditional_write(4, 4, False) == 5
    assert zookeeper_isr.conditional_write(5, 4, False) == zookeeper_isr.NOT_WRITTEN == -1, "no version of a znode"
    assert zookeeper_isr.conditional_write(5, 4, True) == 5  # our own earlier try


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_one_of_several_becomes_controller(order: list[int]) -> None:
    """All read the same epoch; whoever writes first wins, and nobody else in that round."""
    epoch, version, taken, elected = 7, 3, False, []
    for broker in order:
        answer = controller_election.controller_epoch(epoch, version, 3, taken)
        if answer != controller_election.NOT_ELECTED:
            elected.append(broker)
            epoch, version, taken = answer, version + 1, True
    assert elected == order[:1]
    assert epoch == 8


@pytest.mark.parametrize(
    ("version", "taken", "expected"), [(3, False, 8), (3, True, -1), (4, False, -1), (2, False, -1), (4, True, -1)]
)
def test_a_controller_needs_both_znodes(version: int, taken: bool, expected: int) -> None:
    """KafkaZkClient.registerControllerAndIncrementControllerEpoch: create and conditional write, or neither."""
    assert controller_election.controller_epoch(7, version, 3, taken) == expected


@pytest.mark.parametrize(
    ("controller", "epoch", "own"), [(1, 8, True), (1, 7, False), (2, 8, False), (1, 9, False), (2, 7, False)]
)
def test_an_election_whose_answer_was_lost_is_known_by_broker_and_epoch(controller: int, epoch: int, own: bool) -> None:
    """KafkaZkClient.checkControllerAndEpoch: an earlier run of the broker has an earlier epoch."""
    assert controller_election.is_own_election(controller, epoch, 1, 8) is own


def test_deposed_controllers_are_refused() -> None:
    assert controller_election.stale_controller(7, 8)
    assert not controller_election.stale_controller(8, 8)
    assert controller_election.state_written_by_newer(8, 7)
    assert not controller_election.state_written_by_newer(7, 7)


def test_watches() -> None:
    """1000 partitions of three replicas on ten brokers: two followers each, against one a broker and one more."""
    assert controller_election.watches_by_replicas(1_000, 3) == 2_000
    assert controller_election.watches_by_controller(10) == 11


def test_sessions_end_one_broker_at_a_time() -> None:
    """BrokerHeartbeatManagerTest: the stalest first, and only once it is over the session; since 4.0 by places."""
    contacts = (1_000, 0, 5_000)
    assert broker_registration.stale_broker(20_000, contacts, 0b111, 9_000, (2, 1, 0)) == 2
    assert broker_registration.stale_broker(20_000, contacts, 0b111, 9_000, (1, 1, 1)) == 0
    assert broker_registration.stale_broker(10_000, contacts, 0b111, 9_000, (2, 1, 0)) == 1
    assert broker_registration.stale_broker(9_000, contacts, 0b111, 9_000, contacts) == broker_registration.NO_BROKER
    assert broker_registration.stale_broker(9_001, contacts, 0b111, 9_000, contacts) == 1
    assert broker_registration.stale_broker(20_000, contacts, 0b101, 9_000, contacts) == 0
    assert broker_registration.stale_broker(20_000, contacts, 0b111, 9_000, contacts) == 1
    assert broker_registration.stale_broker(20_000, contacts, 0b100, 9_000, contacts) == 2
    assert broker_registration.stale_broker(20_000, contacts, 0, 9_000, contacts) == broker_registration.NO_BROKER


def test_of_brokers_heard_of_at_the_same_time_the_first_is_fenced_first() -> None:
    """BrokerHeartbeatStateList.add puts a broker behind those with the same time."""
    contacts = (2_000, 1_000, 1_000)
    assert broker_registration.stale_broker(20_000, contacts, 0b111, 9_000, contacts) == 1


def state_after_heartbeat(state: str, fence: bool, shutdown: bool, caught_up: bool, leads: bool, all_know: bool) -> str:
    """BrokerHeartbeatManager.calculateNextBrokerState, case by case."""
    match state:
        case "FENCED" if shutdown:
            return "SHUTDOWN_NOW"
        case "FENCED":
            return "UNFENCED" if not fence and caught_up else "FENCED"
        case "UNFENCED" if fence:
            return "SHUTDOWN_NOW" if shutdown else "FENCED"
        case "UNFENCED":
            granted = "CONTROLLED_SHUTDOWN" if leads else "SHUTDOWN_NOW"
            return granted if shutdown else "UNFENCED"
        case "CONTROLLED_SHUTDOWN":
            return "CONTROLLED_SHUTDOWN" if leads or not all_know else "SHUTDOWN_NOW"
    return "SHUTDOWN_NOW"


STATES = {
    name: getattr(broker_registration, name) for name in ("FENCED", "UNFENCED", "CONTROLLED_SHUTDOWN", "SHUTDOWN_NOW")
}


@pytest.mark.parametrize("state", STATES)
def test_states_of_a_broker(state: str) -> None:
    """Registered at offset 100, its leaderships moved by offset 200."""
    assert len(set(STATES.values())) == 4
    asked = product((False, True), (False, True), (99, 100, 101), (0, 1, 2), (199, 200, 201))
    for fence, shutdown, read, leads, lowest in asked:
        expected = state_after_heartbeat(state, fence, shutdown, read >= 100, leads > 0, lowest >= 200)
        found = broker_registration.next_state(STATES[state], fence, shutdown, read, 100, leads, 200, lowest)
        assert found == STATES[expected], (fence, shutdown, read, leads, lowest)


def test_waits_between_heartbeats() -> None:
    """BrokerLifecycleManager: 10 ms while it catches up, 50 ms the first time it is not let go, else the interval."""
    wait = broker_registration.heartbeat_wait
    assert wait(False, False, False, 2_000) == 10
    assert wait(True, False, False, 2_000) == 2_000
    assert wait(True, True, False, 2_000) == 50
    assert wait(True, True, True, 2_000) == 2_000


@pytest.mark.parametrize(
    ("release", "waits"),
    [
        ("3.9.1-kraft", [100, 200, 400, 800, 1_600, 3_200, 6_400, 9_000, 9_000]),
        ("3.9.2-kraft", [2_000] * 9),
        ("4.0.0", [100, 200, 400, 800, 1_600, 3_200, 4_500, 4_500, 4_500]),
        ("4.0.1", [2_000] * 9),
        ("4.3.1", [2_000] * 9),
    ],
)
def test_waits_after_failures(release: str, waits: list[int]) -> None:
    """BrokerLifecycleManager: ExponentialBackoff(100, 2, session or half of it, 0.02), or the interval; no jitter."""
    resends = version_named(release).resends
    assert [broker_registration.resend_wait(failures, 9_000, 2_000, resends) for failures in range(9)] == waits


def test_registering() -> None:
    assert broker_registration.registration_refused(True, False)
    assert not broker_registration.registration_refused(True, True)
    assert not broker_registration.registration_refused(False, False)
    assert broker_registration.shut_down_uncleanly(-1, 10, True)
    assert not broker_registration.shut_down_uncleanly(10, 10, True)
    assert not broker_registration.shut_down_uncleanly(-1, -1, True)  # never here before
    assert not broker_registration.shut_down_uncleanly(10, -1, True)  # under another cluster's epoch
    assert broker_registration.shut_down_uncleanly(-1, 0, True)
    assert not broker_registration.shut_down_uncleanly(-1, 10, False)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=7), st.integers(0, 20), st.integers(0, 20))
def test_a_quorum_commits_what_a_majority_has(ends: list[int], epoch_start: int, before: int) -> None:
    held = [offset for offset in range(21) if sum(end >= offset for end in ends) > len(ends) // 2]
    expected = max([before, *held]) if max(held) > epoch_start else before
    assert quorum.quorum_high_watermark(tuple(ends), epoch_start, before) == expected


@given(st.lists(st.integers(1, 100), max_size=6).filter(lambda items: len(items) % 2 == 0))
def test_a_quorum_bears_slow_followers(latencies: list[int]) -> None:
    """Of 2f followers the f-th fastest decides; f may be as slow as they like."""
    f = len(latencies) // 2
    slow = sorted(latencies)[:f] + [10_000] * f
    assert quorum.quorum_commit_latency(tuple(slow)) == quorum.quorum_commit_latency(tuple(latencies))
    assert quorum.has_majority(2 * f + 1, f + 1)
    assert not quorum.has_majority(2 * f + 1, f)
    assert (quorum.copies_needed(f, True), quorum.copies_needed(f, False)) == (2 * f + 1, f + 1)


@given(st.lists(st.integers(1, 100), max_size=6))
def test_a_quorum_commits_once_more_than_half_of_the_voters_have_it(latencies: list[int]) -> None:
    times = [time for time in range(101) if 2 * (1 + sum(one <= time for one in latencies)) > len(latencies) + 1]
    assert quorum.quorum_commit_latency(tuple(latencies)) == times[0]


def test_a_quorum_leader_without_a_majority_resigns() -> None:
    assert not quorum.resigns_without_fetches(2_999, 2_000)
    assert quorum.resigns_without_fetches(3_000, 2_000)


@pytest.mark.parametrize(
    ("changed", "new_isr", "new_replicas", "old_version", "expected"),
    [
        # PartitionChangeBuilderTest.testTriggerLeaderEpochBumpIfNeeded and its kin, from leader epoch 100
        (False, 0b111, 0b111, False, 100),
        (True, 0b111, 0b111, False, 101),
        (False, 0b011, 0b111, False, 100),  # KAFKA-15021: not any more
        (False, 0b011, 0b111, True, 101),
        (False, 0b1111, 0b111, True, 100),
        (False, 0b011, 0b011, False, 101),
    ],
)
def test_leader_epochs_of_kraft(
    changed: bool, new_isr: int, new_replicas: int, old_version: bool, expected: int
) -> None:
    epoch = leader_epoch_bump.kraft_leader_epoch(100, changed, 0b111, new_isr, 0b111, new_replicas, old_version)
    assert epoch == expected


def test_leader_epochs_of_zookeeper() -> None:
    assert leader_epoch_bump.zookeeper_leader_epoch(7, by_leader=True) == 7
    assert leader_epoch_bump.zookeeper_leader_epoch(7, by_leader=False) == 8
    assert leader_epoch_bump.partition_epoch(7, True) == 8
    assert leader_epoch_bump.partition_epoch(7, False) == 7


@pytest.mark.parametrize(
    ("failed", "tolerated", "metadata", "expected"),
    [
        (0, False, False, False),
        (1, False, False, True),
        (1, True, False, False),
        (1, True, True, True),
        (2, True, False, True),
    ],
)
def test_which_failed_directories_stop_a_broker(failed: int, tolerated: bool, metadata: bool, expected: bool) -> None:
    assert log_directory.broker_stops(failed, 2, tolerated, metadata) is expected


def test_unclean_elections_without_anybody_asking() -> None:
    assert unclean_election.kraft_rechecks(NONE, True)
    assert not unclean_election.kraft_rechecks(NONE, False)
    assert not unclean_election.kraft_rechecks(1, True)
    assert unclean_election.zookeeper_reacts_to_setting(False, True)
    assert not unclean_election.zookeeper_reacts_to_setting(True, True)
    assert unclean_election.recovering_after(True, False, False)
    assert unclean_election.recovering_after(False, True, False)
    assert not unclean_election.recovering_after(False, True, True)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("third", [True, False])
def test_when_unclean_elections_are_looked_for_and_how_long_a_leader_recovers(
    first: bool, second: bool, third: bool
) -> None:
    """processUncleanLeaderElectionEnable needs the setting; LeaderRecoveryState ends with the leader's next ISR."""
    assert unclean_election.zookeeper_reacts_to_setting(first, second) is (second and not first)
    recovers = True if first else second and not third
    assert unclean_election.recovering_after(first, second, third) is recovers


@pytest.mark.parametrize(
    ("non_preferred", "preferred", "balances"), [(0, 10, False), (1, 10, False), (2, 19, True), (2, 20, False)]
)
def test_zookeepers_controller_balances_above_the_ratio(non_preferred: int, preferred: int, balances: bool) -> None:
    """KafkaController.checkAndTriggerAutoLeaderRebalance: imbalanceRatio > percentage / 100, here 10 %."""
    assert zookeeper_balances(non_preferred, preferred, 10) is balances


@pytest.mark.parametrize(("electable", "passes"), [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (3_000, 3)])
def test_krafts_controller_balances_a_thousand_partitions_a_pass(electable: int, passes: int) -> None:
    assert kraft_passes(electable) == passes


@pytest.mark.parametrize(("now", "over"), [(5, False), (6, True), (7, True)])
def test_a_session_of_zookeeper_ends_at_its_deadline(now: int, over: bool) -> None:
    """ExpiryQueue.poll gives a bucket out unless now < its expiration time."""
    assert session_is_over(now, 6) is over


@pytest.mark.parametrize(
    ("entries", "partition", "left"),
    [
        ((3,), 3, ()),
        ((3, 1, 2), 1, (3, 2)),
        ((3, 1, 3), 3, (1, 0)),  # both go, and one of the places of int[] stays 0
        ((3, 3), 3, (0,)),
        ((1, 3, 3, 3), 3, (1, 0, 0)),
    ],
)
def test_the_list_of_elrs_gets_one_shorter_whatever_it_loses(
    entries: tuple[int, ...], partition: int, left: tuple[int, ...]
) -> None:
    """BrokersToElrs.remove copies the others into a new int[length - 1]; add appends."""
    assert unlisted(entries, partition) == left
    assert listed(entries, partition) == (*entries, partition)


@pytest.mark.parametrize(
    ("leader", "replicas", "isr", "expected"),
    [
        (0, 0b01, 0b01, (0, 0b01)),  # nobody else can lead
        (0, 0b11, 0b11, (1, 0b10)),
        (1, 0b11, 0b11, (1, 0b10)),
        (0, 0b11, 0b01, (0, 0b01)),
        (1, 0b01, 0b11, (1, 0b11)),  # one replica is left alone, even where the ISR has another (KAFKA-9672)
    ],
)
def test_a_broker_that_is_asked_to_stop_gives_up_what_has_another_replica(
    leader: int, replicas: int, isr: int, expected: tuple[int, int]
) -> None:
    """KafkaController.doControlledShutdown looks at partitions with a replication factor above 1."""
    assert controlled_shutdown.zookeeper_controlled_shutdown(0, leader, replicas, isr, 0b11, 0b01) == expected
