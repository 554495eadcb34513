"""The line that adds an extra, by what installers leave behind: a receipt of uv's, a record by PEP 610.

And packages that are left out.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from kreplica.system import packages
from kreplica.system.packages import left_out, line_that_adds


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """The environment of a tool that uv has installed."""
    (tmp_path / "uv-receipt.toml").touch()
    return tmp_path


def installed_from(folder: Path, monkeypatch: pytest.MonkeyPatch, record: object | None) -> None:
    """The installed kreplica is one with this record, or with none."""
    found: Distribution = PathDistribution(folder)
    if record is not None:
        (folder / "direct_url.json").write_text(json.dumps(record))
    monkeypatch.setattr(packages, "distribution", lambda _: found)


def test_where_pip_is_at_home_the_name_is_enough(tmp_path: Path) -> None:
    assert line_that_adds("spark", tmp_path) == "pip install 'kreplica[spark]'"


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (None, ""),
        ({"url": "file:///src/kreplica", "dir_info": {}}, " @ file:///src/kreplica"),
        ({"url": "file:///kreplica.whl", "archive_info": {}}, " @ file:///kreplica.whl"),
        (
            {"url": "https://git.example/kreplica", "vcs_info": {"vcs": "git", "commit_id": "7921be1"}},
            " @ git+https://git.example/kreplica@7921be1",
        ),
    ],
    ids=["an index", "a folder", "a wheel", "a repository"],
)
def test_a_tool_of_uvs_is_installed_anew_from_where_it_came(
    record: object, origin: str, tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(tool, monkeypatch, record)
    assert line_that_adds("spark", tool) == f"uv tool install 'kreplica[spark]{origin}'"


def test_sources_that_were_never_installed_have_no_origin(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_there(name: str) -> Distribution:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, "distribution", not_there)
    assert line_that_adds("spark", tool) == "uv tool install 'kreplica[spark]'"


def test_a_package_is_left_out_until_the_block_ends_unless_it_is_imported_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left_out_in_a_test.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with left_out("left_out_in_a_test"):
        with pytest.raises(ModuleNotFoundError, match="No module named 'left_out_in_a_test'"):
            import_module("left_out_in_a_test")
        import_module("xml.dom.minidom")
    found = import_module("left_out_in_a_test")
    with left_out("left_out_in_a_test"):
        assert import_module("left_out_in_a_test") is found
