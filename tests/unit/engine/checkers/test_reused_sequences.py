"""Records that an idempotent producer of 1.0 to 2.4 may lose, and no others: on hand-written traces and in a run.

What happens is TransactionManager.startSequencesAtBeginning of 2.1.1; 2.5.0 raises the epoch there instead.
"""

from __future__ import annotations

import pytest

from kreplica.engine import Judge, Trace, cluster, observe, version_named
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.fault_plan import At, Crash, Cut, ExpireSession, Step
from kreplica.engine.settings import Value
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup
from kreplica.engine.trace import Kind, Record

P, ONE = "t-0", "broker-1"


def outcome(version: str, acknowledged: int = 0, sender: str = "writer", producer_id: int = 7) -> Outcome:
    """Of a log with the record a at 0; its sender is told that b stands at an offset."""
    setup = cluster(1, TopicSetup("t", ((1,),)), clients=(ProducerSetup("writer"), ProducerSetup("other")))
    trace = Trace()
    folds = Judge(setup, version_named(version), trace)
    trace.emit(0, Kind.BECAME_LEADER, ONE, (P, 0, (1,), 0))
    trace.emit(1, Kind.SENT, "writer", (P, "a", -1))
    trace.emit(1, Kind.SENT, sender, (P, "b", -1))
    trace.emit(2, Kind.APPENDED, ONE, (P, 0, 1, (Record(0, "a", producer_id, 0, 0),), "leader"))
    trace.emit(3, Kind.ACKNOWLEDGED, sender, (P, "b", acknowledged, -1))
    return folds.outcome(1000)


@pytest.mark.parametrize(("version", "kept"), [("0.11", False), ("1.0", True), ("2.4", True), ("2.5", False)])
def test_a_batch_that_was_taken_for_an_earlier_one_is_unpromised_from_1_0_to_2_4(version: str, kept: bool) -> None:
    found = outcome(version)
    assert found.histories.lost_with_acks_all == ("b",)
    assert found.unpromised == (("b",) if kept else ())
    assert found.keeps_promises is kept


def test_any_other_loss_breaks_the_promise() -> None:
    assert not outcome("2.1", acknowledged=1).keeps_promises  # nothing stands there
    assert not outcome("2.1", acknowledged=-1).keeps_promises
    assert not outcome("2.1", sender="other").keeps_promises  # another producer's record
    assert not outcome("2.1", producer_id=-1).keeps_promises  # it is not idempotent


QUICK: dict[str, Value] = {
    "acks": -1,
    "enable.idempotence": True,
    "min.insync.replicas": 1,
    "request.timeout.ms": 1000,
    "retries": 2,
    "zookeeper.session.timeout.ms": 1500,
}


@pytest.mark.parametrize(("version", "lost"), [("1.1", ("b",)), ("2.1", ("b",)), ("2.4", ("b",)), ("2.5", ())])
def test_a_deposed_leader_that_lacks_the_records_makes_a_producer_begin_again(
    version: str, lost: tuple[str, ...]
) -> None:
    """broker-2 and broker-4 have a, which is never acknowledged. broker-3 leads without it, then broker-4 with it."""
    sends = Send(1_100_000, "a", P), Send(6_500_000, "b", P)
    producer = ProducerSetup("writer", sends)
    setup = cluster(4, TopicSetup("t", ((2, 3, 4),)), clients=(producer,), settings=QUICK, duration=12 * SECOND)
    plan = (
        Step(At(SECOND), Cut("broker-2", "broker-3", 11 * SECOND)),
        Step(At(SECOND), Cut("broker-3", "broker-4", 11 * SECOND)),
        Step(At(4_500_000), Crash("broker-2")),
        Step(At(6_650_000), ExpireSession("broker-3")),  # it has refused b, and the next leader is asked for b
    )
    found, _ = observe(setup, plan, version_named(version))
    assert found.counts[Kind.DUPLICATE] == 2 + len(lost)  # a is sent three times
    assert found.histories.acknowledged == 1
    assert found.histories.lost_with_acks_all == found.unpromised == lost
    assert found.keeps_promises
