"""What a broker makes of a partition's directory in which it was replacing segments when it ended.

Compaction writes what it keeps to ``.cleaned`` files. When all is there these are called ``.swap``, then the segments
that they stand for ``.deleted``, then ``.swap`` is taken away. Between two of these steps the records of a stretch are
in several files, or in none that is called ``.log``. A broker that starts ends what was begun: kafka: LogLoader.load,
LogLoader.removeTempFilesAndCollectSwapFiles, LocalLog.replaceSegments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

from kreplica.formats.log_end import segment_end
from kreplica.formats.registry import named_offset

SWAP, CLEANED, DELETED = ".swap", ".cleaned", ".deleted"
"""Endings of files that are to take the place of others, that are not whole yet, and that have been replaced."""

_NUMBERED = re.compile(r"(\d{20})\..+", re.ASCII)


def is_temporary(name: str) -> bool:
    """Whether a file is one of a replacement of segments."""
    return name.endswith((SWAP, CLEANED, DELETED)) and _offset(name) is not None


def files_after_swap(directory: Path, names: Collection[str]) -> dict[str, Path]:
    """The files that a broker would have of these after its start: by name, where each is now.

    Args:
        directory: A partition's directory.
        names: Of files in it.

    Raises:
        InputError: A file that is to take the place of others cannot be read.
    """

    def next_offset(name: str) -> int:
        end = segment_end(directory / name)
        return named_offset(name) if end is None else end.end_offset

    return {name: directory / now for name, now in after_swap(names, next_offset).items()}


def after_swap(names: Collection[str], next_offset: Callable[[str], int]) -> dict[str, str]:
    """The files that a broker would have after its start: by the name that they would have the name that they have.

    Args:
        names: Of all files of a partition's directory.
        next_offset: The offset behind the last record of a ``.log.swap``, the one of its name if it holds none.
    """
    if not any(map(is_temporary, names)):
        return {name: name for name in names}
    swaps = _valid_swaps(names)
    left = [name for name in names if not is_temporary(name)]
    logs = [name for name in swaps if name.endswith(".log" + SWAP)]
    if logs:
        begin, end = min(map(named_offset, logs)), max(next_offset(name) for name in logs)
        left = [name for name in left if (offset := _offset(name)) is None or not begin <= offset < end]
    # a file that is there under the name already is overwritten
    return {name: name for name in left} | {name.removesuffix(SWAP): name for name in swaps}


def _valid_swaps(names: Collection[str]) -> list[str]:
    """Those whose replacement had come so far that it is ended; the segments of a split (KAFKA-6264) may not have."""
    unfinished = [named_offset(name) for name in names if name.endswith(CLEANED) and _offset(name) is not None]
    most = min(unfinished, default=None)
    swaps = (name for name in names if name.endswith(SWAP) and _offset(name) is not None)
    return [name for name in swaps if most is None or named_offset(name) < most]


def _offset(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return None if found is None else int(found[1])
