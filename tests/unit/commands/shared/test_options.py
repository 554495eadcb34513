"""Options in the words of the user, to be typed again."""

from __future__ import annotations

import shlex

import pytest
import typer
from typer.testing import CliRunner

from commands.main import build_app
from commands.shared.options.common import READ_TIMEOUT, SourceOptions, narrowed


def sources(**given: object) -> SourceOptions:
    names = ("bootstrap_server", "command_config", "zookeeper", "dump", "context", "config", "timeout")
    return SourceOptions(**{**dict.fromkeys(names), **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"dump": "sample"}, "--dump sample"),
        ({"dump": "my dump.txt"}, "--dump 'my dump.txt'"),
        (
            {"bootstrap_server": "a:1,b:2", "command_config": "c", "timeout": 2.5},
            "--bootstrap-server a:1,b:2 --command-config c --timeout 2.5",
        ),
        (
            {"context": ["prod-*", "x"], "config": "f.toml", "timeout": 3.0},
            "--context prod-eu --config f.toml --timeout 3",
        ),
    ],
)
def test_the_way_in_can_be_typed_again(given: dict[str, object], words: str) -> None:
    assert sources(**given).again("prod-eu") == words


def test_a_command_with_a_timeout_of_its_own_calls_that_of_one_read_otherwise() -> None:
    assert sources(dump="x", timeout=2.0).again("x", timeout=READ_TIMEOUT) == "--dump x --read-timeout 2"
    ended = CliRunner().invoke(build_app(), ["wait", "--help"])
    assert "--read-timeout SECONDS" in ended.output
    assert "--timeout DURATION" in ended.output


def test_what_waits_for_a_cluster_or_changes_it_is_not_for_a_dump() -> None:
    assert sources(dump="x", timeout=2.0).again_live("x") == "--bootstrap-server HOST:PORT"
    given = sources(bootstrap_server="a:1", timeout=2.0)
    assert given.again_live("a:1", timeout=READ_TIMEOUT) == "--bootstrap-server a:1 --read-timeout 2"


def test_narrowing_options_can_be_typed_again() -> None:
    assert narrowed(None, False) == ""
    assert narrowed("a|b c", True, (1, 2)) == " --topic 'a|b c' --exclude-internal --broker 1 --broker 2"
    assert shlex.split(narrowed("it's", False)) == ["--topic", "it's"]


def test_every_command_and_option_has_its_help() -> None:
    group = typer.main.get_command(build_app())
    commands = [("kreplica", group)]
    seen = 0
    while commands:
        name, command = commands.pop()
        commands += [(f"{name} {child}", found) for child, found in getattr(command, "commands", {}).items()]
        assert command.help, name
        for parameter in command.params:
            seen += 1
            assert getattr(parameter, "help", "") or parameter.param_type_name == "argument", f"{name} {parameter.name}"
    assert seen > 40
    assert CliRunner().invoke(build_app(), ["check", "--help"]).exit_code == 0
