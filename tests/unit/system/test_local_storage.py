"""A folder as a place that holds files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.errors import InputError
from kreplica.system.stores.storage import LocalStorage


def test_sizes_are_those_of_all_files_below_a_folder(tmp_path: Path) -> None:
    for path, size in (("x/b", 3), ("x/a", 0), ("x/.draft", 5), ("x/below/c", 7), ("xx/d", 1), ("e", 2)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"1" * size)
    storage = LocalStorage(tmp_path)
    assert storage.sizes("x") == {"x/a": 0, "x/b": 3, "x/below/c": 7}
    assert storage.sizes("") == {"x/a": 0, "x/b": 3, "x/below/c": 7, "xx/d": 1, "e": 2}
    assert storage.sizes("none") == {}


def test_a_file_that_leads_nowhere_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to("nothing")
    assert LocalStorage(tmp_path).sizes("") == {}


def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(InputError, match="round"):
        LocalStorage(tmp_path).sizes("")
