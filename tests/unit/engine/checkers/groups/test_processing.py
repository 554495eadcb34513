"""Processing of groups against their commits, by traces written by hand."""

from __future__ import annotations

import pytest

from kreplica.engine.checkers.groups.processing import ProcessingOutcomes, processing_outcomes
from kreplica.engine.trace import Event, Kind


def read(offset: int, node: str = "a") -> Event:
    return Event(0, Kind.CONSUMED, node, ("t-0", offset, f"m{offset}", "g"))


def processed(offset: int, result: str = "done", node: str = "a") -> Event:
    return Event(0, Kind.PROCESSED, node, ("t-0", offset, f"m{offset}", "g", result))


def committed(end: int) -> Event:
    return Event(0, Kind.OFFSET_COMMITTED, "broker-1", ("g", "t-0", end, ""))


def crashed(node: str = "a") -> Event:
    return Event(0, Kind.CRASHED, node, (False,))


CASES = {
    "committed, then processed": ([read(0), committed(1), processed(0)], ProcessingOutcomes((), (), ("m0",))),
    "processed, then committed": ([read(0), processed(0), committed(1)], ProcessingOutcomes()),
    "committed and in hand": ([read(0), committed(1)], ProcessingOutcomes((), (), ("m0",))),
    "committed and gone": ([read(0), committed(1), crashed()], ProcessingOutcomes(("m0",), (), ("m0",))),
    "gone, not committed": ([read(0), read(1), committed(1), crashed()], ProcessingOutcomes(("m0",), (), ("m0",))),
    "in the hands of another": ([read(0), read(0, "b"), committed(1), crashed()], ProcessingOutcomes((), (), ("m0",))),
    "done by another": (
        [read(0), committed(1), crashed(), read(0, "b"), processed(0, node="b")],
        ProcessingOutcomes((), (), ("m0",)),
    ),
    "done twice": ([read(0), processed(0), crashed(), read(0, "b"), processed(0)], ProcessingOutcomes((), ("m0",))),
    "refused the second time": ([read(0), processed(0), read(0), processed(0, "refused")], ProcessingOutcomes()),
    "failed, tried again, done": ([read(0), processed(0, "failed"), processed(0), committed(1)], ProcessingOutcomes()),
    "failed, committed, gone": (
        [read(0), processed(0, "failed"), committed(1), crashed()],
        ProcessingOutcomes(("m0",), (), ("m0",)),
    ),
    "skipped on purpose": ([read(0), processed(0, "skipped"), committed(1), crashed()], ProcessingOutcomes()),
    "in a transaction": (
        [Event(0, Kind.TRANSACTION_BEGUN, "a", (1,)), read(0), committed(1), crashed()],
        ProcessingOutcomes(),
    ),
    "a reader without a group": ([Event(0, Kind.CONSUMED, "a", ("t-0", 0, "m0", "")), crashed()], ProcessingOutcomes()),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_group_passes_over_does_twice_or_commits_early(case: str) -> None:
    events, expected = CASES[case]
    assert processing_outcomes(events) == expected
