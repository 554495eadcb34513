"""Bounds of the models of clients."""

from __future__ import annotations

from typing import NamedTuple


class ClientBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        records: Records, or transactions of one record or two.
        faults: Connections that break, requests that are refused or delayed, or crashes of the application.
    """

    records: int
    faults: int
