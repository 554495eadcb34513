"""Directories that may not be listed or entered, and files that do not tell whose they are: told, all else is read."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planted.closed_folders import close_directory

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
CLEAN, KILLED = GOLDEN / "clean/broker-1/data", GOLDEN / "killed-all/broker-1/data"
DENIED = "it cannot be read: permission denied"
CASES = {
    "segment": (CLEAN, "orders-0", "batches"),
    "segment --records": (CLEAN, "orders-0", "records"),
    "segment --index": (CLEAN, "orders-3", "entries"),
    "indexes": (CLEAN, "orders-0", "entries"),
    "offsets": (CLEAN, "__consumer_offsets-9", "offsets"),
    "offsets --groups": (CLEAN, "__consumer_offsets-9", "groups"),
    "offsets --events": (CLEAN, "__consumer_offsets-9", "events"),
    "transactions": (KILLED, "__transaction_state-47", "transactions"),
    "transactions --events": (KILLED, "__transaction_state-47", "transactions"),
    "transactions --hanging": (KILLED, "orders-0", "transactions"),
}
"""Of each command the log directory, the partition whose directory is closed, and the rows of the answer."""
HOLDING = ("transactions --hanging",)
"""Commands without a row for these directories."""


def without_age(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "age_ms"} for row in rows]


@pytest.mark.parametrize("words", CASES)
def test_one_directory_of_many(kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str) -> None:
    source, partition, rows = CASES[words]
    data = tmp_path / "data"
    shutil.copytree(source, data)
    (data / partition).rename(tmp_path / "away")
    without = kreplica("decode", *words.split(), data, "-o", "json").document
    (tmp_path / "away").rename(data / partition)
    close_directory(monkeypatch, data / partition)
    ended = kreplica("decode", *words.split(), data, "-o", "json")
    assert ended.code == 1
    assert without[rows] or words in HOLDING
    assert without_age(ended.document[rows]) == without_age(without[rows])
    told = [(each["file"], each["reason"]) for each in ended.document["summary"]["damage"]]
    assert told[0] == (str(data / partition), DENIED)
    assert len(told) == len(without["summary"]["damage"]) + 1
    assert f"{data / partition}, byte 0: {DENIED}" in ended.err


@pytest.mark.parametrize("words", CASES)
def test_one_that_may_be_listed_and_not_entered(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    """Its files are told, each by its name."""
    source, partition, rows = CASES[words]
    data = tmp_path / "data"
    shutil.copytree(source, data)
    kept = kreplica("decode", *words.split(), data, "-o", "json").document[rows]
    close_directory(monkeypatch, data / partition, listed=True)
    ended = kreplica("decode", *words.split(), data, "-o", "json")
    assert ended.code == 1
    assert len(ended.document[rows]) < len(kept) or words in HOLDING
    assert [row for row in without_age(ended.document[rows]) if row not in without_age(kept)] == []
    told = [each["file"] for each in ended.document["summary"]["damage"] if each["reason"] == DENIED]
    assert {str(Path(file).parent) for file in told} == {str(data / partition)}


@pytest.mark.parametrize("words", CASES)
def test_the_only_directory(kreplica: Any, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    source, partition, _ = CASES[words]
    close_directory(monkeypatch, source / partition)
    ended = kreplica("decode", *words.split(), source / partition)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: cannot read {source / partition}; permission denied; run it as the user ")


def test_one_disk_of_several(kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whether its directory may not be listed, or the one above not be entered."""
    other = tmp_path / "broker-2" / "data"
    shutil.copytree(KILLED, other)
    alone = kreplica("decode", "checkpoints", CLEAN, "-o", "json").document
    for closed in (other, other.parent):
        with monkeypatch.context() as patch:
            close_directory(patch, closed)
            ended = kreplica("decode", "checkpoints", CLEAN, other, "-o", "json")
        assert ended.code == 1
        assert ended.document["checkpoints"] == alone["checkpoints"]
        assert [each["file"] for each in ended.document["summary"]["damage"]] == [str(other)]


