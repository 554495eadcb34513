"""Earlier answers: which findings are the same as theirs, and which files are none of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analyzers.rows import SpanFinding
from kreplica.errors import InputError
from kreplica.fleet.known.baseline import Baseline, place_of, read_baseline, read_incidents
from kreplica.health.rules import Severity


def at(hour: int) -> datetime:
    return datetime(2026, 3, 1, hour, tzinfo=UTC)


def finding(first: int, last: int, **values: Any) -> SpanFinding:
    given: dict[str, Any] = {
        "cluster": "c1",
        "valid_from": at(first).isoformat(),
        "last_seen": at(last).isoformat(),
        "valid_to": None,
        "snapshots": last - first + 1,
        "longest_interval_ms": 0,
        "in_newest": True,
        "rule": "under-replicated",
        "severity": Severity.WARNING,
        "topic": "orders",
        "partition": 1,
        "broker": None,
        "message": "in sync 1 of 2",
        "evidence": {},
        "exact": False,
    }
    return SpanFinding(**{**given, **values})


def document(one: SpanFinding) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "answer.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def is_known(folder: Path, earlier: SpanFinding, later: SpanFinding, read_from: int | None = None) -> bool:
    baseline = read_baseline(written(folder, document(earlier)))
    first, last = datetime.fromisoformat(later.valid_from), datetime.fromisoformat(later.last_seen)
    return baseline.has(place_of(later), first, last, None if read_from is None else at(read_from))


@pytest.mark.parametrize(
    ("earlier", "later", "same"),
    [
        ((3, 5), (3, 9), True),  # it went on
        ((3, 5), (5, 9), True),  # one moment of both
        ((3, 5), (6, 9), False),  # it came back
        ((3, 5), (1, 2), False),
        ((3, 5), (1, 3), True),  # more of the time before was read
        ((3, 9), (4, 5), True),
    ],
)
def test_spans_with_a_moment_in_common_are_of_one_finding(
    tmp_path: Path, earlier: tuple[int, int], later: tuple[int, int], same: bool
) -> None:
    assert is_known(tmp_path, finding(*earlier), finding(*later)) is same


@pytest.mark.parametrize(
    "change",
    [
        {"cluster": "c2"},
        {"rule": "offline"},
        {"topic": "payments"},
        {"topic": None},
        {"partition": 2},
        {"broker": 0},
        {"evidence": {"group": "billing"}},
        {"evidence": {"setting": "num.io.threads"}},
        {"evidence": {"path": "/data1"}},
    ],
)
def test_what_is_about_another_place_is_another_finding(tmp_path: Path, change: dict[str, Any]) -> None:
    assert not is_known(tmp_path, finding(3, 5), finding(3, 5, **change))
    assert not is_known(tmp_path, finding(3, 5, **change), finding(3, 5))
    assert is_known(tmp_path, finding(3, 5, **change), finding(4, 6, **change))


@pytest.mark.parametrize(
    "change",
    [{"severity": Severity.CRITICAL}, {"message": "in sync 0 of 2"}, {"evidence": {"days": 3.5}}, {"in_newest": False}],
)
def test_what_is_said_of_it_tells_nothing_apart(tmp_path: Path, change: dict[str, Any]) -> None:
    assert is_known(tmp_path, finding(3, 5), finding(3, 5, **change))


@pytest.mark.parametrize(
    ("earlier", "read_from", "same"),
    [
        ({}, 6, True),  # it lasted, and nothing before is read
        ({}, 5, False),  # a snapshot before says otherwise
        ({"in_newest": False}, 6, False),
        ({"valid_to": at(6).isoformat()}, 6, False),
    ],
)
def test_what_lasted_goes_on_where_reading_begins(
    tmp_path: Path, earlier: dict[str, Any], read_from: int, same: bool
) -> None:
    assert is_known(tmp_path, finding(3, 5, **earlier), finding(6, 9), read_from) is same


def test_a_document_and_lines_are_the_same_answer(tmp_path: Path) -> None:
    row = document(finding(3, 5))
    whole = {"schema": "kreplica/audit/v1", "clusters": [], "findings": [row], "summary": {}, "warnings": []}
    place = place_of(finding(3, 5))
    for text in (json.dumps(whole), json.dumps(whole, indent=2), json.dumps(row)):
        (tmp_path / "answer").write_text(text, encoding="utf-8")
        assert read_baseline(tmp_path / "answer").has(place, at(3), at(5), None)
    incidents = {"schema": "kreplica/audit-incidents/v1", "incidents": [{"id": "4d5e", "kind": "broker-down"}]}
    for text in (json.dumps(incidents), '{"id": "4d5e", "kind": "broker-down", "severity": "info"}\n'):
        (tmp_path / "answer").write_text(text, encoding="utf-8")
        assert read_incidents(tmp_path / "answer") == {"4d5e"}


def test_an_answer_without_rows_is_an_empty_file_or_an_empty_list(tmp_path: Path) -> None:
    for text in ("", '{"schema": "kreplica/audit/v1", "findings": []}'):
        (tmp_path / "answer").write_text(text, encoding="utf-8")
        assert not read_baseline(tmp_path / "answer").has(place_of(finding(3, 5)), at(3), at(5), at(3))
    assert not Baseline([]).has((), at(3), at(5), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"schema": "kreplica/audit-incidents/v1", "incidents": []}',
            "the schema kreplica/audit-incidents",
        ),
        ('{"schema": "kreplica/audit/v1", "counts": []}', "without them"),
        ('{"cluster": "c1", "rule": "offline"}', "line 1; it is no answer of kreplica audit: "),
        ('\n{"cluster":', "line 1; it is no answer of kreplica audit: "),
        ("severity,cluster\n", "line 1; it is no answer of kreplica audit: "),
    ],
)
def test_what_is_no_answer_of_audit_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "answer").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_baseline(tmp_path / "answer")
    assert said in str(caught.value)
    assert "kreplica audit ... -o jsonl > FILE writes one" in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        read_incidents(tmp_path / "none")


def test_a_time_without_its_offset_is_refused(tmp_path: Path) -> None:
    row = {**document(finding(3, 5)), "last_seen": "2026-03-01T05:00:00"}
    with pytest.raises(InputError, match="last_seen"):
        read_baseline(written(tmp_path, row))
