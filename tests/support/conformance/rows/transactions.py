"""Transactions: committed, aborted, left open, taken over, across a change of the leader."""

from __future__ import annotations

from conformance.script import Begin, Consume, End, Kill, Produce, Row, Start, Step

ROWS = (
    Row(
        "transaction-committed",
        "Records of an open transaction hold the last stable offset back until it is committed",
        (
            Step(Begin("app", ("a", "b"))),
            Step(Produce(("c",))),
            Step(Consume(committed=True), 5),
            Step(End("app")),
            Step(Consume(committed=True)),
        ),
    ),
    Row(
        "transaction-aborted",
        "Aborted records are in the log, read by read_uncommitted alone",
        (
            Step(Begin("app", ("a", "b"))),
            Step(End("app", commit=False)),
            Step(Produce(("c",))),
            Step(Consume(committed=True)),
            Step(Consume()),
        ),
    ),
    Row(
        "transactions-in-a-row",
        "Two transactions of one producer, the first aborted, the second committed",
        (
            Step(Begin("app", ("a",))),
            Step(End("app", commit=False)),
            Step(Begin("app", ("b",))),
            Step(End("app")),
            Step(Consume(committed=True)),
        ),
    ),
    Row(
        "transaction-timed-out",
        "A transaction that nobody ends is aborted after its timeout, and its producer fenced",
        (
            Step(Begin("app", ("a",), timeout=15), 8),
            Step(Produce(("b",)), 40),
            Step(Consume(committed=True)),
        ),
    ),
    Row(
        "producer-fenced",
        "A second producer with the same id aborts the open transaction of the first, whose commit is refused",
        (
            Step(Begin("zombie", ("a",))),
            Step(Begin("successor", ("b",))),
            Step(End("zombie")),
            Step(End("successor")),
            Step(Consume(committed=True)),
        ),
    ),
    Row(
        "transaction-outlives-leader",
        "The new leader knows the open transaction, and takes its marker",
        (
            Step(Begin("app", ("a", "b"), timeout=300)),
            Step(Kill(2)),
            Step(End("app")),
            Step(Start(2)),
            Step(Consume(committed=True)),
        ),
        replicas=(2, 3, 1),
    ),
)
