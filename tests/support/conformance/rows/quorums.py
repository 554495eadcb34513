"""Three KRaft controllers, and the active one cut off: from the other two, or from a broker that others reach.

The engine does not play the votes of controllers. What is compared is what brokers and clients see of them.
"""

from __future__ import annotations

from dataclasses import replace

from conformance.script import (
    Action,
    Consume,
    CutController,
    Kill,
    KillController,
    Produce,
    RestoreController,
    Row,
    Start,
    StartController,
    Step,
)
from conformance.timers import Timer

_ELECTED = 15
"""Seconds in which the other controllers miss the active one (controller.quorum.fetch.timeout.ms) and elect another."""


def _others_elect(action: Action) -> Step:
    """A step after which the other two controllers have elected one of them."""
    return Step(action, holds=_ELECTED)


ROWS = tuple(
    replace(row, modes=("kraft",), controllers=3)
    for row in (
        Row(
            "active-controller-cut-off-from-others",
            "The active controller of three is cut off from the other two: one of them fences a broker that is killed",
            (
                Step(Produce(("a",))),
                _others_elect(CutController()),
                Step(Kill(3), timer=Timer.SESSION),
                Step(Produce(("b",))),
                Step(RestoreController()),
                Step(Start(3)),
                Step(Consume()),
            ),
        ),
        Row(
            "active-controller-killed",
            "The active controller of three is killed: another one replaces a leader that is killed after it",
            (
                Step(Produce(("a",))),
                _others_elect(KillController()),
                Step(Kill(2), timer=Timer.SESSION),
                Step(Produce(("b",))),
                Step(StartController()),
                Step(Start(2)),
                Step(Consume()),
            ),
            replicas=(2, 3, 1),
        ),
        Row(
            "no-majority-of-controllers",
            "Two controllers are left that do not reach each other: nobody leaves an ISR until they do",
            (
                Step(Produce(("a",))),
                _others_elect(KillController()),
                _others_elect(CutController()),
                Step(Kill(3), holds=_ELECTED),
                Step(Produce(("b",), 1)),
                Step(RestoreController()),
                Step(Consume()),
                Step(StartController()),
                Step(Start(3)),
            ),
        ),
        Row(
            "follower-cut-off-from-controller",
            "A follower that the controller does not hear leaves the ISR, hears nothing of it, and goes on fetching",
            (
                Step(Produce(("a",))),
                Step(CutController((3,)), timer=Timer.SESSION),
                Step(Produce(("b",))),
                Step(RestoreController()),
                Step(Produce(("c",))),
                Step(Consume()),
            ),
            replicas=(2, 3, 1),
        ),
        Row(
            "leader-cut-off-from-controller",
            "A leader that the controller does not hear is replaced, and goes on leading: what it takes is lost",
            (
                Step(Produce(("a",))),
                Step(CutController((1,)), timer=Timer.SESSION),
                Step(Produce(("lost",), 1)),
                Step(Produce(("waits",))),
                Step(RestoreController()),
                Step(Produce(("b",))),
                Step(Consume()),
            ),
        ),
    )
)
