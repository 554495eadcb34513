"""Masks of the entries of a small file that a failing disk returned; decoders see zeros in place of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kreplica.formats.damage import Damage


def entries_read(count: int, size: int, unreadable: Sequence[Damage], begin: int = 0) -> npt.NDArray[np.bool_]:
    """True for each of ``count`` entries of ``size`` bytes, the first at byte ``begin``, that was read whole."""
    read = np.ones(count, np.bool_)
    for lost in unreadable:
        read[max(0, lost.position - begin) // size : max(0, -((begin - lost.position - lost.skipped) // size))] = False
    return read
