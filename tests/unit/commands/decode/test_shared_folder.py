"""Folders that the paths of a table share."""

from __future__ import annotations

import pytest

from commands.decode.shared_folder import shared_folder


@pytest.mark.parametrize(
    ("paths", "folder", "rest"),
    [
        (["/srv/a/t-0/1.log", "/srv/a/t-1/1.log"], ["/srv/a"], ["t-0/1.log", "t-1/1.log"]),
        (["/srv/a/t-0/1.log", "/srv/ab/t-0/1.log"], ["/srv"], ["a/t-0/1.log", "ab/t-0/1.log"]),
        (["data/t-0/1.log"] * 2, ["data/t-0"], ["1.log", "1.log"]),
        (["/srv/a", "/srv/a/b"], ["/srv"], ["a", "a/b"]),
        (["/data1/t-0", "/data2/t-0"], [], ["/data1/t-0", "/data2/t-0"]),
        (["1.log", "2.log"], [], ["1.log", "2.log"]),
        (["../1.log"], [], ["../1.log"]),
        (["/srv/a/1.log", "b/1.log"], [], ["/srv/a/1.log", "b/1.log"]),
        ([], [], []),
    ],
)
def test_paths_are_said_once(paths: list[str], folder: list[str], rest: list[str]) -> None:
    found, shorten = shared_folder(paths)
    assert found == folder
    assert [shorten(path) for path in paths] == rest
