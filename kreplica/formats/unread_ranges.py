"""Entries of a small file beside the stretches that a failing disk did not give, where decoders see zeros."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kreplica.formats.damage import Damage


def entries_read(count: int, size: int, unread: Sequence[Damage], begin: int = 0) -> npt.NDArray[np.bool_]:
    """Which of ``count`` entries of ``size`` bytes, the first at byte ``begin``, were read to their last byte."""
    read = np.ones(count, np.bool_)
    for lost in unread:
        read[max(0, lost.position - begin) // size : max(0, -((begin - lost.position - lost.skipped) // size))] = False
    return read
