"""Files that are read whole have an end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kreplica.whole_files import MOST_BYTES, read_to_end, read_whole


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, (2 << 20) - 1, 2 << 20])
def test_what_is_not_too_large_is_read(size: int) -> None:
    content = bytes(size)
    assert read_to_end(io.BytesIO(content), 2 << 20) == content


def test_one_byte_more_is_too_much() -> None:
    stream = io.BytesIO(bytes((8 << 20) + 1))
    with pytest.raises(OSError, match="more than 2097152 bytes"):
        read_to_end(stream, 2 << 20)
    assert stream.tell() == (2 << 20) + 1  # the rest is not even read


def test_what_has_no_end_is_refused() -> None:
    with pytest.raises(OSError, match=f"more than {MOST_BYTES} bytes"):
        read_whole(Path("/dev/zero"))
