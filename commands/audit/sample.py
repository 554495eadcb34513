"""The packaged fleet by its word, and other dumps as they are typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.system.stores.locations import Place


def with_sample(folders: Sequence[str]) -> list[Place]:
    """The places of dumps; the word ``sample`` is the packaged fleet, a directory of that name is ``./sample``."""
    import kreplica
    from kreplica.system.stores.locations import place_of

    packaged = Path(kreplica.__file__).parent / "data" / "fleet"
    return [packaged if folder == "sample" else place_of(folder) for folder in folders]
