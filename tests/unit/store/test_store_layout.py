"""Names of files in a dump directory are safe, sort by time and can be read back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.store.layout import SnapshotName, is_manifest_name, own_names, parse_manifest_name, path_segment

MOMENT = datetime(2026, 3, 1, 0, 30, 5, 7000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("label", "segment"),
    [
        ("Zk5-Cluster_Id.1", "Zk5-Cluster_Id.1"),
        ("prod/eu west", "prod%2Feu%20west"),
        ("../..", "..%2F.."),
        ("~root", "%7Eroot"),
        ("a=b:9092,c:9092", "a%3Db%3A9092%2Cc%3A9092"),
        ("köln", "k%C3%B6ln"),
        ("\udcff", "%FF"),
        ("", "unnamed"),
    ],
)
def test_labels_become_safe_segments(label: str, segment: str) -> None:
    assert path_segment(label) == segment


@given(st.text(max_size=60))
def test_every_segment_is_safe_and_short_ones_decode(label: str) -> None:
    segment = path_segment(label)
    assert re.fullmatch(r"[A-Za-z0-9._%-]+", segment)
    assert len(f"{segment}") <= 100
    if label and len(segment) < 83:
        assert unquote(segment) == label


def test_long_labels_are_cut_but_stay_apart() -> None:
    first, second = path_segment("ü" * 200 + "a"), path_segment("ü" * 200 + "b")
    assert first != second
    assert len(first) <= 100
    assert re.fullmatch(r"(%[0-9A-F]{2})+-[0-9a-f]{16}", first), "no half of an encoded byte"


def test_paths_are_those_of_the_design() -> None:
    name = SnapshotName(MOMENT, "abc", "0123456789ab")
    stamp = "20260301T003005.007Z"
    assert name.data_file("brokers") == f"brokers/date=2026-03-01/cluster=abc/{stamp}-0123456789ab.parquet"
    assert name.manifest == f"manifests/{stamp}-abc-0123456789ab.json"


def test_the_date_is_that_of_utc() -> None:
    berlin = timezone(timedelta(hours=1))
    name = SnapshotName.new(datetime(2026, 3, 1, 0, 30, tzinfo=berlin), "x")
    assert "date=2026-02-28/" in name.data_file("brokers")


@given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)), st.text(min_size=1, max_size=30))  # noqa: DTZ001
def test_names_of_manifests_are_read_back(moment: datetime, label: str) -> None:
    name = SnapshotName.new(moment.replace(tzinfo=UTC), label)
    entry = parse_manifest_name(Path("somewhere") / name.manifest)
    assert entry is not None
    assert entry.cluster == path_segment(label)
    assert entry.taken_at == moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)


@pytest.mark.parametrize(
    "name", ["x.json", "20260301T003005.007Z-abc.json", "20261301T003005.007Z-abc-0123456789ab.json", ".json"]
)
def test_other_names_are_no_manifests(name: str) -> None:
    assert parse_manifest_name(Path(name)) is None


@pytest.mark.parametrize(
    "strange",
    [
        "20260301T003005.007Z--0123456789ab.json",
        "20260301T003005.007Z-0123456789ab.json",
        "20260301T003005.007Z-abc-0123456789ag.json",
        "20260301T003005.007Z-a/c-0123456789ab.json",
        "20260301T003005.007Z-abc-0123456789ab.json\n20260301T003005.007Z-abc-0123456789ab.json",
        "20260301T003005.007Z-abc-0123456789ab.json\n",
        "\u0662\u066026301T003005.007Z-abc-0123456789ab.json",
        "",
    ],
)
def test_names_looked_at_together_are_those_looked_at_one_by_one(strange: str) -> None:
    own = [SnapshotName(MOMENT, label, "0123456789ab").manifest.partition("/")[2] for label in ("a", "b-0", "c" * 100)]
    for names in ([], own, [strange], [strange, *own], [*own, strange, *own]):
        assert list(own_names(names)) == [name for name in names if is_manifest_name(name)]
    assert strange not in own_names([*own, strange])
