"""Reassignments: to other replicas, in another order, more and fewer of them, cancelled."""

from __future__ import annotations

from conformance.script import (
    CancelMove,
    Consume,
    Cut,
    ElectPreferred,
    Kill,
    Produce,
    Reassign,
    Restore,
    Row,
    Start,
    Step,
    Together,
)
from conformance.timers import Timer

ROWS = (
    Row(
        "follower-moved",
        "A follower is moved to another broker, which has everything before the other one is let go",
        (Step(Produce(("a", "b"))), Step(Reassign((1, 3))), Step(Produce(("c",))), Step(Consume())),
        replicas=(1, 2),
    ),
    Row(
        "leader-moved",
        "The leader is moved away: one of the target leads in the next epoch",
        (Step(Produce(("a", "b"))), Step(Reassign((2, 3))), Step(Produce(("c",))), Step(Consume())),
        replicas=(1, 2),
    ),
    Row(
        "all-replicas-moved",
        "No replica stays: the new ones are in sync first",
        (Step(Produce(("a", "b"))), Step(Reassign((3,))), Step(Produce(("c",), 1)), Step(Consume())),
        replicas=(1, 2),
        settings={"min.insync.replicas": "1"},
    ),
    Row(
        "order-changed",
        "Another order moves nothing and elects nobody; the new preferred leader is elected when it is asked for",
        (Step(Produce(("a",))), Step(Reassign((3, 2, 1))), Step(ElectPreferred()), Step(Consume())),
    ),
    Row(
        "factor-raised-and-lowered",
        "One replica becomes three, then two",
        (
            Step(Produce(("a",), 1)),
            Step(Reassign((1, 2, 3))),
            Step(Produce(("b",))),
            Step(Reassign((2, 3))),
            Step(Produce(("c",))),
            Step(Consume()),
        ),
        replicas=(1,),
    ),
    Row(
        "move-to-dead-and-cancel",
        "A move to a broker that is gone does not end; cancelled, the replicas are what they were",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(Reassign((1, 3))),
            Step(Produce(("b",))),
            Step(CancelMove()),
            Step(Start(3)),
        ),
        replicas=(1, 2),
        modes=("kraft",),
    ),
    Row(
        "move-to-dead-that-comes-back",
        "A move to a broker that is gone ends when it is back",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(Reassign((1, 3))),
            Step(Start(3)),
            Step(Produce(("b",))),
        ),
        replicas=(1, 2),
        modes=("kraft",),
    ),
    Row(
        "move-left-over",
        "An unclean election leaves a move over: KRaft ends it as soon as an operator asks for another election",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(Together((Cut(2, 1), Reassign((3, 1))))),
            Step(Kill(2), timer=Timer.SESSION),
            Step(ElectPreferred()),
            Step(Together((Restore(2, 1), Start(2)))),
            Step(Produce(("b",))),
            Step(Start(3)),
            Step(Consume()),
        ),
        replicas=(2, 3),
        settings={"min.insync.replicas": "1", "unclean.leader.election.enable": "true"},
    ),
)
