"""Contents of the wheel, which works where nothing else of the project is."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import kreplica

Installed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_has_the_three_packages_and_nothing_else(names: list[str]) -> None:
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"kreplica", "analyzers", "commands", f"kreplica-{kreplica.__version__}.dist-info"}


def test_every_file_of_the_packages_is_in_the_wheel(names: list[str], root: Path) -> None:
    ours = {
        path.relative_to(root).as_posix()
        for package in ("kreplica", "analyzers", "commands")
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= set(names)
    assert "kreplica/py.typed" in ours
    for packaged in ("fleet", "sample", "sample-healthy"):
        assert any(name.startswith(f"kreplica/data/{packaged}/manifests/") for name in ours)


def test_the_completion_scripts_are_in_the_wheel(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for path in (root / "completions").iterdir():
            assert archive.read(f"kreplica/data/completions/{path.name}") == path.read_bytes()


def test_the_license_goes_along(names: list[str], built: Path) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/LICENSE") for name in archive.getnames())


def test_the_sample_is_described_without_extras(installed: Installed) -> None:
    answer = installed("kreplica", "describe", "--dump", "sample", "--under-replicated", "-o", "json")
    assert (answer.returncode, answer.stderr) == (1, "")
    document = json.loads(answer.stdout)
    assert document["partitions"]
    assert all(row["under_replicated"] for row in document["partitions"])


def test_python_m_is_the_console_script(installed: Installed) -> None:
    asked = ("describe", "--dump", "sample", "--offline", "-o", "csv")
    by_module, by_script = installed("python", "-m", "kreplica", *asked), installed("kreplica", *asked)
    assert (by_module.returncode, by_module.stdout) == (by_script.returncode, by_script.stdout)
    assert by_module.stdout.startswith("topic,partition,")


@pytest.mark.parametrize("shadow", ["commands/__init__.py", "analyzers.py", "commands/main.py"])
def test_a_package_that_shadows_ours_is_named(installed: Installed, tmp_path: Path, shadow: str) -> None:
    file = tmp_path / shadow
    file.parent.mkdir(exist_ok=True)
    file.write_text("raise SystemExit('imported')\n")
    answer = installed("python", "-m", "kreplica", "--version", cwd=tmp_path)
    if shadow == "commands/main.py":  # without __init__.py it shadows nothing: a regular package wins over a folder
        assert (answer.returncode, answer.stdout) == (0, f"kreplica {kreplica.__version__}\n")
    else:
        assert (answer.returncode, answer.stdout) == (1, "")
        assert answer.stderr.startswith("error: kreplica's package ")
        assert str(tmp_path / Path(shadow).parts[0]) in answer.stderr


def test_audit_without_spark_says_what_to_install(installed: Installed) -> None:
    answer = installed("kreplica", "audit", ".")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert "kreplica[spark]" in answer.stderr


def test_the_version_is_one(installed: Installed, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = installed("kreplica", "--version").stdout.split()
    assert said == ["kreplica", project["version"]]
    assert project["version"] == kreplica.__version__ == version("kreplica")


@pytest.mark.slow
def test_the_base_installs_small(wheel: Path, root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", tmp_path]
    subprocess.run([*command, "--constraint", root / "constraints.txt", wheel], check=True, timeout=240)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.whl")}
    assert len(sizes) > 10
    assert sum(sizes.values()) <= 150_000_000, sizes
