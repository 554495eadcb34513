"""Names by which an answer tells clusters apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def told_names(names: Mapping[str, str]) -> dict[str, str]:
    """Name of each cluster by its label: the user's own where no other cluster has it, else the label.

    Args:
        names: The user's name of each cluster by its label: its id where known.
    """
    used = Counter(names.values())
    return {label: name if used[name] == 1 else label for label, name in names.items()}
