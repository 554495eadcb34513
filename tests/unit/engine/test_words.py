"""Sentences about a trace: in Kafka's own, with units, and nothing that only a program writes."""

from __future__ import annotations

from time import process_time
from typing import get_args

import pytest

from kreplica.engine import fault_plan
from kreplica.engine.fault_plan import AnyAction, At, Step, When
from kreplica.engine.plans.text import detail_of, name_of, step_words
from kreplica.engine.trace import Event, Kind, Record, Trace, sentence
from kreplica.report.explain import explain
from kreplica.report.log_strips import log_strips
from kreplica.report.step_table import step_table

ACTIONS: dict[str, AnyAction] = {
    "crash broker-1": fault_plan.Crash("broker-1"),
    "power-loss of broker-1, broker-2": fault_plan.PowerLoss(("broker-1", "broker-2")),
    "power-loss of broker-1, 1 of the records not flushed kept": fault_plan.PowerLoss(("broker-1",), 1),
    "rack-loss r1": fault_plan.RackLoss("r1"),
    "disk-loss of broker-1": fault_plan.DiskLoss("broker-1"),
    "start broker-1": fault_plan.Start("broker-1"),
    "stop broker-1": fault_plan.Stop("broker-1"),
    "pause broker-1 for 1500 ms": fault_plan.Pause("broker-1", 1_500_000),
    "stop-polling consumer-a for 1500 ms": fault_plan.StopPolling("consumer-a", 1_500_000),
    "cut between broker-1 and broker-2 for 0.5 ms": fault_plan.Cut("broker-1", "broker-2", 500),
    "cut from broker-1 to every node for 3000 ms": fault_plan.Cut("broker-1", "*", 3_000_000, True),
    "slow by 20 ms between a and b for 1000 ms": fault_plan.Slow("a", "b", 20_000, 1_000_000),
    "lossy 30 % between a and b for 1000 ms": fault_plan.Lossy("a", "b", 30, 1_000_000),
    "break-connection between a and b": fault_plan.BreakConnection("a", "b"),
    "break-connection between a and every node, what is under way 20 ms later": fault_plan.BreakConnection(
        "a", "*", 20_000
    ),
    "refuse-request Produce from a to b: NOT_ENOUGH_REPLICAS": fault_plan.RefuseRequest(
        "a", "b", "Produce", "NOT_ENOUGH_REPLICAS"
    ),
    "refuse-request 2 times EndTxn from a to b: NOT_COORDINATOR": fault_plan.RefuseRequest(
        "a", "b", "EndTxn", "NOT_COORDINATOR", 2
    ),
    "slow-disk of broker-1 by 2 ms for 1000 ms": fault_plan.SlowDisk("broker-1", 2_000, 1_000_000),
    "late-metadata of broker-1 for 1000 ms": fault_plan.LateMetadata("broker-1", 1_000_000),
    "expire-session of broker-1": fault_plan.ExpireSession("broker-1"),
    "directory-failure of broker-1": fault_plan.DirectoryFailure("broker-1"),
    "directory-failure of broker-1, with t-0, t-1": fault_plan.DirectoryFailure("broker-1", ("t-0", "t-1")),
    "elect-preferred t-0": fault_plan.ElectPreferred("t-0"),
    "elect-unclean t-0": fault_plan.ElectUnclean("t-0"),
    "reassign t-0 to 3,4": fault_plan.Reassign("t-0", (3, 4)),
    "cancel-reassignment of t-0": fault_plan.CancelReassignment("t-0"),
    "delete-records of t-0 before 7": fault_plan.DeleteRecords("t-0", 7),
    "delete-records of t-0 before the high watermark": fault_plan.DeleteRecords("t-0"),
    "alter-topic t min.insync.replicas=2": fault_plan.AlterTopic("t", "min.insync.replicas", "2"),
}


@pytest.mark.parametrize("words", ACTIONS)
def test_an_action_in_words(words: str) -> None:
    action = ACTIONS[words]
    assert f"{name_of(action)} {detail_of(action)}" == words


def test_every_action_has_its_words() -> None:
    assert {type(action) for action in ACTIONS.values()} == set(get_args(AnyAction))


def test_when_a_step_happens() -> None:
    do = fault_plan.Crash("broker-1")
    assert step_words(Step(At(2_900_500), do)) == "at 2900.5 ms: crash broker-1"
    when = When("became-leader", "broker-2", {"partition": "t-0", "leader_epoch": 1}, 2, 1_000)
    told = "on became-leader number 2 at broker-2 with partition t-0, leader_epoch 1, 1 ms later: crash broker-1"
    assert step_words(Step(when, do)) == told


