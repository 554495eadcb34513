"""A disk with pages that it cannot read, as Linux answers for one (mm/filemap.c, filemap_read)."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection

import pytest

from kreplica.formats import file_bytes
from kreplica.formats.file_bytes import PAGE_BYTES


def fail_pages(monkeypatch: pytest.MonkeyPatch, bad: Collection[int]) -> None:
    """Has reads that begin in such a page refused (EIO), and those that come to one end in front of it."""
    real = os.pread

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if position // PAGE_BYTES in bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        ends = [page * PAGE_BYTES for page in bad if position < page * PAGE_BYTES < position + size]
        return real(descriptor, min([position + size, *ends]) - position, position)

    monkeypatch.setattr(file_bytes.os, "pread", pread)
