"""Data files of dump directories in object stores: their sizes by listing, their content by a copy on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kreplica.system.stores.s3 import S3Place, S3Storage


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files of one dump directory.

    Args:
        storage: The directory.
        sizes: Sizes by path, of the folders that were listed.
    """

    storage: S3Storage
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def listed(cls, place: S3Place, folders: Iterable[str]) -> RemoteFiles:
        """Lists some folders."""
        storage = S3Storage(place)
        sizes: dict[str, int] = {}
        for folder in folders:
            sizes |= storage.sizes(folder)
        return cls(storage, sizes)

    def copy(self, path: str) -> Path:
        """A copy of a file on this machine, which goes when nothing refers to these files any more."""
        return self.storage.on_disk(path)