SENTENCES = {
    "app sends m1 to t-0 with acks=all": Event(0, Kind.SENT, "app", ("t-0", "m1", -1)),
    "app sends m1 to t-0 with acks=1": Event(0, Kind.SENT, "app", ("t-0", "m1", 1)),
    "/brokers/partitions/t-0 is set to 1,3,0,[3,2], version 4": Event(
        0, Kind.ZNODE_WRITTEN, "zookeeper", ("/brokers/partitions/t-0", (1, 3, 0, (3, 2)), 4)
    ),
    "/controller is created with 2": Event(0, Kind.ZNODE_WRITTEN, "zookeeper", ("/controller", (2,), 0)),
    "/brokers/ids/1 is created with an empty value": Event(
        0, Kind.ZNODE_WRITTEN, "zookeeper", ("/brokers/ids/1", ("",), 0)
    ),
    "/brokers/ids/1 is set to an empty value, version 2": Event(
        0, Kind.ZNODE_WRITTEN, "zookeeper", ("/brokers/ids/1", ("",), 2)
    ),
    "broker-1 answers the fetch of t-0 by broker-2 that was parked at 540.000 ms: records were appended": Event(
        1_003_000, Kind.FETCH_WOKEN, "broker-1", ("t-0", "broker-2", 540_000, "records were appended", "")
    ),
    "broker-1 crashes": Event(0, Kind.CRASHED, "broker-1", (False,)),
    "broker-1 loses power": Event(0, Kind.CRASHED, "broker-1", (True,)),
    "t-0 has no leader, ISR none: all gone": Event(0, Kind.NO_LEADER, "broker-1", ("t-0", (), "all gone", "")),
    "broker-1 sets t-0: leader none, epoch 2, ISR 1,2: it went": Event(
        0, Kind.PARTITION_CHANGED, "broker-1", ("t-0", -1, 2, (1, 2), (), 1, "it went", "")
    ),
}


@pytest.mark.parametrize("words", SENTENCES)
def test_a_sentence(words: str) -> None:
    assert sentence(SENTENCES[words]) == words


def test_a_broker_that_is_down_has_a_log_and_no_high_watermark() -> None:
    """What it knew is gone with the process; its checkpoint gives another when it comes back."""
    trace = Trace()
    for node, role in (("broker-1", "leader"), ("broker-2", "follower")):
        trace.emit(0, Kind.APPENDED, node, ("t-0", 0, 1, (Record(0, "m1"),), role))
        trace.emit(0, Kind.HIGH_WATERMARK, node, ("t-0", 1, role))
    trace.emit(1, Kind.BECAME_LEADER, "broker-1", ("t-0", 0, (1, 2), 0))
    trace.emit(2, Kind.CRASHED, "broker-2", (False,))
    down = step_table(trace.events, "t-0")[-1]
    assert (down.follower_leo, down.follower_hw, down.leader_hw) == ({"broker-2": 1}, {"broker-2": None}, 1)
    assert [strip.high_watermark for strip in log_strips(trace.events)] == [1, None]


def test_records_of_one_moment_are_one_sentence() -> None:
    sent = [Event(5, Kind.SENT, "app", ("t-0", f"m{number}", 1)) for number in range(5)]
    told = [Event(9, Kind.ACKNOWLEDGED, "app", ("t-0", f"m{number}", number, 1)) for number in range(2)]
    later = [Event(10, Kind.SENT, "app", ("t-0", "m9", 1)), Event(10, Kind.SENT, "app", ("t-1", "m10", 1))]
    assert [one.text for one in explain([*sent, *told, *later])] == [
        "app sends m0…m4 to t-0 with acks=1",
        "app is told that m0, m1 stands at offset 0, 1 of t-0",
        "app sends m9 to t-0 with acks=1",
        "app sends m10 to t-1 with acks=1",
    ]


def test_what_happens_twice_is_told_twice() -> None:
    twice = [Event(5, Kind.PAUSED, "broker-1", ()), Event(5, Kind.PAUSED, "broker-1", ())]
    assert len(explain(twice)) == 2


def test_a_long_log_is_one_strip_soon() -> None:
    records = tuple(Record(0, f"m{number}") for number in range(60_000))
    events = [Event(5, Kind.APPENDED, "broker-1", ("t-0", 0, len(records), records, "leader"))]
    begin = process_time()
    (strip,) = log_strips(events)
    assert process_time() - begin < 10  # what grows by its square takes minutes
    (piece,) = strip.pieces
    assert (piece.start, piece.end, piece.values[-1]) == (0, 60_000, "m59999")
