"""The batches of a file, a few megabytes at a time: memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.segments.batches import BatchColumns, read_headers
from kreplica.formats.segments.scan import (
    Chain,
    Stop,
    batch_size,
    computed_checksum,
    fault_words,
    follow,
    search,
    stored_checksum,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.file_bytes import ByteSource

WINDOW_BYTES = 4 << 20
"""Read at once: thousands of batches, whose records are followed together, in memory that hardly counts: measured."""


ENOUGH = 8
"""That many batches in a row, checksums all wrong, are taken for batches without a look at the following bytes."""


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """A stretch of a file and the batches that lie in it whole.

    Args:
        file: Name of the file.
        start: Position of ``data[0]`` in the file.
        data: The bytes.
        batches: The decoded batches; a batch of a wrong checksum is there too, marked as not valid.
        damage: The other ranges.
        zero_bytes: Bytes of a preallocated tail, all zero, that ends the file.
    """

    file: str
    start: int
    data: NDArray[np.uint8]
    batches: BatchColumns
    damage: tuple[Damage, ...]
    zero_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Gap:
    """A range that no batch covers, not yet ended."""

    position: int
    reason: str
    expected: str
    found: str
    zeros: bool

    def ended(self, file: str, position: int) -> Damage:
        return Damage(file, self.position, self.reason, position - self.position, self.expected, self.found)


@dataclass(slots=True)
class _State:
    """State of the reading between two windows."""

    position: int = 0
    wanted: int = WINDOW_BYTES
    gap: _Gap | None = None
    next_offset: int = 0


@dataclass(slots=True)
class _Findings:
    """Results of one window while they are gathered."""

    chains: list[Chain] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    consumed: int = 0
    wanted: int = WINDOW_BYTES


def read_windows(source: ByteSource, window_bytes: int = WINDOW_BYTES, begin: int = 0) -> Iterator[BatchWindow]:
    """The file's batches, window by window, in order.

    Damage never ends the reading: sound batches after it are found by their checksums.

    Args:
        source: The file.
        window_bytes: Bytes to read at once; a batch that is longer is read whole.
        begin: Position of the first batch to read.
    """
    state = _State(position=begin, wanted=window_bytes)
    size = source.size
    while state.position < size:
        content = source.read(state.position, state.wanted)
        if len(content) < min(state.wanted, size - state.position):  # it was truncated meanwhile
            size = state.position + len(content)
        if content:
            data = np.frombuffer(content, np.uint8)
            yield from _window(source.name, data, state, size - state.position, window_bytes)
    if state.gap is not None:
        yield _last_window(source.name, state.gap, size)
    if unreadable := source.unreadable():
        empty = np.zeros(0, np.uint8)
        yield BatchWindow(source.name, size, empty, _columns(empty, [], size), unreadable)


def _window(
    file: str, data: NDArray[np.uint8], state: _State, remaining: int, window_bytes: int
) -> Iterator[BatchWindow]:
    findings = _Findings(wanted=window_bytes)
    _gather(file, data, state, remaining, findings)
    progress = findings.consumed > 0
    state.wanted = max(window_bytes, findings.wanted) if progress else max(2 * len(data), findings.wanted)
    start, state.position = state.position, state.position + findings.consumed
    batches = _columns(data, findings.chains, start)
    if len(batches) or findings.damage:
        damage = [*_checksum_damage(file, data, batches, start), *findings.damage]
        damage.sort(key=lambda found: found.position)
        yield BatchWindow(file, start, data, batches, tuple(damage))


def _gather(file: str, data: NDArray[np.uint8], state: _State, remaining: int, findings: _Findings) -> None:
    at = 0
    while True:
        if state.gap is not None:
            at = _leave_gap(file, data, state, at, remaining, findings)
            if at < 0:
                return
        chain = follow(data, at, remaining)
        at = _accept(data, state, chain, remaining, findings)
        if state.gap is None:
            return


def _accept(data: NDArray[np.uint8], state: _State, chain: Chain, remaining: int, findings: _Findings) -> int:
    """Takes the sound batches of a chain; opens a gap where it breaks. Returns the index to go on from."""
    kept, breaks = _trusted(data, chain, state.next_offset)
    if kept:
        part = Chain(chain.starts[:kept], chain.ends[:kept], chain.valid[:kept], chain.stop, chain.stopped_at)
        findings.chains.append(part)
        state.next_offset = max(state.next_offset, _next_offset(data, part))
    stop = int(chain.starts[kept]) if kept < len(chain.starts) else chain.stopped_at
    findings.consumed = stop
    if chain.stop is Stop.MORE and not breaks:
        findings.wanted = chain.stopped_at - stop + batch_size(data, chain.stopped_at)
    elif breaks or chain.stop is Stop.ZEROS:
        state.gap = _open_gap(data, chain, stop, state.position, remaining)
    return stop


def _trusted(data: NDArray[np.uint8], chain: Chain, next_offset: int) -> tuple[int, bool]:
    """Number of batches of a chain to take, and True if a gap begins after them.

    A batch of a wrong checksum may be wrong in its length, and what follows it no batch at all: it is taken only when
    none that is sound lies inside it, and when the chain does not break after it.
    """
    for index in np.flatnonzero(~chain.valid).tolist():
        start, end = int(chain.starts[index]), int(chain.ends[index])
        if search(data[:end], start + 1, end, next_offset).sound:
            return index, True
    sound = np.flatnonzero(chain.valid)
    last_sound = int(sound[-1]) + 1 if len(sound) else 0
    if chain.stop is Stop.FAULT:
        return last_sound, True
    if chain.stop is Stop.MORE and (last_sound or len(chain.starts) < ENOUGH):
        return last_sound, False
    return len(chain.starts), False


def _open_gap(data: NDArray[np.uint8], chain: Chain, at: int, position: int, remaining: int) -> _Gap:
    zeros = chain.stop is Stop.ZEROS and at == chain.stopped_at
    if zeros:
        words = "zeros where a batch should begin", "a batch", "zeros"
    elif at < chain.stopped_at:
        end = at + batch_size(data, at)
        words = "wrong checksum, and no batch behind it", *_checksum_words(data, at, end)
    else:
        words = fault_words(data, at, remaining)
    return _Gap(position + at, *words, zeros=zeros)


def _leave_gap(file: str, data: NDArray[np.uint8], state: _State, at: int, remaining: int, findings: _Findings) -> int:
    """Looks for the end of the gap in this window; -1 when it is not there."""
    gap = state.gap
    assert gap is not None
    begin = max(at, gap.position + 1 - state.position)
    found = search(data, begin, remaining, state.next_offset)
    if gap.zeros and data[at : found.at].any():
        gap = state.gap = _Gap(gap.position, gap.reason, gap.expected, gap.found, zeros=False)
    findings.consumed = found.at
    if found.sound:
        findings.damage.append(gap.ended(file, state.position + found.at))
        state.gap = None
        return found.at
    if found.more:
        findings.wanted = batch_size(data, found.at)
    return -1


def _last_window(file: str, gap: _Gap, size: int) -> BatchWindow:
    empty = np.zeros(0, np.uint8)
    batches = _columns(empty, [], size)
    if gap.zeros:
        return BatchWindow(file, size, empty, batches, (), size - gap.position)
    return BatchWindow(file, size, empty, batches, (gap.ended(file, size),))


def _columns(data: NDArray[np.uint8], chains: list[Chain], position: int) -> BatchColumns:
    nothing: NDArray[np.int64] = np.zeros(0, np.int64)
    starts = np.concatenate([nothing, *(chain.starts for chain in chains)])
    valid = np.concatenate([np.zeros(0, np.bool_), *(chain.valid for chain in chains)])
    return read_headers(data, starts, valid, position)


def _next_offset(data: NDArray[np.uint8], chain: Chain) -> int:
    sound = np.flatnonzero(chain.valid)[-1:]
    last = read_headers(data, chain.starts[sound], chain.valid[sound]).last_offset
    return int(last[0]) + 1 if len(last) else 0


def _checksum_words(data: NDArray[np.uint8], start: int, end: int) -> tuple[str, str]:
    return f"{stored_checksum(data, start):#010x}", f"{computed_checksum(data, start, end):#010x}"


def _checksum_damage(file: str, data: NDArray[np.uint8], batches: BatchColumns, start: int) -> Iterator[Damage]:
    for index in np.flatnonzero(~batches.valid).tolist():
        position, size = int(batches.position[index]), int(batches.size[index])
        words = _checksum_words(data, position - start, position - start + size)
        yield Damage(file, position, "wrong checksum", size, *words)
