"""Snapshots chosen by names: those that are not wanted are not opened."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from clusters.generated import partition, snapshot_of
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.store import manifest as manifests
from kreplica.store.choosing import choose_names
from kreplica.store.layout import SnapshotName, label_in, path_segment
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot

MORNING = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


def name(hour: float, label: str, number: int = 0) -> str:
    return SnapshotName(MORNING + timedelta(hours=hour), path_segment(label), f"{number:012x}").manifest[10:]


@given(st.text())
def test_labels_are_read_back_from_their_segments_unless_they_were_cut(label: str) -> None:
    segment = path_segment(label)
    assert label_in(segment) in ((label,) if len(quote(label)) < 80 else (label, None))
    assert label_in(path_segment(label + "x" * 200)) is None


HOURS = st.integers(0, 5)
LABELS = st.sampled_from(["aaa", "ab", "id-1", "prod", "ü/x", "x" * 150])
NAMES = {"aaa": "prod", "ab": "prod-eu", "id-1": "aaa", "prod": "prod", "ü/x": "x", "x" * 150: "long"}


@example([(0, "x" * 150)], ["aaa", "x" * 150], (0, 0))  # a label whose part of the file name was cut
@given(
    st.lists(st.tuples(HOURS, LABELS), unique=True),
    st.lists(st.sampled_from(["aaa", "prod", "prod*", "a?", "[ai]*", "long", "ü/x", "x" * 150]), max_size=2),
    st.tuples(HOURS, HOURS),
)
def test_the_same_is_chosen_as_by_opening_every_manifest(
    some: list[tuple[int, str]], patterns: list[str], hours: tuple[int, int]
) -> None:
    from fnmatch import fnmatchcase

    since, until = (MORNING + timedelta(hours=hour) for hour in sorted(hours))
    labels = {name(hour, label, at): label for at, (hour, label) in enumerate(some)}
    opened = []

    def words_of(some: Sequence[str]) -> list[tuple[str, str]]:
        opened.extend(some)
        return [(labels[one], NAMES[labels[one]]) for one in some]

    found = choose_names(sorted(labels), patterns, (since, until), words_of)
    inside = {one for one, label in labels.items() if since <= MORNING + timedelta(hours=int(one[9:11]) - 8) <= until}
    there = {labels[one] for one in inside}
    by_id_alone = patterns and set(patterns) <= there and not any(set("*?[") & set(pattern) for pattern in patterns)

    def wanted(label: str) -> bool:
        called: Collection[str] = (label,) if by_id_alone else (label, NAMES[label])
        return not patterns or any(fnmatchcase(word, pattern) for word in called for pattern in patterns)

    assert set(found.names) == {one for one in inside if wanted(labels[one])}
    assert found.others == len(labels) - len(found.names)
    assert len(opened) <= len(there)


def test_borders_are_kept_to_the_millisecond() -> None:
    moment = MORNING + timedelta(milliseconds=1, microseconds=500)
    names = [SnapshotName(MORNING + timedelta(milliseconds=at), "a", f"{at:012x}").manifest[10:] for at in range(3)]
    nobody: Any = None
    assert choose_names(names, (), (moment, None), nobody).names == names[1:]
    assert choose_names(names, (), (None, moment), nobody).names == names[:2]
    assert choose_names(names, (), (moment, moment), nobody).names == names[1:2]


def test_names_of_others_are_always_opened_and_unreadable_ones_decide_nothing() -> None:
    names = sorted([name(0, "aaa"), name(1, "bbb"), "export.json", "0.json"])
    found = choose_names(names, ("prod",), (MORNING, MORNING + timedelta(hours=1)), lambda some: [None] * len(some))
    assert set(found.names) == set(names)
    assert found.clusters == frozenset()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the manifests that are read."""
    found: list[str] = []
    read = manifests.read_at

    def noted(path: Path | str, *given: Any, **options: Any) -> bytes:
        found.append(Path(path).name[9:11] + Path(path).name[20:24])
        return read(path, *given, **options)

    monkeypatch.setattr(manifests, "read_at", noted)
    return found


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        (Wanted(("aaa",), MORNING + timedelta(hours=2)), ["10-aaa"]),
        (Wanted(("a*",), until=MORNING), ["08-aaa", "08-bbb"]),
        (Wanted((), MORNING + timedelta(hours=2)), ["10-aaa", "10-bbb"]),
        (Wanted(("prod-1",), MORNING + timedelta(hours=1)), ["09-bbb", "10-aaa", "10-bbb", "10-bbb"]),
        (Wanted(("nobody",)), ["10-aaa", "10-bbb"]),
    ],
)
def test_only_what_is_wanted_or_undecided_is_opened(
    tmp_path: Path, opened: list[str], wanted: Wanted, read: list[str]
) -> None:
    for hour in range(3):
        for number, cluster in enumerate(("aaa", "bbb")):
            facts = {"cluster_id": cluster, "name": f"prod-{number}", "taken_at": MORNING + timedelta(hours=hour)}
            write_snapshot(snapshot_of([partition()], **facts), tmp_path)
    opened.clear()
    selection = select_snapshots([tmp_path], wanted)
    assert sorted(opened) == sorted(read)
    assert len(selection.snapshots) + selection.filtered == 6


def test_a_cluster_goes_by_the_name_of_its_newest_snapshot(tmp_path: Path) -> None:
    for hour, called in enumerate(("old", "new")):
        facts = {"cluster_id": "aaa", "name": called, "taken_at": MORNING + timedelta(hours=hour)}
        write_snapshot(snapshot_of([partition()], **facts), tmp_path)
    assert len(select_snapshots([tmp_path], Wanted(("new",))).snapshots) == 2
    assert select_snapshots([tmp_path], Wanted(("old",))).snapshots == ()
    assert len(select_snapshots([tmp_path], Wanted(("old",), until=MORNING)).snapshots) == 1


def test_names_are_read_as_json_has_them_and_a_damaged_newest_manifest_decides_nothing(tmp_path: Path) -> None:
    for hour in range(2):
        facts = {"cluster_id": "aaa", "name": 'p"r-ö', "taken_at": MORNING + timedelta(hours=hour)}
        write_snapshot(snapshot_of([partition()], **facts), tmp_path)
    newest = sorted((tmp_path / "manifests").iterdir())[-1]
    text = newest.read_text(encoding="utf-8")
    newest.write_text(text.replace("ö", "\\u00f6").replace('p\\"r', "\\u0070\\u0022r"), encoding="utf-8")
    wanted = Wanted(('p"r-ö',))
    assert len(select_snapshots([tmp_path], wanted).snapshots) == 2
    assert select_snapshots([tmp_path], Wanted(("u0070",))).snapshots == ()

    newest.write_text(text[:-40], encoding="utf-8")
    found = select_snapshots([tmp_path], wanted)
    assert (len(found.snapshots), [one.path for one in found.damaged]) == (1, [str(newest)])
