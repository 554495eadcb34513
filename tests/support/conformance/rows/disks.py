"""A log directory that fails on a broker that has another one."""

from __future__ import annotations

from conformance.script import Consume, FailDisk, Produce, Row, Step

ROWS = (
    Row(
        "follower-disk-fails",
        "A follower whose log directory fails leaves the ISR, alive as its broker is",
        (Step(Produce(("a",))), Step(FailDisk(3)), Step(Produce(("b",))), Step(Consume())),
    ),
    Row(
        "leader-disk-fails",
        "A leader whose log directory fails is replaced, alive as its broker is",
        (Step(Produce(("a",))), Step(FailDisk(2)), Step(Produce(("b",))), Step(Consume())),
        replicas=(2, 3, 1),
    ),
)
