"""Observations in their order: pauses, instants with two snapshots, clusters without an id, clocks that went back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from analyzers.reading.timeline import Observation, Timeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def seen(hours: float, cluster: str = "Zk5", **facts: object) -> Observation:
    known: dict[str, object] = {"digest": f"{hours}", "whole": True, "cluster_id": cluster, "name": "prod"}
    known["source"] = "kafka"
    taken_at = NOON + timedelta(hours=hours)
    return Observation(cluster=cluster, taken_at=taken_at, **{**known, **facts})  # type: ignore[arg-type]


def stretches(*hours: float) -> list[int]:
    return [place.stretch for place in Timeline(map(seen, hours)).places]


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([0], [1]),
        ([0, 50], [1, 1]),
        ([0, 1, 2, 3], [1, 1, 1, 1]),
        ([0, 1, 2, 5, 6], [1, 1, 1, 1, 1]),
        ([0, 1, 2, 5.001, 6], [1, 1, 1, 2, 2]),
        ([0, 1, 2, 9, 10, 20, 21], [1, 1, 1, 2, 2, 3, 3]),
        ([0, 0, 0, 0, 1, 2, 3], [1] * 7),
    ],
    ids=["one", "two", "hourly", "three-hours", "a-little-more", "two-pauses", "one-instant"],
)
def test_more_than_three_usual_intervals_are_a_pause(hours: list[float], expected: list[int]) -> None:
    assert stretches(*hours) == expected


def test_numbers_go_by_cluster_time_and_content_whatever_comes_first() -> None:
    observed = [seen(hours, cluster) for cluster in ("a", "b") for hours in (0, 1, 2)]
    observed += [seen(1, "a", digest="0"), seen(1, "a", digest="2")]
    shuffled = Random(3).sample(observed, len(observed))
    places = Timeline(shuffled).places
    assert [place.number for place in places] == list(range(8))
    assert [(place.observed.cluster, place.observed.digest) for place in places[:5]] == [
        ("a", "0"),
        ("a", "0"),
        ("a", "1"),
        ("a", "2"),
        ("a", "2"),
    ]
    assert [place.cluster for place in places] == [0] * 5 + [1] * 3
    assert [place.newest for place in places] == [4] * 5 + [7] * 3
    assert [place.stretch for place in places] == [1] * 5 + [2] * 3
    assert [place.waited for place in places][4:6] == [timedelta(hours=1), None]


def test_the_next_whole_observation_is_one_of_the_same_cluster() -> None:
    observed = [seen(0), seen(1, whole=False), seen(2), seen(3, whole=False), seen(0, "z"), seen(1, "z")]
    assert [place.next_whole for place in Timeline(observed).places] == [2, 2, None, None, 5, None]


def test_clusters_without_an_id_are_not_merged_in_silence() -> None:
    assert list(Timeline([seen(0), seen(1)]).warnings()) == []
    assert list(Timeline([seen(0, "prod", cluster_id=None)]).warnings()) == []
    (line,) = Timeline([seen(0, "prod", cluster_id=None), seen(1, "prod", cluster_id=None)]).warnings()
    assert line == "prod: 2 snapshots without a cluster id are taken for one cluster, by their name alone"


def test_a_controller_epoch_that_goes_back_is_told() -> None:
    grown = [seen(0, controller_epoch=4), seen(1), seen(2, controller_epoch=4), seen(3, controller_epoch=5)]
    assert list(Timeline(grown).warnings()) == []
    (line,) = Timeline([*grown, seen(2.5, controller_epoch=7)]).warnings()
    assert line.startswith("Zk5: the controller epoch goes back from 7 to 5 in the snapshot of 2026-03-01T15:00")
    assert "a clock went back" in line


def test_an_end_of_the_metadata_log_that_goes_back_is_told() -> None:
    grown = [seen(0, metadata_offset=400), seen(1), seen(2, metadata_offset=400), seen(3, metadata_offset=500)]
    assert list(Timeline(grown).warnings()) == []
    (line,) = Timeline([*grown, seen(2.5, metadata_offset=501)]).warnings()
    sign = "Zk5: the end offset of the metadata log goes back from 501 to 500 in the snapshot of 2026-03-01T15:00"
    assert line.startswith(sign)
    assert "a clock went back" in line


def test_ends_of_the_metadata_log_are_compared_within_one_source() -> None:
    """A log that was read as it lay on disk goes by another clock than the reader of the live cluster."""
    dump = {"source": "kraft-metadata"}
    mixed = [seen(0, metadata_offset=400), seen(1, **dump, metadata_offset=390), seen(2, metadata_offset=410)]
    assert list(Timeline(mixed).warnings()) == []
    (line,) = Timeline([*mixed, seen(3, **dump, metadata_offset=380)]).warnings()
    assert "goes back from 390 to 380 in the snapshot of 2026-03-01T15:00" in line


def test_what_a_metadata_log_tells_is_told_from_snapshots() -> None:
    assert not Timeline([seen(0), seen(1)]).has_logs
    assert Timeline([seen(0), seen(1, log=0)]).has_logs
    assert Timeline([seen(0, log=0), seen(1, log=1)]).has_logs
    assert not Timeline([]).has_logs
