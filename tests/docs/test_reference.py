"""The reference and completions are what the code gives now, and leave no command out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from commands.completions.tree import Command, command_tree
from commands.main import COMMANDS, build_app, run


@pytest.fixture(scope="module")
def commands() -> list[Command]:
    return [command for command in command_tree(build_app()).walk() if command.runs]


def test_nothing_generated_is_stale(root: Path) -> None:
    check = [sys.executable, root / "docs" / "generator" / "generate.py", "--check", "docs/reference", "completions"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_option_and_argument_has_help(commands: list[Command]) -> None:
    for command in commands:
        assert len(command.brief) > 10, command.path
        for parameter in (*command.options, *command.arguments):
            assert parameter.help.endswith((".", ")", "]")), (command.path, parameter)


def test_every_command_has_its_page(commands: list[Command], root: Path) -> None:
    for command in commands:
        text = (root / "docs" / "reference" / f"{command.path[1]}.md").read_text(encoding="utf-8")
        assert re.search(rf"^##? {' '.join(command.path)}$", text, re.MULTILINE), command.path
        for option in command.options:
            assert option.flags[0] in text


def test_every_command_has_two_examples_that_it_takes(commands: list[Command]) -> None:
    program = typer.main.get_command(build_app())
    for command in commands:
        assert len(command.examples) >= 2, command.path
        for line in command.examples:
            words = shlex.split(line.partition(" > ")[0])
            assert tuple(words[: len(command.path)]) == command.path, line
            built: Any = program
            for name in command.path[1:]:
                built = built.commands[name]
            built.make_context(command.name, words[len(command.path) :])


def test_examples_on_the_sample_are_answered(
    commands: list[Command],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The examples of the pages run in processes of their own, in test_examples.py: here the answer alone counts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    offline = re.compile(r"--dump sample|kreplica whatif (?!validate)")
    lines = [line for command in commands for line in command.examples if offline.search(line)]
    assert len(lines) > 10
    for line in lines:
        code = run(shlex.split(line)[1:])
        printed = capsys.readouterr()
        assert code in (0, 1, 5), (line, printed.err)
        assert printed.out, line


def test_every_module_of_the_list_registers_a_command(commands: list[Command]) -> None:
    assert {command.path[1] for command in commands} == set(COMMANDS)
