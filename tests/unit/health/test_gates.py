"""A dump that is too old for a gate, in words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from clusters.generated import NOON, partition, snapshot_of

from kreplica.health.gates import STALE, Freshness, for_gate
from kreplica.model.snapshot import Gap


@pytest.mark.parametrize(
    ("seconds", "most", "message"),
    [
        (600.0, 300.0, "the dump is 10 min old, at most 5 min are taken (--max-age)"),
        (-600.0, 300.0, "the dump is of 10 min in the future, at most 5 min are taken (--max-age)"),
        (0.75, 0.0, "the dump is 1 s old, at most 0 s are taken (--max-age)"),
        (-0.75, 0.0, "the dump is of 1 s in the future, at most 0 s are taken (--max-age)"),
        (300.0, 300.0, None),
        (-300.0, 300.0, None),
        (600.0, None, None),
    ],
)
def test_a_dump_of_another_time_is_told_with_its_age(seconds: float, most: float | None, message: str | None) -> None:
    snapshot = snapshot_of([partition()], dumped=True, taken_at=NOON)
    found = for_gate(snapshot, Freshness(most, NOON + timedelta(seconds=seconds))).gaps
    assert found == (() if message is None else (Gap(STALE, message, 1),))


def test_a_cluster_that_was_read_itself_has_no_age() -> None:
    assert for_gate(snapshot_of([partition()]), Freshness(0.0, NOON + timedelta(hours=1))).gaps == ()
