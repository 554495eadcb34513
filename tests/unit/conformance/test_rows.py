"""The rows of conformance in the engine alone: each can be played in its modes, and comparisons see what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conformance.engine_side import EngineSide
from conformance.internal_topics import group_led_by
from conformance.play import late
from conformance.reading import NO_REPLICA, NOT_READABLE, Disk, Position, Reading, Told, differences
from conformance.rows import BY_NAME, ROWS
from conformance.script import Kill, Row, Step
from conformance.timers import Timer, bounds
from suite.second_python import first_on_each

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.engine.setup import PartitionStart, TopicSetup
from kreplica.sandbox.distribution.releases import NEWEST, Mode

SETTINGS = {
    "replica.lag.time.max.ms": "4000",
    "broker.session.timeout.ms": "10000",
    "zookeeper.session.timeout.ms": "10000",
    "auto.leader.rebalance.enable": "false",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "1000",
}
ASSIGNMENT = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
TRANSACTIONS = TopicSetup("__transaction_state", ASSIGNMENT, {"min.insync.replicas": 2})
GROUPS = TopicSetup("__consumer_offsets", ASSIGNMENT, {}, dict(enumerate(map(PartitionStart, (1, 2, 3), ASSIGNMENT))))


def played(row: Row, mode: str) -> list[Reading]:
    internal = [TRANSACTIONS] * row.transacts + [GROUPS] * row.commits
    group = group_led_by(2, "t", GROUPS)
    return list(EngineSide(row, "t", NEWEST[Mode(mode)], SETTINGS, internal, group).readings())


@pytest.mark.parametrize("row", first_on_each(ROWS), ids=lambda row: row.name)
def test_a_row_can_be_played(row: Row) -> None:
    for mode in row.modes:
        assert len(played(row, mode)) == 1 + len(row.steps)


def test_there_are_as_many_rows_as_were_asked_for() -> None:
    for mode in ("kraft", "zookeeper"):
        assert sum(mode in row.modes for row in ROWS) >= 25


def test_a_move_that_is_left_over_ends_in_kraft_as_an_election_is_asked_for() -> None:
    """PartitionChangeBuilder.completeReassignmentIfNeeded: a smaller assignment is a new leader epoch."""
    readings = played(BY_NAME["move-left-over"], "kraft")
    assert readings[4].told[1] == Told(1, 1, (1,), ())
    assert readings[5].told[1] == Told(1, 2, (1,), ())
    assert readings[6].disks[2] == NO_REPLICA


def test_what_a_killed_follower_misses_and_gets() -> None:
    """Kafka's documentation of replication: out of the ISR while it is away, in it once it has everything."""
    readings = played(BY_NAME["follower-killed"], "kraft")
    away, back = readings[3], readings[4]
    assert away.told == {1: Told(1, 0, (1, 2), ()), 2: Told(1, 0, (1, 2), ()), 3: NOT_READABLE}
    assert away.positions == {1: Position(3, 3, 3), 2: Position(3, 3, 3), 3: NOT_READABLE}
    assert back.told[3] == Told(1, 0, (1, 2, 3), ())
    assert readings[-1].client == ("a at 0", "b at 1", "c at 2")


def test_clients_of_zookeeper_mode_are_told_by_update_metadata_alone() -> None:
    """ControllerChannelManager sends it once LeaderAndIsr is answered, which the cut link of broker 2 prevents."""
    begun = played(BY_NAME["move-left-over"], "zookeeper")[3]
    assert begun.told[1] == Told(2, 2, (2,), None)
    assert begun.told[2] == Told(2, 1, (2,), None)
    leader = begun.disks[2]
    assert isinstance(leader, Disk)
    assert leader.epochs == ((0, 0), (2, 1)), "it leads in the epoch that it does not tell"


def test_a_difference_of_each_kind_is_named() -> None:
    one = played(BY_NAME["follower-killed"], "zookeeper")[-1]
    position = one.positions[2]
    assert isinstance(position, Position)
    other = replace(one, positions={**one.positions, 2: replace(position, high_watermark=2)}, client=())
    other = replace(other, told={**one.told, 3: NOT_READABLE})
    assert [each.what for each in differences(one, other)] == [
        "broker 3: told",
        "broker 2: positions.high_watermark",
        "client",
    ]
    assert not differences(one, one)


