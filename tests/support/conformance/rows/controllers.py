"""Loss of the controller."""

from __future__ import annotations

from conformance.script import Consume, Kill, KillController, Pause, Produce, Resume, Row, Start, StartController, Step
from conformance.timers import Timer

ROWS = (
    Row(
        "no-controller",
        "Without a controller records are still written; nobody leaves an ISR until it is back",
        (
            Step(Produce(("a",))),
            Step(KillController()),
            Step(Produce(("b",))),
            Step(Kill(3)),
            Step(Produce(("c",), 1)),
            Step(StartController()),
            Step(Consume()),
            Step(Start(3)),
        ),
        modes=("kraft",),
    ),
    Row(
        "no-controller-no-leader",
        "Without a controller a dead leader is not replaced until the controller is back",
        (
            Step(Produce(("a",))),
            Step(KillController()),
            Step(Kill(2)),
            Step(StartController()),
            Step(Produce(("b",))),
            Step(Start(2)),
        ),
        replicas=(2, 3, 1),
        modes=("kraft",),
    ),
    Row(
        "controller-killed",
        "The broker that is the controller is killed: the next one takes its replica out of the ISR",
        (Step(Produce(("a",))), Step(Kill(1)), Step(Produce(("b",))), Step(Start(1)), Step(Consume())),
        replicas=(2, 3, 1),
        modes=("zookeeper",),
    ),
    Row(
        "controller-paused",
        "The controller stands still past its session: another one takes its place, and it follows when it goes on",
        (
            Step(Produce(("a",))),
            Step(Pause(1), timer=Timer.SESSION),
            Step(Produce(("b",))),
            Step(Resume(1)),
            Step(Kill(3), timer=Timer.SESSION),
            Step(Produce(("c",))),
            Step(Start(3)),
            Step(Consume()),
        ),
        replicas=(2, 3, 1),
        modes=("zookeeper",),
    ),
    Row(
        "controller-and-leader-killed",
        "The broker that is both controller and leader is killed",
        (Step(Produce(("a",))), Step(Kill(1)), Step(Produce(("b",))), Step(Start(1)), Step(Consume())),
        modes=("zookeeper",),
    ),
)