def test_offsets_are_not_missed_in_another_topics_directory(kreplica: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kreplica("decode", "offsets", CLEAN, "-o", "json")
    close_directory(monkeypatch, CLEAN / "orders-0")
    ended = kreplica("decode", "offsets", CLEAN, "-o", "json")
    assert (ended.code, ended.err, ended.out) == (whole.code, whole.err, whole.out)


def test_checkpoints(kreplica: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the directory's own files say is lost; the offsets stand in those of the log directory."""
    whole = kreplica("decode", "checkpoints", CLEAN, "-o", "json").document["checkpoints"]
    close_directory(monkeypatch, CLEAN / "orders-0")
    ended = kreplica("decode", "checkpoints", CLEAN, "-o", "json")
    assert ended.code == 1
    lost = dict.fromkeys(("topic_id", "epochs", "last_epoch"))
    assert ended.document["checkpoints"] == [
        row | (lost if (row["topic"], row["partition"]) == ("orders", 0) else {}) for row in whole
    ]
    told = [(each["file"], each["reason"]) for each in ended.document["summary"]["damage"]]
    assert told == [(str(CLEAN / "orders-0"), DENIED)]
    assert "DAMAGED 1 damaged place in these files; " in kreplica("decode", "checkpoints", CLEAN).out


def test_check_holds_nothing_against_such_a_log(kreplica: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it ends is not known, and no checkpoint is beyond it."""
    whole = kreplica("decode", "check", CLEAN, "-o", "json")
    assert whole.code == 0
    with monkeypatch.context() as patch:
        close_directory(patch, CLEAN / "orders-0")
        ended = kreplica("decode", "check", CLEAN, "-o", "json")
    assert ended.code == 1
    told = [tuple(each.values()) for each in ended.document["findings"]]
    assert told == [("log-damage", str(CLEAN / "orders-0"), 0, "orders", 0, DENIED, "", "")]
    assert ended.document["summary"]["replicas"] == whole.document["summary"]["replicas"]


def test_check_tells_a_directory_of_no_partition(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(CLEAN, tmp_path / "data")
    (tmp_path / "data" / "backup").mkdir()
    close_directory(monkeypatch, tmp_path / "data" / "backup")
    ended = kreplica("decode", "check", tmp_path / "data", "-o", "json")
    assert ended.code == 1
    told = [tuple(each.values()) for each in ended.document["findings"]]
    assert told == [("log-damage", str(tmp_path / "data" / "backup"), 0, None, None, DENIED, "", "")]


def test_metadata_does_without_other_partitions(kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(KILLED, data)
    (data / "backup").mkdir()
    whole = kreplica("decode", "metadata", data, "-o", "json")
    with monkeypatch.context() as patch:
        close_directory(patch, data / "orders-0")
        ended = kreplica("decode", "metadata", data, "-o", "json")
        assert (ended.code, ended.err, ended.out) == (whole.code, whole.err, whole.out)
        described = kreplica("describe", "--dump", data, "-o", "json")
        assert described.document["clusters"][0]["cluster_id"] == whole.document["clusters"][0]["cluster_id"]
    with monkeypatch.context() as patch:
        close_directory(patch, data / "backup")
        ended = kreplica("decode", "metadata", data, "-o", "json")
    assert (ended.code, ended.document["changes"]) == (1, whole.document["changes"])
    assert [each["file"] for each in ended.document["summary"]["damage"]] == [str(data / "backup")]
    with monkeypatch.context() as patch:
        close_directory(patch, data / "__cluster_metadata-0")
        assert kreplica("decode", "metadata", data).code == 2


IDENTITY = {
    "offsets": (CLEAN, "meta.properties", "offsets"),
    "transactions": (KILLED, "meta.properties", "transactions"),
    "metadata": (KILLED, "meta.properties", "changes"),
    "compare --all": (CLEAN, "meta.properties", "copies"),
    "checkpoints": (CLEAN, "meta.properties", "checkpoints"),
    "compare": (CLEAN, "orders-0/partition.metadata", "copies"),
    "offsets --group .*": (CLEAN, "__consumer_offsets-9/partition.metadata", "offsets"),
}
"""Of each command a log directory, a file of it that tells whose it is, and the rows of the answer."""
CONTENTS = {
    "closed": None,
    "garbage": b"\xff\x00 garbage",
    "empty": b"",
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("words", IDENTITY)
def test_what_does_not_tell_whose_it_is_ends_nothing(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, content: str
) -> None:
    source, name, rows = IDENTITY[words]
    homes = [tmp_path / "broker-1" / "data", tmp_path / "broker-2" / "data"]
    for home in homes:
        shutil.copytree(source, home)
    whole = kreplica("decode", *words.split(), *homes, "-o", "json").document
    damaged, written = homes[1] / name, CONTENTS[content]
    if written is None:
        real = os.open
        monkeypatch.setattr(os, "open", lambda path, *rest, **options: _refusing(real, damaged, path, *rest, **options))
    else:
        damaged.write_bytes(written)
    ended = kreplica("decode", *words.split(), *homes, "-o", "json")
    assert ended.code == 1
    assert len(ended.document[rows]) == len(whole[rows])
    told = [each for each in ended.document["summary"]["damage"] if each["file"] == str(damaged)]
    assert told
    assert [each["reason"] for each in told] == [DENIED] or written is not None
    assert f"{damaged}, byte 0: " in ended.err


def _refusing(real: Callable[..., int], refused: Path, path: Any, *rest: Any, **options: Any) -> int:
    if path == refused:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return real(path, *rest, **options)
