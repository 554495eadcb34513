"""Variable-length integers, many at once.

    byte      7 6 5 4 3 2 1 0
              m v v v v v v v      m: another byte follows; v: seven bits, the lowest first

A signed one is zigzag-encoded: 0, -1, 1, -2 are written as 0, 1, 2, 3. Kafka's ByteUtils: readVarint at most 5 bytes,
readVarlong at most 10.

Integers of fixed width at any positions of bytes, in bulk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


VARINT_BYTES, VARLONG_BYTES = 5, 10
FAULT = np.int64(-(2**62))
"""End of a varint that has no end: before every position, so that checks of order fail."""


_OF_ONE_BYTE = (np.arange(256) >> 1) ^ -(np.arange(256) & 1)
"""The signed number of an encoding of one byte."""


def read_unsigned(
    data: NDArray[np.uint8], positions: NDArray[np.int64], most: int = VARINT_BYTES
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reads an unsigned varint at each position.

    Args:
        data: Bytes. A position outside reads the nearest byte inside: the caller checks where the values end.
        positions: Index of the first byte of each.
        most: Longest encoding in bytes.

    Returns:
        The values, and the index after each; FAULT after one that is longer than ``most``.
    """
    first = data.take(positions, mode="clip")
    value, following = first.astype(np.int64), positions + 1
    longer = first > 127
    if longer.all():
        return _read_long(data, first, following, most)
    if longer.any():
        more = np.flatnonzero(longer)
        value[more], following[more] = _read_long(data, first[more], following[more], most)
    return value, following


def read_signed(
    data: NDArray[np.uint8], positions: NDArray[np.int64], most: int = VARINT_BYTES
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reads a zigzag varint at each position; otherwise as ``read_unsigned``."""
    first = data.take(positions, mode="clip")
    value, following = _OF_ONE_BYTE.take(first), positions + 1
    longer = first > 127
    if longer.all():
        value, following = _read_long(data, first, following, most)
        return unzigzag(value), following
    if longer.any():
        more = np.flatnonzero(longer)
        long, following[more] = _read_long(data, first[more], following[more], most)
        value[more] = unzigzag(long)
    return value, following


def _read_long(
    data: NDArray[np.uint8], first: NDArray[np.uint8], following: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values of more than one byte: the first is read, ``following`` is the index of the second."""
    second = data.take(following, mode="clip")
    value, behind = (first & 127) | (second & 127).astype(np.int64) << 7, following + 1
    place = np.flatnonzero(second > 127)
    for number in range(2, most):
        if not place.size:
            return value, behind
        byte = data.take(behind[place], mode="clip").astype(np.int64)
        value[place] |= (byte & 127) << (7 * number)
        behind[place] += 1
        place = place[byte > 127]
    behind[place] = FAULT
    return value, behind


def unzigzag(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The signed numbers of zigzag-encoded ones of up to 64 bits."""
    return ((value >> 1) & np.int64(2**63 - 1)) ^ -(value & 1)


def integers_at(data: NDArray[np.uint8], kind: str, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers that begin there; one outside is the nearest inside: the caller checks where the fields end.

    Args:
        data: The bytes.
        kind: As numpy writes it: ``>i4``.
        positions: Index of the first byte of each.
    """
    width = np.dtype(kind).itemsize
    if len(data) < width:
        return np.zeros(len(positions), np.int64)
    numbers: NDArray[Any] = np.ndarray((len(data) - width + 1,), kind, data, strides=(1,))
    return numbers[np.clip(positions, 0, len(numbers) - 1)].astype(np.int64)
