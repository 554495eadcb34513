"""Verification of plans: independent of planners, and whatever is changed in a plan or its certificate is found."""

from __future__ import annotations

import ast
from pathlib import Path

from kreplica.planner.reassignment import verification


def test_who_judges_imports_nothing_that_is_judged() -> None:
    """Of planners only the certificate, which is data, and that imports nothing of them."""
    folder = Path(verification.__path__[0])
    own = "kreplica.planner.reassignment."
    allowed = {f"{own}certificate", *(f"{own}verification.{file.stem}" for file in folder.glob("*.py"))}
    imported = {
        node.module
        for file in (*folder.glob("*.py"), folder.parent / "certificate.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert {one for one in imported if one.startswith("kreplica.planner")} <= allowed
    assert f"{own}certificate" in imported
    assert not imported & {"scipy", "ortools"}
