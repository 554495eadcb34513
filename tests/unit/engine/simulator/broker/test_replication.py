"""Replication as it is played: what a run of three brokers shows, step by step."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import At, Crash, Cut, Plan, PowerLoss, Start, Step, When
from kreplica.engine.settings import Value
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace, TraceHash, fields_of
from kreplica.engine.versions.supported import VERSIONS, ControllerKind, version_named

KRAFT = [version.name for version in VERSIONS if version.controller is ControllerKind.KRAFT]


def play(
    plan: Plan = (), version: str = "4.1", records: int = 3, seed: int = 1, **settings: Value
) -> tuple[list[Event], str]:
    values = [f"m{number}" for number in range(records)]
    named = {name.replace("_", "."): value for name, value in settings.items()}
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup("producer", sends("t-0", *values, start=100 * MILLISECOND, every=10 * MILLISECOND)),
            ReaderSetup("reader", ("t-0",)),
        ),
        duration=60 * SECOND,
    ).with_settings(named)
    trace, digest = Trace(), TraceHash()
    trace.subscribe(digest)
    simulate(setup, plan, version_named(version), seed, trace)
    return trace.events, digest.hexdigest()


def of(events: list[Event], kind: str, **wanted: object) -> list[Event]:
    return [e for e in events if e.kind == kind and wanted.items() <= fields_of(e).items()]


@pytest.mark.parametrize("version", KRAFT)
def test_records_are_acknowledged_once_every_in_sync_replica_has_them(version: str) -> None:
    events, _ = play(version=version)
    told = of(events, Kind.ACKNOWLEDGED)
    assert [(fields_of(e)["value"], fields_of(e)["offset"]) for e in told] == [("m0", 0), ("m1", 1), ("m2", 2)]
    for event in told:
        have = [e for e in of(events, Kind.APPENDED) if e.time <= event.time and fields_of(e)["role"] == "follower"]
        assert {e.node for e in have if fields_of(e)["end_offset"] > fields_of(event)["offset"]} == {
            "broker-2",
            "broker-3",
        }


def test_a_followers_high_watermark_is_one_fetch_behind() -> None:
    """The leader's rises when the follower's next fetch tells it; that fetch parks, so the follower hears 500 ms on."""
    events, _ = play(records=1)
    leader = of(events, Kind.HIGH_WATERMARK, high_watermark=1, role="leader")[0]
    follower = of(events, Kind.HIGH_WATERMARK, high_watermark=1, role="follower")[0]
    appended = of(events, Kind.APPENDED, role="follower")[0]
    assert appended.time < leader.time < follower.time
    assert follower.time - leader.time == 500 * MILLISECOND + 500  # replica.fetch.wait.max.ms, and one way back


def test_a_crashed_leader_is_fenced_after_its_session_and_comes_back_into_the_isr() -> None:
    plan = (Step(At(3 * SECOND), Crash("broker-1")), Step(At(30 * SECOND), Start("broker-1")))
    events, _ = play(plan)
    fenced = of(events, Kind.BROKER_FENCED)[0]
    assert 9 * SECOND <= fenced.time - 2 * SECOND <= 10 * SECOND + SECOND // 2  # its last heartbeat was within 2 s
    changes = [fields_of(e) for e in of(events, Kind.PARTITION_CHANGED)]
    assert [(c["leader"], c["leader_epoch"], c["isr"]) for c in changes] == [
        (1, 0, (1, 2, 3)),
        (2, 1, (2, 3)),
        (2, 1, (1, 2, 3)),
    ]


def test_a_follower_that_is_cut_off_leaves_the_isr_and_the_producer_waits_until_then() -> None:
    """replica.lag.time.max.ms is 30 s, the look every 15 s: out 30 to 45 s after the last fetch."""
    plan = (Step(At(50 * MILLISECOND), Cut("broker-3", "broker-1", 60 * SECOND)),)
    events, _ = play(plan, records=1)
    asked = of(events, Kind.ISR_ASKED)[0]
    assert fields_of(asked)["isr"] == (1, 2)
    assert 30 * SECOND <= asked.time <= 45 * SECOND + SECOND
    assert of(events, Kind.ACKNOWLEDGED)[0].time >= asked.time


def test_power_loss_takes_what_was_not_flushed_and_a_kill_does_not() -> None:
    """All three machines at once: acks=all does not help, only flush.messages does."""
    everybody = ("broker-1", "broker-2", "broker-3")
    starts = tuple(Step(At(5 * SECOND), Start(name)) for name in everybody)
    lossy, _ = play((Step(At(4 * SECOND), PowerLoss(everybody)), *starts))
    assert [fields_of(e)["lost"] for e in of(lossy, Kind.RECOVERED)] == [3, 3, 3]
    flushed, _ = play((Step(At(4 * SECOND), PowerLoss(everybody)), *starts), flush_messages=1)
    assert [fields_of(e)["lost"] for e in of(flushed, Kind.RECOVERED)] == [0, 0, 0]
    killed, _ = play((*(Step(At(4 * SECOND), Crash(name)) for name in everybody), *starts))
    assert [fields_of(e)["lost"] for e in of(killed, Kind.RECOVERED)] == [0, 0, 0]


def test_a_process_that_was_killed_loses_its_page_cache_with_its_machine() -> None:
    """The kill takes nothing; the machine goes on until it loses power. A second loss takes nothing more."""
    everybody = ("broker-1", "broker-2", "broker-3")
    killed = (Step(At(4 * SECOND), Crash("broker-2")), Step(At(4 * SECOND), Crash("broker-3")))
    lost = (
        Step(At(5 * SECOND), PowerLoss(everybody[:2], keep=1)),
        Step(At(6 * SECOND), PowerLoss(everybody[:2])),
        *(Step(At(30 * SECOND), Start(one)) for one in everybody),
    )
    events, _ = play((*killed, *lost))
    assert {event.node: fields_of(event)["lost"] for event in of(events, Kind.RECOVERED)} == {
        "broker-1": 2,
        "broker-2": 2,
        "broker-3": 0,
    }


def test_recovery_after_a_kill_flushes_nothing() -> None:
    """LogLoader.recoverLog: as recovery-point-offset-checkpoint of killed brokers of 3.9.2 and 4.3.1 showed, too."""
    everybody = ("broker-1", "broker-2", "broker-3")
    killed = (
        *(Step(At(4 * SECOND), Crash(one)) for one in everybody),
        *(Step(At(5 * SECOND), Start(one)) for one in everybody),
    )
    lost = (Step(At(40 * SECOND), PowerLoss(everybody)), *(Step(At(41 * SECOND), Start(one)) for one in everybody))
    events, _ = play((*killed, *lost))
    assert [fields_of(e)["lost"] for e in of(events, Kind.RECOVERED)] == [0, 0, 0, 3, 3, 3]


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    plan = (Step(When(Kind.APPENDED, node="broker-2", count=2), Crash("broker-1")),)
    _, one = play(plan, jitter_us=400)
    _, same = play(plan, jitter_us=400)
    _, other = play(plan, jitter_us=400, seed=2)
    assert one == same != other
