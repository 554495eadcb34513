"""Brokers that stand still: past the lag time of the ISR, past their session, leaders and followers."""

from __future__ import annotations

from conformance.script import ALL, Consume, Kill, Pause, Produce, Resume, Row, Start, Step, Together, Wait
from conformance.timers import Timer

ROWS = (
    Row(
        "follower-paused-briefly",
        "A follower that stands still for less than the lag time stays in the ISR",
        (
            Step(Produce(("a",))),
            Step(Together((Pause(3), Produce(("b",), 1), Resume(3))), 5),
            Step(Consume()),
        ),
    ),
    Row(
        "follower-paused-past-lag",
        "A follower that stands still with a record missing is out of the ISR by its lag, before its session is over",
        (
            Step(Produce(("a",))),
            Step(Together((Pause(3), Produce(("b", "c"), 1))), timer=Timer.LAG),
            Step(Resume(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "follower-paused-past-session",
        "A follower that stands still past its session is out of the ISR; it goes on, registers and joins again",
        (
            Step(Produce(("a",))),
            Step(Pause(3), timer=Timer.SESSION),
            Step(Produce(("b", "c"))),
            Step(Resume(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "leader-paused-past-session",
        "A leader that stands still is replaced, takes no write of the next epoch, and follows when it goes on",
        (
            Step(Produce(("a",))),
            Step(Pause(2), timer=Timer.SESSION),
            Step(Produce(("b",))),
            Step(Resume(2)),
            Step(Produce(("c",))),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "followers-paused-below-min-isr",
        "Records with acks=1 below min ISR stand in the log, are not readable, and are when a follower is back",
        (
            Step(Produce(("a",))),
            Step(Pause(2)),
            Step(Pause(3)),
            Step(Produce(("b", "c"), 1)),
            Step(Consume(), 5),
            Step(Resume(2)),
            Step(Resume(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "followers-paused-unreplicated-loss",
        "The leader is killed while its followers stand still: what only it has is cut when it comes back",
        (
            Step(Produce(("a",))),
            Step(
                Together((Pause(3), Pause(1), Wait(), Produce(("b", "c", "d"), 1), Kill(2), Resume(3), Resume(1))),
            ),
            Step(Produce(("e",))),
            Step(Start(2)),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "acks-all-waits-for-paused",
        "acks=all to an ISR with a follower that stands still is not acknowledged until it has left the ISR",
        (
            Step(Produce(("a",))),
            Step(Together((Pause(3), Produce(("b",), ALL)))),
            Step(Consume(), 5),
            Step(Resume(3)),
        ),
    ),
)
