"""Reads a cluster again until it shows what was done: its brokers hear of a change in their own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kreplica.errors import UnreachableError
from kreplica.sources import Facet, read_snapshot

if TYPE_CHECKING:
    from kreplica.config import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

SETTLE_SECONDS = 10.0
"""How long brokers' metadata may take to show a change."""

PAUSE_SECONDS = 0.5
"""Between two reads."""


def read_settled(
    handle: ClusterHandle, wanted: Facet, settled: Callable[[ClusterSnapshot], bool], *, patient: bool = True
) -> ClusterSnapshot:
    """Reads until a snapshot shows the change, or the time is up: the last snapshot, then.

    Args:
        handle: The cluster.
        wanted: What is read.
        settled: Whether a snapshot shows what is waited for.
        patient: Whether a read that fails is tried again within the time: while leaders move one may fail, and what
            was changed must still be reported.

    Raises:
        UnreachableError: The cluster did not answer, where patient the last of the reads.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        late = time.monotonic() > deadline
        try:
            snapshot = read_snapshot(handle, wanted)
        except UnreachableError as error:
            if late or not patient or not error.may_pass:
                raise
        else:
            if late or settled(snapshot):
                return snapshot
        time.sleep(PAUSE_SECONDS)
