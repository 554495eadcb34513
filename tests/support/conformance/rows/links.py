"""Links that are cut between brokers that are alive: what one sends the other does not arrive."""

from __future__ import annotations

from conformance.script import Consume, Cut, Kill, Produce, Restore, Row, Step, Together, Wait
from conformance.timers import Timer

_HEALS = 60
"""Seconds in which the engine's follower gives up a lost request (replica.socket.timeout.ms) and asks again."""

ROWS = (
    Row(
        "requests-of-follower-cut",
        "The leader does not hear a follower, which is out of the ISR by its lag; both are alive",
        (
            Step(Produce(("a",))),
            Step(Together((Cut(3, 2), Wait(), Produce(("b", "c"), 1))), timer=Timer.LAG),
            Step(Produce(("d",))),
            Step(Restore(3, 2), _HEALS),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "answers-to-follower-cut",
        "A follower asks, and does not hear the leader's answers: it is out of the ISR as well",
        (
            Step(Produce(("a",))),
            Step(Together((Cut(2, 3), Produce(("b", "c"), 1))), timer=Timer.LAG),
            Step(Produce(("d",))),
            Step(Restore(2, 3), _HEALS),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
    ),
    Row(
        "leader-cut-off-from-followers",
        "A leader that hears no follower is alone in the ISR and refuses acks=all; acks=1 is hidden until it does",
        (
            Step(Produce(("a",))),
            Step(Together((Cut(3, 2), Wait(), Produce(("b",), 1))), timer=Timer.LAG),
            Step(Together((Cut(1, 2), Wait(), Produce(("c",), 1))), timer=Timer.LAG),
            Step(Produce(("refused",))),
            Step(Produce(("d",), 1)),
            Step(Consume()),
            Step(Together((Restore(3, 2), Restore(1, 2))), _HEALS),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
        modes=("kraft",),  # with ZooKeeper broker 1 is the controller, which the leader asks for another ISR
    ),
    Row(
        "controller-cut-off-from-leader-to-be",
        "The controller's words do not reach the next leader: all others hear of it, it does not lead until they do",
        (
            Step(Produce(("a",))),
            Step(Cut(1, 3), 1),
            Step(Kill(2), timer=Timer.SESSION),
            Step(Restore(1, 3), _HEALS),
            Step(Produce(("b",))),
            Step(Consume()),
        ),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1"},
        modes=("zookeeper",),
    ),
)
