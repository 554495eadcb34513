"""The reference and completions are what the code gives now, and leave no command out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands.completions.tree import Command, command_tree
from commands.main import COMMANDS, build_app


@pytest.fixture(scope="module")
def commands() -> list[Command]:
    return [command for command in command_tree(build_app()).walk() if not command.commands]


def test_nothing_generated_is_stale(root: Path) -> None:
    check = [sys.executable, root / "docs" / "generator" / "generate.py", "--check", "docs/reference", "completions"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_option_and_argument_has_help(commands: list[Command]) -> None:
    for command in commands:
        assert len(command.brief) > 10, command.path
        for parameter in (*command.options, *command.arguments):
            assert parameter.help.endswith((".", ")")), (command.path, parameter)


def test_every_command_has_its_page(commands: list[Command], root: Path) -> None:
    for command in commands:
        text = (root / "docs" / "reference" / f"{command.path[1]}.md").read_text(encoding="utf-8")
        assert re.search(rf"^##? {' '.join(command.path)}$", text, re.MULTILINE), command.path
        for option in command.options:
            assert option.flags[0] in text


def test_every_module_of_the_list_registers_a_command(commands: list[Command]) -> None:
    assert {command.path[1].replace("-", "_") for command in commands} == set(COMMANDS)
