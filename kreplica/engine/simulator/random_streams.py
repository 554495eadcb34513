"""Chance by name: each stream is a generator of its own, so that taking one fault away reshuffles nothing else."""

from __future__ import annotations

import hashlib
from random import Random


class RandomStreams:
    """Generators that depend on the run's seed and their name alone."""

    __slots__ = ("_seed", "_streams")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}

    def stream(self, name: str) -> Random:
        """The generator of that name; the same object each time."""
        if name not in self._streams:
            digest = hashlib.sha256(f"{self._seed}/{name}".encode()).digest()
            self._streams[name] = Random(int.from_bytes(digest[:8], "big"))
        return self._streams[name]
