"""kreplica sandbox tool: its own options stand before the name of the tool, the tool's behind it."""

from __future__ import annotations

from typing import Any

import pytest

from kreplica.sandbox import Sandbox


class Ran:
    """What a tool printed and how it ended."""

    stdout, stderr, exit_status = "out\n", "err\n", 7


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Name of the sandbox, tool and arguments of each tool that was run; none is."""
    found: list[tuple[str, ...]] = []

    class Stand:
        def __init__(self, name: str) -> None:
            self.name = name

        def run_tool(self, *words: str) -> type[Ran]:
            found.append((self.name, *words))
            return Ran

    monkeypatch.setattr(Sandbox, "open", Stand)
    return found


def test_options_behind_the_tool_are_the_tools(kreplica: Any, asked: list[tuple[str, ...]]) -> None:
    ended = kreplica("sandbox", "tool", "--name", "mine", "topics", "--list", "--name", "its own", "-o", "--help")
    assert (ended.code, ended.out, ended.err) == (7, "out\n", "err\n")
    assert kreplica("sandbox", "tool", "kafka-topics").code == 7
    assert asked == [("mine", "topics", "--list", "--name", "its own", "-o", "--help"), ("default", "kafka-topics")]


def test_an_option_before_the_tool_that_is_not_known_is_refused(kreplica: Any, asked: list[tuple[str, ...]]) -> None:
    ended = kreplica("sandbox", "tool", "--nmae", "mine", "topics", "--list")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: no such option: --nmae")
    assert asked == []
