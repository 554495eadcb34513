"""Every example of the documentation is run: exit code, and the output where it is shown.

A block is fenced as ``console``; what follows that word says how it is meant:

    exit=1      how its last command ends; 0 if not said, which all others must
    live        it needs a Kafka: run in order with the page's other live blocks, which start and stop a sandbox
    spark       it needs Spark
    golden      it reads what real brokers left behind: a log directory of tests/golden stands for /srv/kafka
    install     how to install kreplica: not run here, tests/packaging does the like

A line of output that is ``…`` stands for any lines, ``…`` within a line for anything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\S+)?[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = ("live", "spark", "golden", "install")
LANGUAGES = ("console", "toml", "python", "sql", None)
UV, PROGRAM = (Path(sys.executable).with_name(name) for name in ("uv", "kreplica"))
PLACEHOLDER = "localhost:9092"
GOLDEN = {"/srv/kafka": str(ROOT / "tests" / "golden" / "kafka-4.3.1" / "killed-all" / "broker-1")}


@dataclass(frozen=True)
class Step:
    """One command and what it shall print; None where nothing is shown."""

    command: str
    expected: str | None
    exit_code: int


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    steps: tuple[Step, ...]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, words, body = match.groups()
        assert language in LANGUAGES, f"{page.name}: examples are fenced as console, not {language}"
        if language == "console":
            line = text.count("\n", 0, match.start()) + 1
            found.append(_block(page, line, words.split(), body))
    return found


def _block(page: Path, line: int, words: list[str], body: str) -> Block:
    kind = next((word for word in words if word in KINDS), "")
    ending = next((int(word.removeprefix("exit=")) for word in words if word.startswith("exit=")), 0)
    assert body.startswith("$ "), f"{page.name}:{line}: an example begins with a command"
    parts = [part.partition("\n") for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
    steps = [
        Step(command, output or None, ending if number == len(parts) else 0)
        for number, (command, _, output) in enumerate(parts, start=1)
    ]
    return Block(page, line, kind, tuple(steps))


def matches(expected: str, printed: str) -> bool:
    pattern = ""
    for line in expected.splitlines():
        pattern += r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
    return re.fullmatch(pattern, printed) is not None


def run(block: Block, folder: Path, environment: Mapping[str, str], replace: Mapping[str, str]) -> None:
    for step in block.steps:
        command = step.command
        for old, new in replace.items():
            command = command.replace(old, new)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=150,
            check=False,
        )
        where = f"{block.page.name}:{block.line}: {command}\n{done.stdout}{done.stderr}"
        assert done.returncode == step.exit_code, f"ended with {done.returncode}: {where}"
        assert "Traceback" not in done.stderr, where
        if step.expected is not None:
            assert matches(step.expected, done.stdout), f"printed otherwise: {where}\nexpected\n{step.expected}"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The program on the PATH; the user's own contexts and sandboxes are neither seen nor touched."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "KREPLICA_SANDBOX_HOME": str(tmp_path / "sandboxes"),
    }


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if any(block.kind == kind for block in blocks(page))]


def of_kind(page: Path, kind: str) -> list[Block]:
    return [block for block in blocks(page) if block.kind == kind]


def page_name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", pages_with(""), ids=page_name)
def test_the_examples_of_a_page(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    for block in of_kind(page, ""):
        run(block, tmp_path, environment, {})


@pytest.mark.parametrize("page", pages_with("golden"), ids=page_name)
def test_the_examples_on_files_of_real_brokers(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    for block in of_kind(page, "golden"):
        run(block, tmp_path, environment, GOLDEN)


@pytest.mark.spark
@pytest.mark.parametrize("page", pages_with("spark"), ids=page_name)
def test_the_spark_examples_of_a_page(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    for block in of_kind(page, "spark"):
        run(block, tmp_path, environment, {})


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)  # a whole page
@pytest.mark.usefixtures("no_sandbox_outlives_this_process")
@pytest.mark.parametrize("page", pages_with("live"), ids=page_name)
def test_the_live_examples_of_a_page(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    try:
        for block in of_kind(page, "live"):
            run(block, tmp_path, environment, server(environment))
    finally:
        subprocess.run([PROGRAM, "sandbox", "stop", "--all"], env=environment, timeout=60, check=True)
    assert not list((tmp_path / "sandboxes").glob("*/"))


def server(environment: dict[str, str]) -> dict[str, str]:
    """Where the page's sandbox listens, in place of the address that the page shows."""
    command = [PROGRAM, "sandbox", "status", "-o", "json"]
    status = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    clusters = json.loads(status.stdout)["clusters"]
    return {PLACEHOLDER: clusters[0]["bootstrap_servers"]} if clusters else {}


def test_the_ways_to_install_are_the_tested_ones() -> None:
    commands = {step.command for page in PAGES for block in of_kind(page, "install") for step in block.steps}
    assert commands == {"uv tool install .", "uv tool install '.[spark]'"}


def test_the_first_screen_runs_by_uvx(tmp_path: Path, environment: dict[str, str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`uvx --from . kreplica describe --dump sample --under-replicated`" in readme
    uvx = [UV, "tool", "run", "--quiet", "--constraints", ROOT / "constraints.txt", "--from", ROOT, "kreplica"]
    asked = [*uvx, "describe", "--dump", "sample", "--under-replicated"]
    environment["UV_TOOL_DIR"] = str(tmp_path / "tools")
    done = subprocess.run(
        asked, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "partitions under-replicated; the dump is " in done.stdout.splitlines()[-1]


def test_every_link_leads_somewhere() -> None:
    for page in [*PAGES, *(ROOT / "docs" / "reference").glob("*.md")]:
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            if target.startswith("https://"):
                continue
            name, _, anchor = target.partition("#")
            led_to = page.parent / name if name else page
            assert led_to.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(led_to), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """What a link to a heading of the page is written as: lower case, no punctuation, hyphens for spaces."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = re.findall(r'<a (?:id|name)="([^"]+)"', text)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(named)


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", index)}
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= listed, f"not in docs/README.md: {sorted(pages - listed)}"


@pytest.mark.parametrize("expected", ["a…c\n", "…\nabc\n", "abc\n…\n", "…\n"])
def test_an_ellipsis_stands_for_anything(expected: str) -> None:
    assert matches(expected, "abc\n")
    assert matches(expected, "abd\n") is (expected == "…\n")


def test_output_without_an_ellipsis_is_compared_whole() -> None:
    assert matches("a.c\n", "a.c\n")
    assert not matches("a.c\n", "abc\n")
    assert not matches("a.c\n", "a.c\nd\n")
