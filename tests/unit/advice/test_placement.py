"""Places of replicas: as many racks as there can be, the preferred leader where it is, nobody twice."""

from __future__ import annotations

import json
import shlex

from clusters.generated import partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.advice.commands import Placement, reassign_command
from kreplica.advice.facts import ClusterFacts


def facts(racks: list[str], replicas: list[int], more: list[list[int]] | None = None) -> ClusterFacts:
    """All brokers live, one for each rack given, and partitions of these replicas."""
    brokers = [{"broker": number, "rack": rack, "alive": True} for number, rack in enumerate(racks, start=1)]
    rows = [partition("t", number, replicas=some, isr=some) for number, some in enumerate([replicas, *(more or [])])]
    return ClusterFacts(snapshot_of(rows, brokers))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    racks = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7))
    ids = list(range(1, len(racks) + 1))
    return racks, draw(st.lists(st.sampled_from(ids), unique=True, min_size=1, max_size=len(racks)))


def rack_count(racks: list[str], replicas: list[int]) -> int:
    return len({racks[broker - 1] for broker in replicas})


@given(clusters(), st.integers(1, 7))
def test_more_replicas_stand_in_as_many_racks_as_can_be(cluster: tuple[list[str], list[int]], factor: int) -> None:
    racks, replicas = cluster
    placement = Placement(facts(racks, replicas))
    assert placement.can_extend(replicas, factor) == (factor <= len(racks))
    if not len(replicas) <= factor <= len(racks):
        return
    placed = placement.extended(replicas, factor)
    assert placed[: len(replicas)] == replicas
    assert len(set(placed)) == len(placed) == factor
    added = factor - len(replicas)
    assert rack_count(racks, placed) == min(rack_count(racks, replicas) + added, len(set(racks)))


@given(clusters())
def test_spread_replicas_stand_in_as_many_racks_as_can_be(cluster: tuple[list[str], list[int]]) -> None:
    racks, replicas = cluster
    if len(replicas) == len(racks):
        return  # no broker is free
    placed = Placement(facts(racks, replicas)).spread(replicas)
    assert placed[0] == replicas[0]
    assert len(set(placed)) == len(placed) == len(replicas)
    assert rack_count(racks, placed) == min(len(replicas), len(set(racks)))
    kept = sum(old == new for old, new in zip(replicas, placed, strict=True))
    assert len(replicas) - kept == rack_count(racks, placed) - rack_count(racks, replicas)


def test_new_replicas_go_where_there_are_fewest_then_to_the_smallest_id() -> None:
    placement = Placement(facts(["a", "b", "b", "b"], [1], [[1, 2], [1, 3]]))
    assert [placement.extended([1], 2)[1] for _ in range(4)] == [4, 2, 3, 4]


def test_the_command_is_a_line_that_a_shell_takes_apart_rightly() -> None:
    command = reassign_command("a.b-c_d", {0: [1, 2], 3: [2]}, facts(["a"], [1]))
    echo, tool = command.split(" && ")
    words = shlex.split(echo)
    assert words[0] == "echo"
    assert words[2:] == [">", "reassign-a.b-c_d.json"]
    assert json.loads(words[1]) == {
        "version": 1,
        "partitions": [
            {"topic": "a.b-c_d", "partition": 0, "replicas": [1, 2]},
            {"topic": "a.b-c_d", "partition": 3, "replicas": [2]},
        ],
    }
    options = ["--bootstrap-server", "HOST:PORT", "--reassignment-json-file", words[3], "--execute"]
    assert shlex.split(tool) == ["kafka-reassign-partitions", *options]
