"""Logs of `__transaction_state`: a history is read a piece at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.record_batches import PlainRecord, batch_bytes

from kreplica.formats.logs.partition_logs import PartitionLog
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.transactions import logs as transaction_logs
from kreplica.formats.transactions.logs import transaction_history
from kreplica.formats.transactions.records import Findings

KEY = b"\0\0" + b"\0\2tx"


def log(folder: Path, *segments: bytes) -> PartitionLog:
    paths = [folder / f"{number * 10:020}.log" for number in range(len(segments))]
    for path, content in zip(paths, segments, strict=True):
        path.write_bytes(content)
    return PartitionLog(folder, "__transaction_state", 0, tuple(paths))


def batch(base_offset: int) -> bytes:
    return batch_bytes([PlainRecord(number, 0, KEY, None) for number in range(5)], base_offset=base_offset)


def test_a_history_comes_in_pieces_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_logs, "RECORDS_AT_ONCE", 2)
    pieces = list(transaction_history(log(tmp_path, batch(0), batch(10)), AsOf(), Findings("")))
    assert [[record.offset for record in piece] for piece in pieces] == [[0, 1], [2, 3], [4], [10, 11], [12, 13], [14]]


def test_what_comes_later_is_not_read_ahead(tmp_path: Path) -> None:
    """The second segment is damaged, which nobody knows of while the first is read."""
    found = Findings("")
    history = transaction_history(log(tmp_path, batch(0), b"rubbish" * 20), AsOf(), found)
    assert [record.offset for record in next(history)] == [0, 1, 2, 3, 4]
    assert found.damage.places == 0
    assert list(history) == []
    assert found.damage.places == 1


def test_a_history_ends_where_it_is_to_end(tmp_path: Path) -> None:
    pieces = transaction_history(log(tmp_path, batch(0), batch(10)), AsOf(offset=3), Findings(""))
    assert [record.offset for piece in pieces for record in piece] == [0, 1, 2]
