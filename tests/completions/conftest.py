"""Real shells: in CI each has to be there; elsewhere one that is not installed leaves its tests out, with a remark."""

from __future__ import annotations

import os
import shutil

import pytest

MISSING = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("CI"):
        return
    absent = {item: name for item in items if (name := _shell_of(item)) and shutil.which(name) is None}
    config.stash[MISSING] = sorted(set(absent.values()))
    config.hook.pytest_deselected(items=list(absent))
    items[:] = [item for item in items if item not in absent]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name in config.stash.get(MISSING, []):
        terminalreporter.write_line(f"{name} is not installed: its completion tests were left out (CI=true demands it)")


def _shell_of(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("shell")
    return str(marker.args[0]) if marker else None
