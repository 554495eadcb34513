"""A log directory that fails on a broker that has another one."""

from __future__ import annotations

from conformance.script import Consume, FailDisk, Produce, Row, Step, Together, Wait

_OVER_LAG = 6.0
"""Seconds after which no leader counts a replica that does not fetch as caught up: more than the lag time."""

ROWS = (
    Row(
        "follower-disk-fails",
        "A follower whose log directory fails leaves the ISR, alive as its broker is",
        (Step(Produce(("a",))), Step(FailDisk(3), holds=_OVER_LAG), Step(Produce(("b",))), Step(Consume())),
    ),
    Row(
        "write-as-follower-disk-fails",
        "A KRaft leader waits for the failed replica as for one that may join, until the next record is written",
        (
            Step(Produce(("a",))),
            Step(Together((FailDisk(3), Wait(1.5), Produce(("b",))))),
            Step(Produce(("c",))),
            Step(Consume()),
        ),
    ),
    Row(
        "leader-disk-fails",
        "A leader whose log directory fails is replaced, alive as its broker is",
        (Step(Produce(("a",))), Step(FailDisk(2)), Step(Produce(("b",))), Step(Consume())),
        replicas=(2, 3, 1),
    ),
)
