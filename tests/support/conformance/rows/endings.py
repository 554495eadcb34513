"""Brokers that end, by SIGKILL and in order, and come back."""

from __future__ import annotations

from conformance.script import Consume, ElectPreferred, Kill, Produce, Row, ShutDown, Start, Step, Together
from conformance.timers import Timer

ROWS = (
    Row(
        "follower-killed",
        "A killed follower leaves the ISR, misses a record, comes back and joins again",
        (
            Step(Produce(("a", "b"))),
            Step(Kill(3), timer=Timer.SESSION),
            Step(Produce(("c",))),
            Step(Start(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "leader-killed",
        "The next replica leads in the next epoch; the old leader follows until it is elected again",
        (
            Step(Produce(("a", "b"))),
            Step(Kill(2), timer=Timer.SESSION),
            Step(Produce(("c",))),
            Step(Start(2)),
            Step(ElectPreferred()),
            Step(Produce(("d",))),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "follower-shut-down",
        "A follower that stops in order is out of the ISR at once, without waiting for its session",
        (
            Step(Produce(("a",))),
            Step(ShutDown(3)),
            Step(Produce(("b",))),
            Step(Start(3)),
        ),
    ),
    Row(
        "leader-shut-down",
        "A leader that stops in order hands over its leadership before it ends",
        (
            Step(Produce(("a",))),
            Step(ShutDown(2)),
            Step(Produce(("b",))),
            Step(Start(2)),
            Step(Consume()),
        ),
        replicas=(2, 1, 3),
    ),
    Row(
        "follower-bounced",
        "A follower that is killed and started at once joins again with nothing lost",
        (
            Step(Produce(("a", "b"))),
            Step(Together((Kill(3), Start(3)))),
            Step(Produce(("c",))),
        ),
    ),
    Row(
        "leader-bounced",
        "A leader that is killed and started at once: whoever leads then, in the epoch that is foretold",
        (
            Step(Produce(("a", "b"))),
            Step(Together((Kill(2), Start(2)))),
            Step(Produce(("c",))),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "two-killed",
        "Two of three are killed: acks=all is refused below min ISR, and taken when one is back",
        (
            Step(Produce(("a",))),
            Step(Kill(2)),
            Step(Kill(3)),
            Step(Produce(("refused",))),
            Step(Start(2)),
            Step(Produce(("b",))),
            Step(Start(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "all-replicas-killed",
        "The ISR of two is killed one after the other; the first to come back may not lead, the second may",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(Produce(("b",), 1)),
            Step(Kill(2)),
            Step(Start(3)),
            Step(Start(2)),
            Step(Consume()),
        ),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1"},
    ),
    Row(
        "last-replicas-of-min-isr-2",
        "With min ISR 2 both replicas are killed, the leader last: who is elected, and from which set",
        (
            Step(Produce(("a", "b"))),
            Step(Kill(3)),
            Step(Kill(2)),
            Step(Start(3)),
            Step(Start(2)),
            Step(Consume()),
        ),
        replicas=(2, 3),
    ),
)
