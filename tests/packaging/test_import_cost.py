"""Cost of starting the program: heavy libraries are imported by what needs them, and by nothing before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from commands.main import COMMANDS, GROUPS, build_app
from commands.shared.help import SectionedGroup

HEAVY = ("pandas", "pyspark", "pyarrow", "numpy", "numba", "scipy", "confluent_kafka", "kafka", "kazoo", "rich")

CODE = """
import sys
from commands.main import run
code = run(sys.argv[1:])
print("MODULES", *sys.modules)
sys.exit(code)
"""


COMPLETE = """
import os, sys
from commands.completions import completer
from commands.main import build_app
completer.answer(build_app, sys.argv[1:], {"_KREPLICA_COMPLETE": str(len(sys.argv) - 1)})
print("MODULES", *sys.modules)
"""


def names_after(code: str, *arguments: str) -> set[str]:
    """Whole names of the modules that are there in the end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES ")[2].split())


def modules_after(*arguments: str) -> set[str]:
    return {name.partition(".")[0] for name in names_after(CODE, *arguments)}


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("describe", "--help"), ("sandbox", "start", "--help")]
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    found = modules_after(*arguments)
    assert {"typer", "commands", "kreplica"} <= found
    assert found.isdisjoint(HEAVY)


@pytest.mark.parametrize("code", [CODE, COMPLETE], ids=["help", "completion"])
def test_what_names_no_command_imports_no_subcommand(code: str) -> None:
    found = names_after(code, "--help")
    registering = {f"commands.{name.replace('-', '_')}.command" for name in COMMANDS}
    assert registering <= found
    of_groups = {name for name in found if name.startswith(tuple(f"commands.{group}." for group in GROUPS))}
    assert of_groups <= registering
    assert found.isdisjoint({"kreplica.config.secrets", "commands.shared.values", "commands.sandbox.answer"})


def test_the_list_of_commands_reads_no_options_and_says_the_same() -> None:
    listed, whole = (typer.main.get_command(build_app(words)) for words in (["--help"], None))
    assert isinstance(listed, SectionedGroup)
    assert isinstance(whole, SectionedGroup)
    assert {name: one.short_help for name, one in listed.commands.items()} == {
        name: one.short_help for name, one in whole.commands.items()
    }
    assert not [one.name for one in listed.commands.values() if one.params]
    assert [one.name for one in whole.commands.values() if one.params]


@pytest.mark.parametrize(("code", "last"), [(CODE, "--help"), (COMPLETE, "--")], ids=["help", "completion"])
@pytest.mark.parametrize("words", [("describe",), ("decode", "segment"), ("config", "check")], ids=" ".join)
def test_a_command_that_is_named_imports_no_other(code: str, last: str, words: tuple[str, ...]) -> None:
    found = {f"commands.{name.replace('-', '_')}.command" for name in COMMANDS} & names_after(code, *words, last)
    assert found - {"commands.completions.command"} == {f"commands.{words[0]}.command"}


def test_the_library_alone_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import kreplica; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()}.isdisjoint({*HEAVY, "typer"})


def test_other_processes_begin_to_replay_before_numpy_is_imported_here() -> None:
    assert "numpy" not in names_after("import commands.decode.offsets.answer, sys; print('MODULES', *sys.modules)")
    assert "typer" not in names_after("import commands.start, sys; print('MODULES', *sys.modules)")


def test_listing_and_ending_mutes_imports_no_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "contexts.toml"))
    muted = '[[mutes]]\nrule = "rf-one"\nuntil = 2099-01-01T00:00:00Z\nmuted_at = 2026-01-01T00:00:00Z\n'
    (tmp_path / "mutes.toml").write_text(muted, encoding="utf-8")
    for words in (("mutes",), ("unmute", "rf-one")):
        assert names_after(CODE, "audit", *words).isdisjoint({"numpy", "pyarrow", "kreplica.fleet.judging"})


def test_describing_a_dump_imports_no_client_and_no_spark() -> None:
    names = names_after(CODE, "describe", "--dump", "sample", "--exit-zero", "-o", "json")
    found = {name.partition(".")[0] for name in names}
    assert "numpy" in found
    assert found.isdisjoint({"pandas", "pyspark", "numba", "scipy", "confluent_kafka", "kafka", "kazoo"})
    # What costs much and is needed for other files, ways in and text only.
    assert names.isdisjoint({"pyarrow.compute", "kreplica.config.contexts", "kreplica.sources.dumps.text_formats"})
    assert "importlib.resources" not in names
