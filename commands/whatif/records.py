"""Records of a run in one line."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.model.wording.words import counted

MOST_VALUES = 12
"""Records of one leader epoch that a strip shows one by one."""


def some(values: Sequence[str]) -> str:
    """Records by name; of many the first and the last, and how many: -o json has them all."""
    if len(values) <= MOST_VALUES:
        return ", ".join(values)
    return f"{values[0]}…{values[-1]} ({counted(len(values), 'record')})"
