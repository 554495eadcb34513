"""A consumer with assigned partitions and no group, where its position is in the log no more."""

from __future__ import annotations

import pytest

from kreplica.engine.trace import Kind, fields_of
from kreplica.scenarios import scenario_named
from kreplica.scenarios.playing import play


@pytest.mark.parametrize(
    ("reset", "failures", "read_behind"),
    [("earliest", [], ["m1"]), ("latest", [], []), ("none", ["no position in t-0: out of range"], [])],
)
def test_auto_offset_reset_says_where_it_goes_on(reset: str, failures: list[str], read_behind: list[str]) -> None:
    """An unclean election: broker 2, which has m1 alone, leads; the reader has read m1, m2 and m3."""
    unclean = {"unclean.leader.election.enable": True, "auto.offset.reset": reset}
    events = play(scenario_named("unclean-election"), "4.1", unclean).events
    assert [fields_of(one)["error"] for one in events if one.kind == Kind.CLIENT_FAILED] == failures
    read = [fields_of(one)["value"] for one in events if one.kind == Kind.CONSUMED]
    assert read == ["m1", "m2", "m3", *read_behind]
