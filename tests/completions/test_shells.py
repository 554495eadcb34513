"""Words completed by the Tab key in real shells, with the scripts as they are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

PROMPT = "READY> "
WORDS = [
    ("kreplica desc", "kreplica describe"),
    ("kreplica describe --under-r", "kreplica describe --under-replicated"),
    ("kreplica check -o csv --rul", "kreplica check -o csv --rule"),
    ("kreplica describe -o parq", "kreplica describe -o parquet"),
    ("kreplica describe --output=parq", "kreplica describe --output=parquet"),
    ("kreplica sandbox start-b", "kreplica sandbox start-broker"),
    ("kreplica describe --dump sample-", "kreplica describe --dump sample-healthy"),
    ("kreplica describe --config my", "kreplica describe --config my file.toml"),
]
"""Text typed before Tab, and the words that then stand there."""


@pytest.fixture(scope="module")
def scripts() -> Path:
    return Path(__file__).parents[2] / "completions"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "my file.toml").touch()
    return folder


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    program_folder = str(Path(sys.executable).parent)
    return {"PATH": f"{program_folder}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


class Terminal:
    """An interactive shell that is ready for words."""

    def __init__(self, program: str, arguments: list[str], environment: dict[str, str], setup: list[str]) -> None:
        self.child = pexpect.spawn(
            program,
            arguments,
            env=environment,
            cwd=environment["HOME"],
            encoding="utf-8",
            timeout=20,
            dimensions=(40, 200),
        )
        for line in setup:
            self.child.sendline(line)
        # asked for in two parts, so that the echo of the line is not taken for its answer
        self.child.sendline("echo set'-'up")
        self.child.expect("set-up\r\n")
        self.child.expect(PROMPT)

    def complete(self, typed: str) -> list[str]:
        """The words of the line after Tab, as the shell itself splits them."""
        self.child.send(typed + "\t")
        # Ctrl-A and Ctrl-E: to the line's start and end
        self.child.send("\x01printf '<%s>' \x05; echo done'-'now\r")
        self.child.expect(r"((?:<[^<>]*>)+)done-now")
        words = self.child.match[1].strip("<>").split("><")
        self.child.expect(PROMPT)
        return [word for word in words if word]

    def close(self) -> None:
        self.child.close(force=True)


@pytest.fixture(scope="module")
def bash(environment: dict[str, str], scripts: Path) -> Iterator[Terminal]:
    setup = ["bind 'set enable-bracketed-paste off'", f"source {scripts}/kreplica.bash", f"PS1='{PROMPT}'"]
    terminal = Terminal("bash", ["--norc", "--noprofile", "-i"], environment, setup)
    yield terminal
    terminal.close()


def _zsh(environment: dict[str, str], *load: str) -> Terminal:
    return Terminal("zsh", ["-f", "-i"], environment, ["unset zle_bracketed_paste", *load, f"PS1='{PROMPT}'"])


@pytest.fixture(scope="module")
def zsh(environment: dict[str, str], scripts: Path) -> Iterator[Terminal]:
    terminal = _zsh(environment, f"fpath=({scripts} $fpath)", "autoload -Uz compinit", "compinit -u")
    yield terminal
    terminal.close()


@pytest.fixture
def sourcing_zsh(environment: dict[str, str], scripts: Path) -> Iterator[Terminal]:
    terminal = _zsh(environment, "autoload -Uz compinit", "compinit -u", f"source {scripts}/_kreplica")
    yield terminal
    terminal.close()


@pytest.mark.shell("bash")
@pytest.mark.parametrize(("typed", "words"), WORDS)
def test_bash_completes(bash: Terminal, typed: str, words: str) -> None:
    assert " ".join(bash.complete(typed)) == words


@pytest.mark.shell("zsh")
@pytest.mark.parametrize(("typed", "words"), WORDS)
def test_zsh_completes(zsh: Terminal, typed: str, words: str) -> None:
    assert " ".join(zsh.complete(typed)) == words


@pytest.mark.shell("zsh")
def test_zsh_completes_when_the_script_is_sourced(sourcing_zsh: Terminal) -> None:
    assert sourcing_zsh.complete("kreplica desc") == ["kreplica", "describe"]


@pytest.mark.shell("fish")
@pytest.mark.parametrize(("typed", "words"), WORDS)
def test_fish_completes(environment: dict[str, str], scripts: Path, typed: str, words: str) -> None:
    command = f"source {scripts}/kreplica.fish; complete --do-complete '{typed}'"
    answer = subprocess.run(
        ["fish", "--no-config", "--command", command],
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    value = answer.stdout.splitlines()[0].partition("\t")[0].replace("\\ ", " ")
    assert words.endswith(value)
    assert len(value) > len(typed.rsplit(maxsplit=1)[-1])


@pytest.mark.shell("bash")
def test_bash_finds_the_program_by_a_path_with_a_tilde(bash: Terminal, home: Path) -> None:
    (home / "kreplica").symlink_to(Path(sys.executable).with_name("kreplica"))
    assert bash.complete("~/kreplica desc") == [str(home / "kreplica"), "describe"]
