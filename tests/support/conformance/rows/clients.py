"""Producers and min ISR: what is refused, what is written all the same, what can be read."""

from __future__ import annotations

from conformance.script import Consume, Kill, Produce, Row, SetTopic, Start, Step

ROWS = (
    Row(
        "acks-0-1-all",
        "Records of each acks are written and read; the producer with acks=0 hears of no offset",
        (
            Step(Produce(("a",), 0)),
            Step(Produce(("b",), 1)),
            Step(Produce(("c",))),
            Step(Consume()),
        ),
    ),
    Row(
        "acks-0-below-min-isr",
        "acks=0 and acks=1 do not ask for min ISR: the records are written, and hidden until min ISR is reached",
        (
            Step(Produce(("a",))),
            Step(Kill(2)),
            Step(Kill(3)),
            Step(Produce(("b",), 0)),
            Step(Produce(("c",), 1)),
            Step(Consume(), 5),
            Step(Start(3)),
            Step(Consume()),
            Step(Start(2)),
        ),
    ),
    Row(
        "min-isr-raised-and-lowered",
        "min ISR raised above the ISR refuses acks=all, lowered it takes it again",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(SetTopic("min.insync.replicas", "3")),
            Step(Produce(("refused",))),
            Step(SetTopic("min.insync.replicas", "1")),
            Step(Produce(("b",))),
            Step(Start(3)),
            Step(Consume()),
        ),
    ),
    Row(
        "min-isr-above-replicas",
        "min ISR above the number of replicas counts as all of them (KAFKA-15583)",
        (
            Step(Produce(("a",))),
            Step(Kill(3)),
            Step(Produce(("refused",))),
            Step(Produce(("hidden",), 1)),
            Step(Start(3)),
            Step(Consume()),
        ),
        replicas=(1, 3),
        settings={"min.insync.replicas": "3"},
    ),
)
