"""What starting the program costs: heavy libraries are imported by what needs them, and by nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pandas", "pyspark", "pyarrow", "numpy", "numba", "scipy", "confluent_kafka", "kafka", "kazoo", "rich")

CODE = """
import sys
from commands.main import run
code = run(sys.argv[1:])
print("MODULES", *sys.modules)
sys.exit(code)
"""


def modules_after(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.rpartition("MODULES ")[2].split()}


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("describe", "--help"), ("sandbox", "start", "--help")]
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    found = modules_after(*arguments)
    assert {"typer", "commands", "kreplica"} <= found
    assert found.isdisjoint(HEAVY)


def test_the_library_alone_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import kreplica; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()}.isdisjoint({*HEAVY, "typer"})


def test_describing_a_dump_imports_no_client_and_no_spark() -> None:
    found = modules_after("describe", "--dump", "sample", "-o", "json")
    assert "numpy" in found
    assert found.isdisjoint({"pandas", "pyspark", "numba", "scipy", "confluent_kafka", "kafka", "kazoo"})