@pytest.mark.parametrize(
    ("timer", "settings", "expected"),
    [
        (Timer.NONE, SETTINGS, (0, 0)),
        (Timer.LAG, SETTINGS, (4, 6)),  # Kafka's own words: within 1 to 1.5 times replica.lag.time.max.ms
        (Timer.SESSION, SETTINGS, (8, 12)),
        (Timer.SESSION, {**SETTINGS, "zookeeper.connect": "127.0.0.1:2181"}, (pytest.approx(20 / 3), 11)),
    ],
)
def test_bounds_of_timers(timer: Timer, settings: dict[str, str], expected: tuple[float, float]) -> None:
    assert bounds(timer, settings) == expected


def test_a_timer_that_is_over_too_soon_or_too_late_is_told() -> None:
    step = Step(Kill(3), timer=Timer.SESSION)
    assert not late(step, 9.5, SETTINGS)
    assert "documented are 8 to 12 s" in late(step, 3.0, SETTINGS)
    assert "documented are 8 to 12 s" in late(step, 30.0, SETTINGS)
    assert not late(Step(Kill(3)), 30.0, SETTINGS)


def test_a_follower_that_lags_is_out_before_its_session_is_over() -> None:
    """Partition.maybeShrinkIsr: the leader takes it out, and the epoch stays; a controller that does raises it."""
    for mode in ("kraft", "zookeeper"):
        told = played(BY_NAME["follower-paused-past-lag"], mode)[2].told[1]
        assert isinstance(told, Told)
        assert (told.isr, told.epoch) == ((1, 2), 0)


def test_a_group_is_given_the_coordinator_that_its_row_kills() -> None:
    name = group_led_by(2, "orders", GROUPS)
    assert coordinator_partition(name, 3) == 1, "its second partition is led by broker 2"


def test_a_consumer_begins_where_the_one_before_it_committed() -> None:
    """Also after the coordinator has changed; a consumer that does not commit leaves everything as it was."""
    clients = [one.client for one in played(BY_NAME["offsets-committed"], "kraft")]
    assert clients[2:] == [
        ("a at 0", "b at 1", "2 committed"),
        ("c at 2",),
        ("c at 2",),
        ("c at 2", "3 committed"),
        (),
    ]
    after = [one.client for one in played(BY_NAME["offsets-outlive-coordinator"], "zookeeper")]
    assert after[5:] == [("c at 2", "3 committed"), (), ()]


def test_a_follower_that_is_not_heard_is_out_alive_as_it_is() -> None:
    """Partition.maybeShrinkIsr; its own high watermark stays, in its memory and on its disk."""
    cut = played(BY_NAME["requests-of-follower-cut"], "kraft")[2]
    assert cut.told[3] == Told(2, 0, (1, 2), ())
    assert cut.positions[3] == Position(1, 1, 1)
    disk = cut.disks[3]
    assert isinstance(disk, Disk)
    assert disk.high_watermark == 1


def test_a_leader_that_the_controller_does_not_reach_leads_when_it_does() -> None:
    before, after = played(BY_NAME["controller-cut-off-from-leader-to-be"], "zookeeper")[3:5]
    assert before.told[3] == Told(2, 0, (2, 3), None)
    assert before.told[1] == after.told[3] == Told(3, 1, (3,), None)


def test_the_high_watermark_stays_where_a_failed_replica_has_just_been_caught_up() -> None:
    """Partition.maybeIncrementLeaderHW (shouldWaitForReplicaToJoinIsr): computed again when a follower has moved.

    With ZooKeeper the controller raises the epoch, in which nobody outside the ISR has been caught up.
    """
    kraft, zookeeper = (played(BY_NAME["write-as-follower-disk-fails"], mode) for mode in ("kraft", "zookeeper"))
    assert kraft[2].client == ("b: timed out",)
    assert (kraft[2].positions[1], kraft[3].positions[1]) == (Position(2, 1, 1), Position(3, 3, 3))
    assert zookeeper[2].client == ("b at 1",)


def test_a_start_that_meets_the_earlier_session_has_flushed() -> None:
    """KafkaServer.startup fails by KafkaServer.shutdown, as recovery points of 3.9.2 showed: in order, logs flushed.

    In KRaft nothing ends, and recovery flushes nothing.
    """
    for mode, points in (("zookeeper", [0, 2, 2]), ("kraft", [0, 0, 0])):
        disks = [one.disks[3] for one in played(BY_NAME["follower-bounced"], mode)]
        assert [one.recovery_point for one in disks[1:] if isinstance(one, Disk)] == points
