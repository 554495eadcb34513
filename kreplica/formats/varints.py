"""Variable-length integers, many at once.

    byte      7 6 5 4 3 2 1 0
              m v v v v v v v      m: another byte follows; v: seven bits, the lowest first

A signed one is zigzag-encoded: 0, -1, 1, -2 are written as 0, 1, 2, 3. Kafka's ByteUtils: readVarint at most 5 bytes,
readVarlong at most 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

VARINT_BYTES, VARLONG_BYTES = 5, 10
FAULT = np.int64(-(2**62))
"""Where a varint ends that has no end: before every position, so that checks of order fail."""


_OF_ONE_BYTE = (np.arange(256) >> 1) ^ -(np.arange(256) & 1)
"""The signed number of an encoding of one byte."""


def read_unsigned(
    data: NDArray[np.uint8], positions: NDArray[np.int64], most: int = VARINT_BYTES
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reads an unsigned varint at each position.

    Args:
        data: Bytes. A position outside reads the nearest byte inside: who calls compares where the values end.
        positions: Index of the first byte of each.
        most: Longest encoding in bytes.

    Returns:
        The values, and the index behind each; FAULT behind one that is longer than ``most``.
    """
    first = data.take(positions, mode="clip")
    value, following = first.astype(np.int64), positions + 1
    more = np.flatnonzero(first > 127)
    if more.size:
        value[more] = _read_long(data, first[more], following, more, most)
    return value, following


def read_signed(
    data: NDArray[np.uint8], positions: NDArray[np.int64], most: int = VARINT_BYTES
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reads a zigzag varint at each position; otherwise as ``read_unsigned``."""
    first = data.take(positions, mode="clip")
    value, following = _OF_ONE_BYTE.take(first), positions + 1
    more = np.flatnonzero(first > 127)
    if more.size:
        value[more] = unzigzag(_read_long(data, first[more], following, more, most))
    return value, following


def _read_long(
    data: NDArray[np.uint8],
    first: NDArray[np.uint8],
    following: NDArray[np.int64],
    more: NDArray[np.int64],
    most: int,
) -> NDArray[np.int64]:
    """Values of more than one byte; moves what stands in ``following`` for them."""
    value = first.astype(np.int64) & 127
    at, place = following[more], np.arange(len(more))
    for number in range(1, most):
        byte = data.take(at[place], mode="clip").astype(np.int64)
        value[place] |= (byte & 127) << (7 * number)
        at[place] += 1
        place = place[byte > 127]
        if not place.size:
            break
    at[place] = FAULT
    following[more] = at
    return value


def unzigzag(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The signed numbers behind zigzag-encoded ones of up to 64 bits."""
    return ((value >> 1) & np.int64(2**63 - 1)) ^ -(value & 1)
