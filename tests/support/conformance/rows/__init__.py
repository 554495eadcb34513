"""The rows of conformance, by what is done to the cluster."""

from __future__ import annotations

from conformance.rows import (
    clients,
    controllers,
    disks,
    elections,
    endings,
    groups,
    links,
    moves,
    pauses,
    quorums,
    transactions,
)
from conformance.script import Row

ROWS: tuple[Row, ...] = (
    *endings.ROWS,
    *pauses.ROWS,
    *clients.ROWS,
    *elections.ROWS,
    *moves.ROWS,
    *transactions.ROWS,
    *groups.ROWS,
    *links.ROWS,
    *controllers.ROWS,
    *disks.ROWS,
    *quorums.ROWS,
)
"""All rows, in the order in which they are played: what leaves a cluster in need of repair comes late."""

BY_NAME = {row.name: row for row in ROWS}
assert len(BY_NAME) == len(ROWS), "two rows have one name"
