"""How this kreplica was installed, and with it the line that adds one of its extras."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

UV_RECEIPT = "uv-receipt.toml"
"""What ``uv tool install`` leaves in the environment of a tool, which has no pip and that no other pip reaches."""


def line_that_adds(extra: str, environment: Path | None = None) -> str:
    """The line that installs an extra beside this kreplica.

    Args:
        extra: Its name in pyproject.toml.
        environment: The folder of the Python environment; that of this process unless it is given.
    """
    if Path(environment or sys.prefix, UV_RECEIPT).is_file():
        return f"uv tool install 'kreplica[{extra}]{_origin()}'"
    return f"pip install 'kreplica[{extra}]'"  # pip takes what is there already for kreplica, wherever it came from


def _origin() -> str:
    """Where it was installed from, as a requirement says it (PEP 508); empty where that was an index of packages.

    Installers record it in direct_url.json (PEP 610).
    """
    try:
        record = distribution("kreplica").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    if record is None:
        return ""
    found = json.loads(record)
    kept = found.get("vcs_info")
    return f" @ {kept['vcs']}+{found['url']}@{kept['commit_id']}" if kept else f" @ {found['url']}"
