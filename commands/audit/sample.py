"""The packaged fleet by its word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def with_sample(folders: Sequence[Path]) -> list[Path]:
    """The word ``sample`` is the packaged fleet; a directory of that name is named ``./sample``, as for --dump."""
    import kreplica

    packaged = Path(kreplica.__file__).parent / "data" / "fleet"
    return [packaged if str(folder) == "sample" else folder for folder in folders]
