"""The columns of a recommendation."""

from __future__ import annotations

COLUMNS = (
    "scope",
    "name",
    "rule",
    "setting",
    "current",
    "origin",
    "recommended",
    "severity",
    "why",
    "evidence",
    "price",
    "command",
)
