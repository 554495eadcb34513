"""Replays logs of `__consumer_offsets` from files, in stretches on all processors in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.formats.damage import DamageTally
from kreplica.system.processes import processors, side_by_side, start_ahead

if TYPE_CHECKING:
    from kreplica.formats.consumer_offsets.groups import GroupReplay
    from kreplica.formats.consumer_offsets.replay import OffsetReplay
    from kreplica.formats.damage import Damage
    from kreplica.formats.file_bytes import ByteSource
    from kreplica.formats.segments.as_of import AsOf
    from kreplica.formats.segments.windows import BatchWindow

STRETCH_BYTES = 48 << 20
"""Smaller logs are not worth a process of their own: its start and its imports take 0.2 s."""
LEAST_STRETCH_BYTES = 16 << 20
"""Shorter stretches cost more, for the keys that each has to learn, than they save by balancing."""
SEARCHED_BYTES = (64 << 10, 4 << 20)
"""Bytes searched for the first batch of a stretch from its nominal start on: first near, then further."""
IMPORTED = ("crc32c", "kreplica.formats.consumer_offsets.replay", "kreplica.formats.segments.records")
"""Modules that ``replay_stretch`` imports."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a segment: its batches between about these positions.

    Args:
        path: The segment.
        begin: Where it begins; the first sound batch from there on, 0 for the first of all.
        end: Likewise where it ends; the end of the file if None.
    """

    path: Path
    begin: int = 0
    end: int | None = None

    @property
    def is_whole(self) -> bool:
        """True if it is all of the segment."""
        return not self.begin and self.end is None


@dataclass(slots=True)
class Replayed:
    """Result of replaying a stretch, or a whole log.

    Args:
        replay: State after its last record.
        groups: The groups there, and their members; None where only offsets are asked for.
        damage: Ranges and records that could not be read.
        read_bytes, batches, records: Amounts read.
        zero_bytes: Preallocated tails.
        whole: True if the stretch ends where a batch ends, so that the next one may be appended.
    """

    replay: OffsetReplay
    groups: GroupReplay | None = None
    damage: DamageTally = field(default_factory=DamageTally)
    read_bytes: int = 0
    batches: int = 0
    records: int = 0
    zero_bytes: int = 0
    whole: bool = True

    def add_stretch(self, other: Replayed) -> None:
        """Appends the next stretch of the same log."""
        self.replay.add_stretch(other.replay)
        if self.groups is not None and other.groups is not None:
            self.groups.add_stretch(other.groups)
        self.damage.join(other.damage)
        self.read_bytes += other.read_bytes
        self.batches += other.batches
        self.records += other.records
        self.zero_bytes += other.zero_bytes


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a source, seen as a file of its own whose positions are those of the whole."""

    source: ByteSource
    end: int

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def size(self) -> int:
        return self.end

    def read(self, position: int, size: int) -> bytes:
        return self.source.read(position, min(size, max(0, self.end - position)))

    def unreadable(self) -> tuple[Damage, ...]:
        return tuple(each for each in self.source.unreadable() if each.position < self.end or not self.size)


def replay_logs(logs: Sequence[Sequence[Path]], as_of: AsOf | None = None, *, groups: bool = False) -> list[Replayed]:
    """Replays each log.

    Args:
        logs: The segments of each, in order.
        as_of: State as of this offset or time; the end of the logs if None.
        groups: True to replay groups and their members, too.
    """
    stretches = [(number, stretch) for number, log in enumerate(logs) for stretch in _stretches(log)]
    work = partial(replay_stretch, as_of=as_of, groups=groups)
    pieces = _replayed([stretch for _, stretch in stretches], work)
    results: dict[int, Replayed] = {}
    for (number, stretch), piece in zip(stretches, pieces, strict=True):
        if number not in results:
            results[number] = piece
        else:
            results[number].add_stretch(piece)
        if not piece.whole and not stretch.is_whole:
            return [_one_after_the_other(log, as_of, groups=groups) for log in logs]
    return [results.get(number) or _begun(as_of, groups=groups) for number in range(len(logs))]


def _stretches(log: Sequence[Path]) -> Iterator[Stretch]:
    for path in log:
        begins = _begins(_size(path))
        ends = [*begins[1:], None]
        yield from (Stretch(path, begin, end) for begin, end in zip(begins, ends, strict=True))


