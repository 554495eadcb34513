"""constraints.txt: every version that make installs, and nothing about where from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, object]:
    return dict(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def pins(root: Path) -> dict[str, str]:
    here = [Requirement(line) for line in (root / "constraints.txt").read_text(encoding="utf-8").splitlines()]
    wanted = [pin for pin in here if pin.marker is None or pin.marker.evaluate()]
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in wanted}


def requirements(project: dict[str, object]) -> list[Requirement]:
    table = project["project"]
    assert isinstance(table, dict)
    extras = [line for lines in table["optional-dependencies"].values() for line in lines]
    build = project["build-system"]
    assert isinstance(build, dict)
    found = [Requirement(line) for line in (*table["dependencies"], *extras, *build["requires"])]
    return [requirement for requirement in found if requirement.name != "kreplica"]


def test_everything_that_is_asked_for_is_pinned_to_a_version_that_fits(
    project: dict[str, object], pins: dict[str, str]
) -> None:
    for requirement in requirements(project):
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} has no pin: run `make constraints`"
        assert requirement.specifier.contains(pin), f"{requirement} does not allow {pin}: run `make constraints`"


def test_the_file_names_packages_and_versions_only(root: Path) -> None:
    text = (root / "constraints.txt").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[a-z0-9.-]+==[\w.]+( ; .+)?", line) for line in text.splitlines())
    assert "://" not in text
