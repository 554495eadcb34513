"""Files of Kafka's own reassignment tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError, UsageError
from kreplica.execution.moves.plans.reassignment_json import read_reassignment_json, write_reassignment_json


def file_of(folder: Path, *partitions: dict[str, Any], version: int = 1) -> Path:
    path = folder / "reassignment.json"
    path.write_text(json.dumps({"version": version, "partitions": partitions}), encoding="utf-8")
    return path


ORDERS: dict[str, Any] = {"topic": "orders", "partition": 0, "replicas": [3, 1]}


def test_a_file_as_kafkas_tool_generates_it(tmp_path: Path) -> None:
    dirs = {"topic": "orders", "partition": 1, "replicas": [1, 2], "log_dirs": ["any", "/disk2"]}
    found = read_reassignment_json(file_of(tmp_path, ORDERS | {"log_dirs": ["any", "any"]}, dirs))
    assert found.replicas == {("orders", 0): (3, 1), ("orders", 1): (1, 2)}
    assert found.directories == {("orders", 1): (None, "/disk2")}


def test_what_is_written_is_the_form_of_kafkas_tool(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_reassignment_json({("orders", 0): (3, 1)}, path)
    expected = {"version": 1, "partitions": [ORDERS | {"log_dirs": ["any", "any"]}]}
    assert json.loads(path.read_text(encoding="utf-8")) == expected
    with pytest.raises(UsageError, match="is there already"):
        write_reassignment_json({}, path)
    write_reassignment_json({}, path, replace=True)
    assert read_reassignment_json(path).replicas == {}


WRONG = {
    "twice": ([ORDERS, ORDERS], "named a second time"),
    "broker twice": ([ORDERS | {"replicas": [1, 1]}], "a broker is named twice"),
    "no replica": ([ORDERS | {"replicas": []}], "no replica"),
    "no broker": ([ORDERS | {"replicas": [1, -2]}], "no broker has the id -2"),
    "no topic": ([ORDERS | {"topic": "a b"}], "no partition of a topic"),
    "no partition": ([ORDERS | {"partition": -1}], "no partition of a topic"),
    "directories": ([ORDERS | {"log_dirs": ["any"]}], "1 log directories for 2 replicas"),
    "text": ([ORDERS | {"replicas": "1,2"}], "no reassignment, expected"),
    "missing": ([{"topic": "orders"}], "no reassignment, object missing required field"),
}


@pytest.mark.parametrize(("partitions", "said"), WRONG.values(), ids=WRONG)
def test_what_kafka_refuses_is_refused(tmp_path: Path, partitions: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_reassignment_json(file_of(tmp_path, *partitions))


def test_another_version_and_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its version is 2"):
        read_reassignment_json(file_of(tmp_path, version=2))
    (tmp_path / "no.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="no reassignment"):
        read_reassignment_json(tmp_path / "no.json")
    with pytest.raises(InputError, match="no such file"):
        read_reassignment_json(tmp_path / "nothing.json")


KEYS = st.tuples(st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1))
REPLICAS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True).map(tuple)


@given(wanted=st.dictionaries(KEYS, REPLICAS, max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, wanted: dict[Any, Any]) -> None:
    path = tmp_path_factory.mktemp("written") / "out.json"
    write_reassignment_json(wanted, path)
    assert dict(read_reassignment_json(path).replicas) == wanted
