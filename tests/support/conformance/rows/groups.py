"""Offsets that consumers of a group commit, and what the next consumer begins with."""

from __future__ import annotations

from conformance.script import Join, Kill, Produce, Row, Start, Step

ROWS = (
    Row(
        "offsets-committed",
        "The next consumer of a group begins where the one before committed; without a commit it begins there again",
        (
            Step(Produce(("a", "b"))),
            Step(Join()),
            Step(Produce(("c",))),
            Step(Join(commits=False)),
            Step(Join()),
            Step(Join()),
        ),
    ),
    Row(
        "offsets-outlive-coordinator",
        "The coordinator of a group is killed: the next one has read what was committed, and takes the next commit",
        (
            Step(Produce(("a", "b"))),
            Step(Join()),
            Step(Produce(("c",))),
            Step(Kill(2)),
            Step(Join()),
            Step(Start(2)),
            Step(Join()),
        ),
        replicas=(3, 1, 2),
    ),
)
