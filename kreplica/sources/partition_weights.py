"""Weights of partitions from a file: CSV with the columns topic, partition and weight."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from kreplica.errors import InputError, os_reason
from kreplica.system.untrusted_files import input_limit, read_whole

COLUMNS = ("topic", "partition", "weight")
MOST = 1 << 50
"""Weights are added up in 64 bits: a million partitions of this weight fit."""
_FIX = "a first line topic,partition,weight, then a line for each partition"


def read_weights(path: Path) -> dict[tuple[str, int], int]:
    """Reads the weight of each partition, such as its bytes in a second; fractions are rounded.

    Raises:
        InputError: It cannot be read, has other columns, a weight that is no number from 0 to 2^50, or a partition
            twice.
    """
    try:
        text = read_whole(path, input_limit()).decode()
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    except UnicodeDecodeError:
        raise InputError(str(path), "", "not UTF-8", _FIX) from None
    found: dict[tuple[str, int], int] = {}
    for line, key, weight in _entries(path, text):
        if key in found:
            raise InputError(str(path), f"line {line}", f"{key[0]}-{key[1]} is named a second time", _FIX)
        found[key] = weight
    return found


def _entries(path: Path, text: str) -> Iterator[tuple[int, tuple[str, int], int]]:
    rows = csv.reader(text.splitlines(), strict=True)
    try:
        if (head := tuple(word.strip() for word in next(rows, []))) != COLUMNS:
            said = ",".join(head)[:80] or "nothing"
            raise InputError(str(path), "line 1", f"expected {','.join(COLUMNS)}, found {said}", _FIX)
        for row in rows:
            if row:
                yield rows.line_num, *_entry(path, rows.line_num, row)
    except csv.Error as error:
        raise InputError(str(path), f"line {rows.line_num}", str(error), _FIX) from None


def _entry(path: Path, line: int, row: list[str]) -> tuple[tuple[str, int], int]:
    try:
        topic, partition, weight = row
        key, value = (topic.strip(), int(partition)), float(weight)
    except ValueError:
        raise InputError(str(path), f"line {line}", "expected a topic, a partition and a number", _FIX) from None
    if not 0 <= value <= MOST:
        raise InputError(str(path), f"line {line}", f"the weight {weight.strip()} is not from 0 to {MOST}", _FIX)
    return key, round(value)
