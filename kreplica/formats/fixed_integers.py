"""Integers of fixed width at any positions of bytes, in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def integers_at(data: NDArray[np.uint8], kind: str, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers that begin there; one outside is the nearest inside: who calls compares where the fields end.

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
