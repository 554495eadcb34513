"""A plan is read back only if it is what was written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kreplica.errors import InputError, UsageError
from kreplica.execution.plan_file import read_plan, write_plan

Make = Callable[..., Any]


def canonical_digest(document: dict[str, Any]) -> str:
    """As the file's documentation says it is made."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def signed(path: Path, **changed: Any) -> None:
    """Changes fields of a plan and gives it the digest of what it now says."""
    document = {**json.loads(path.read_text()), **changed}
    document["digest"] = canonical_digest(document)
    path.write_text(json.dumps(document))


def test_a_plan_is_read_as_it_was_written(paper: Make) -> None:
    made = paper(0, 1, 3)
    plan, digest = read_plan(made.path)
    document = json.loads(made.path.read_text())
    assert digest == document["digest"] == canonical_digest(document)
    assert [len(step.changes) for step in plan.steps] == [2, 1]
    assert plan == made.plan
    assert not list(made.path.parent.glob(".*")), "nothing half-written is left"


def test_a_file_that_is_there_is_not_overwritten_unasked(paper: Make) -> None:
    made = paper(0)
    before = made.path.read_bytes()
    with pytest.raises(UsageError, match=r"plan.json is there already.*--force"):
        write_plan(made.plan, made.path)
    assert made.path.read_bytes() == before
    write_plan(made.plan, made.path, replace=True)
    assert read_plan(made.path)[0] == made.plan


def test_where_there_are_no_hard_links(paper: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    made = paper(0)
    monkeypatch.setattr("os.link", refuse)
    with pytest.raises(UsageError, match=r"plan.json is there already"):
        write_plan(made.plan, made.path)
    write_plan(made.plan, tmp_path / "other.json")
    assert read_plan(tmp_path / "other.json")[0] == made.plan
    assert not list(tmp_path.glob(".*")), "nothing half-written is left"


def test_a_plan_can_be_read_by_whom_the_user_lets(paper: Make) -> None:
    made = paper(0)
    other = made.path.with_name("other")
    other.touch()
    assert made.path.stat().st_mode == other.stat().st_mode


def test_a_place_that_cannot_be_written(paper: Make, tmp_path: Path) -> None:
    made = paper(0)
    with pytest.raises(UsageError, match=r"cannot write .*no such file or directory"):
        write_plan(made.plan, tmp_path / "nowhere" / "plan.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "plan.json; not JSON"),
        (b'{"schema": "kreplica/plan/v1", "plan_id": ', "plan.json; not JSON, .*truncated"),
        (b'{"schema": ?}', "plan.json, byte 11; not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "expected a JSON object: not a plan of kreplica"),
        (b"{}", "found no schema: not a plan of kreplica"),
        (b'{"version":1,"partitions":[]}', "found no schema: not a plan of kreplica"),
        (b'{"schema": "kreplica/describe/v1"}', "found schema 'kreplica/describe/v1': not a plan"),
        (b'{"schema": "kreplica/plan/v2"}', "its schema is kreplica/plan/v2, .*use a newer kreplica"),
        (b'{"schema": "kreplica/plan/v1"}', "its digest does not match"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_plan_is_named(paper: Make, content: bytes, said: str) -> None:
    path = paper(0).path
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot read ") as caught:
        read_plan(path)
    assert re.search(said, str(caught.value)), str(caught.value)


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        read_plan(tmp_path / "plan.json")
    with pytest.raises(InputError, match="is a directory"):
        read_plan(tmp_path)


def test_every_edited_value_is_noticed(paper: Make) -> None:
    made = paper(0, 1)
    text = made.path.read_text()
    for old, new in [
        ('"to_leader": 1', '"to_leader": 3'),
        ('"leader_epoch": 5', '"leader_epoch": 6'),
        ("cluster-id", "x"),
    ]:
        assert old in text
        made.path.write_text(text.replace(old, new, 1))
        with pytest.raises(InputError, match="it was edited or damaged after it was made; make it anew"):
            read_plan(made.path)
    made.path.write_text(json.dumps(json.loads(text)))  # another layout says the same
    assert read_plan(made.path)[0].cluster_id == "cluster-id"


def test_what_this_kreplica_does_not_know_is_not_ignored(paper: Make) -> None:
    made = paper(0)
    document = json.loads(made.path.read_text())
    signed(made.path, throttle=1000)
    with pytest.raises(InputError, match="it has fields that this kreplica does not know"):
        read_plan(made.path)
    (step,) = document["steps"]
    for changed, said in [
        ({"steps": [{**step, "preconditions": ["full-moon"]}]}, "full-moon"),
        ({"steps": [{**step, "parallel": True}]}, "it has fields that this kreplica does not know"),
        ({"created_at": 7}, "created_at"),
    ]:
        made.path.write_text(json.dumps(document))
        signed(made.path, **changed)
        with pytest.raises(InputError, match=said):
            read_plan(made.path)


def test_a_plan_that_contradicts_itself_is_refused_whoever_signed_it(paper: Make) -> None:
    made = paper(0, 1, batch=1)
    document = json.loads(made.path.read_text())
    first, second = document["steps"]
    change = first["changes"][0]

    def refused(**changed: Any) -> str:
        signed(made.path, **{**document, **changed})
        with pytest.raises(InputError) as caught:
            read_plan(made.path)
        return str(caught.value)

    assert "changed twice" in refused(steps=[first, {**first, "number": 2}])
    assert "other partitions" in refused(made_from=document["made_from"][:1])
    assert "not numbered" in refused(steps=[second, first])
    assert "another than the first" in refused(steps=[{**first, "changes": [{**change, "to_leader": 3}]}, second])
    for nobodys in (9, change["to_leader"]):  # brought back by an order with it in front: data would move, or nothing
        assert "none of the other replicas" in refused(
            steps=[{**first, "changes": [{**change, "from_leader": nobodys}]}, second]
        )
    for lacking in first["preconditions"]:
        asked = [one for one in first["preconditions"] if one != lacking]
        assert f"does not ask for {lacking}, without" in refused(steps=[{**first, "preconditions": asked}, second])
    assert "same-topic, same-replicas, not-reassigning" in refused(steps=[{**first, "preconditions": []}, second])
    assert "something else than elect-preferred" in refused(steps=[{**first, "action": "bring-back-leader"}, second])
    assert "does not undo" in refused(inverse=document["inverse"][:1])
