"""Manifests say everything of a snapshot but its rows, and damaged ones are told apart from newer and foreign ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.manifest import decode_manifest, encode_manifest, read_manifest
from kreplica.store.writing import write_snapshot


@pytest.fixture
def document(tmp_path: Path, make_snapshot: Callable[..., ClusterSnapshot]) -> dict[str, Any]:
    """A manifest as another program sees it."""
    written = write_snapshot(replace(make_snapshot(), metadata_offset=48211), tmp_path)
    read: dict[str, Any] = json.loads(written.read_text())
    return read


def _refusal(document: object, path: Path = Path("DIR/manifests/m.json")) -> str:
    with pytest.raises(InputError) as caught:
        decode_manifest(json.dumps(document).encode(), path)
    assert str(path) in str(caught.value)
    assert caught.value.fix
    return str(caught.value)


def test_another_program_finds_everything_in_it(document: dict[str, Any]) -> None:
    assert document["schema"] == "kreplica/manifest/v1"
    assert document["snapshot"] == {
        "cluster_id": "Zk5-Cluster_Id",
        "name": "prod-eu",
        "taken_at": "2026-03-01T12:00:00.125000Z",
        "source": "kafka",
        "controller": 2,
        "features": {"metadata.version": 27},
        "gaps": [{"kind": "silent-brokers", "message": "broker 2 did not answer", "count": 1}],
        "notes": ["a note"],
        "controller_epoch": None,
    }
    assert [(file["table"], file["rows"]) for file in document["files"]] == [
        ("partitions", 3),
        ("brokers", 2),
        ("configs", 2),
        ("groups", 1),
    ]
    assert document["empty"] == ["log_dirs", "replicas", "quorum"]
    assert document["metadata_offset"] == 48211


def test_what_is_decoded_is_encoded_again(document: dict[str, Any]) -> None:
    manifest = decode_manifest(json.dumps(document).encode(), Path("DIR/manifests/m.json"))
    assert json.loads(encode_manifest(manifest)) == document


def test_fields_of_later_versions_are_ignored(document: dict[str, Any]) -> None:
    document["snapshot"]["mood"] = document["colour"] = "blue"
    document["files"].append({"table": "acls", "path": "acls/x.parquet", "rows": 1, "bytes": 1, "sha256": ""})
    manifest = decode_manifest(json.dumps(document).encode(), Path("DIR/manifests/m.json"))
    assert manifest.snapshot.name == "prod-eu"


def test_a_newer_schema_version_names_both(document: dict[str, Any]) -> None:
    document["schema_version"] = 2
    document["files"] = "of another shape"
    assert "schema version 2, this kreplica reads up to 1; read it with the newer kreplica" in _refusal(document)


def test_a_foreign_schema_is_named(document: dict[str, Any]) -> None:
    document["schema"] = "kreplica/snapshot/v1"
    assert "expected the schema kreplica/manifest/v1, found kreplica/snapshot/v1" in _refusal(document)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("files", 0, "rows"), "3", "expected `int`, got `str` - at `$.files[0].rows`"),
        (("files", 0, "bytes"), -1, "expected `int` >= 0 - at `$.files[0].bytes`"),
        (("snapshot", "taken_at"), "2026-03-01T12:00:00", "taken_at"),
        (("snapshot", "taken_at"), "yesterday", "taken_at"),
        (("snapshot", "controller"), 2**31, "expected `int` <= 2147483647 - at `$.snapshot.controller`"),
        (("snapshot", "controller_epoch"), 2**40, "expected `int` <= 2147483647 - at `$.snapshot.controller_epoch`"),
        (("snapshot", "controller"), -(2**31) - 1, "expected `int` >= -2147483648"),
        (("metadata_offset",), 2**63, "expected `int` <= 9223372036854775807 - at `$.metadata_offset`"),
        (("snapshot", "gaps"), [{"kind": "x"}], "missing required field `message`"),
        (("files",), None, "expected `array`, got `null`"),
    ],
)
def test_a_wrong_field_is_named(document: dict[str, Any], path: tuple[Any, ...], value: object, reason: str) -> None:
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert reason in _refusal(document)


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "partitions/../../x", "..\\x", "a\0b"])
def test_files_outside_the_dump_directory_are_refused(document: dict[str, Any], path: str) -> None:
    document["files"][0]["path"] = path
    assert "outside the dump directory" in _refusal(document)


def test_two_files_for_one_table_are_refused(document: dict[str, Any]) -> None:
    document["files"].append(document["files"][0])
    assert "two files for one table" in _refusal(document)


def test_a_manifest_without_partitions_is_refused(document: dict[str, Any]) -> None:
    del document["files"][0]
    assert "names no partitions table" in _refusal(document)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"PAR1", b'{"schema": "\xff"}', b"null"])
def test_no_json_is_no_manifest(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a manifest of kreplica"):
        read_manifest(path)
    with pytest.raises(InputError, match="not a manifest of kreplica: JSON is malformed"):
        decode_manifest(b"junk", path)


def test_every_cut_is_noticed(document: dict[str, Any]) -> None:
    content = json.dumps(document).encode()
    for length in range(len(content)):
        with pytest.raises(InputError):
            decode_manifest(content[:length], Path("m.json"))


def test_an_absent_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_manifest(tmp_path / "m.json")
