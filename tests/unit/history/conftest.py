"""Snapshots for the tests of a history."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clusters.generated import snapshot_of

from kreplica.model.snapshot import ClusterSnapshot


@pytest.fixture
def snapshot_with() -> Callable[..., ClusterSnapshot]:
    """Builds a snapshot of these partitions, brokers and facts."""
    return snapshot_of
