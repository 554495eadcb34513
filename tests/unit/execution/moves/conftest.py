"""A cluster on paper that moves replicas, and runs of plans for it that wait for nothing long."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans.moved import Moved

from kreplica.execution.moves import taking_back
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.throttles import throttling


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Moved:
    """A cluster on paper without partitions and without a plan."""
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 0.02)
    monkeypatch.setattr(throttling, "SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(throttling, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(taking_back, "SETTLE_SECONDS", 0.3)
    return Moved(tmp_path)