def _size(path: Path) -> int:
    """Bytes of a file; 0 where it is gone or may not be looked at, which its replay reports."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _begins(size: int) -> list[int]:
    """Start positions of the stretches of a file, in bytes.

    Each is a share of what is left, so that processes which began earlier or run faster take more, and all end at about
    the same time (guided self-scheduling, Polychronopoulos and Kuck 1987).
    """
    begins, count = [0], processors()
    if count < 2 or size < 2 * STRETCH_BYTES:
        return begins
    while (left := size - begins[-1]) >= 2 * LEAST_STRETCH_BYTES:
        begins.append(begins[-1] + max(LEAST_STRETCH_BYTES, 3 * left // (4 * count)))
    return begins


def replay_ahead(paths: Sequence[str]) -> None:
    """Starts a process that will share the replay of the named logs, if there is enough for several.

    Args:
        paths: Words of a command line, paths among them; of a directory it is not known yet how much it holds.
    """
    if hasattr(os, "fork") and processors() > 1 and any(map(_may_be_shared, paths)):
        start_ahead(IMPORTED)


def _may_be_shared(word: str) -> bool:
    try:
        return Path(word).is_dir() or len(_begins(Path(word).stat().st_size)) > 1
    except (OSError, ValueError):
        return False


def _replayed(stretches: Sequence[Stretch], work: Callable[[Stretch], Replayed]) -> list[Replayed]:
    total = sum(_size(path) for path in {stretch.path for stretch in stretches})
    workers = min(processors(), total // STRETCH_BYTES)
    return side_by_side(work, stretches, workers, IMPORTED)


def _one_after_the_other(log: Sequence[Path], as_of: AsOf | None, *, groups: bool) -> Replayed:
    result = _begun(as_of, groups=groups)
    for path in log:
        result.add_stretch(replay_stretch(Stretch(path), as_of, groups=groups))
    return result


def _begun(as_of: AsOf | None, *, groups: bool) -> Replayed:
    """The result before anything is read."""
    from kreplica.formats.consumer_offsets.replay import OffsetReplay

    if not groups:
        return Replayed(OffsetReplay(as_of))
    from kreplica.formats.consumer_offsets.groups import GroupReplay

    return Replayed(OffsetReplay(as_of), GroupReplay(as_of))


def replay_stretch(stretch: Stretch, as_of: AsOf | None = None, *, groups: bool = False) -> Replayed:
    """Replays one stretch; arguments as of ``replay_logs``. A file that cannot be read is damage of its first one."""
    from kreplica.formats.file_bytes import FoundBytes

    result = _begun(as_of, groups=groups)
    with FoundBytes.open(stretch.path) as source:
        if stretch.begin and not source.size:  # it could not be opened: the first stretch reports it
            return result
        begin, end = _bounds(source, stretch)
        _replay(_Part(source, end), begin, result)
        result.whole = end == source.size or not any(each.position + each.skipped == end for each in result.damage.kept)
    result.replay.settle()  # what goes back to another process is only what counts
    return result


def _bounds(source: ByteSource, stretch: Stretch) -> tuple[int, int]:
    """Start and end of the stretch: each at the first sound batch from the named position on."""
    begin = _first_batch(source, stretch.begin) if stretch.begin else 0
    return begin, source.size if stretch.end is None else _first_batch(source, stretch.end)


def _first_batch(source: ByteSource, position: int) -> int:
    """Position of the first sound batch from there on; the end of the file when none is near."""
    import numpy as np

    from kreplica.formats.segments.scan import search

    for size in SEARCHED_BYTES:
        content = source.read(position, size)
        found = search(np.frombuffer(content, np.uint8), 0, len(content), 0)
        if found.sound:
            return position + found.at
    return source.size


def _replay(source: ByteSource, begin: int, result: Replayed) -> None:
    from kreplica.formats.segments.records import decode_records
    from kreplica.formats.segments.windows import read_windows

    for window in read_windows(source, begin=begin):
        result.damage.add(window.damage)
        result.batches += len(window.batches)
        result.zero_bytes += window.zero_bytes
        if taken := result.replay.add_window(window):
            result.records += taken.total()
            _add_groups(window, taken, result.groups)
            continue
        for records in decode_records(window):
            result.damage.add(records.damage)
            result.records += len(records)
            result.replay.add(records)
            if result.groups is not None:
                result.groups.add(records)
    result.read_bytes += source.size - begin


def _add_groups(window: BatchWindow, types: Mapping[int, int], groups: GroupReplay | None) -> None:
    """Adds the group records of a window that was taken whole: mostly none, it is commits alone."""
    from kreplica.formats.consumer_offsets.commits import NEWEST_COMMIT_KEY
    from kreplica.formats.segments.records import decode_records

    if groups is not None and max(types) > NEWEST_COMMIT_KEY:
        for records in decode_records(window):
            groups.add(records)
