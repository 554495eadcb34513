"""The balance of one cluster, as imbalance shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.health.imbalance import Imbalance, Measure, Spread
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class BalancedView:
    """One cluster and its balance.

    Args:
        snapshot: The selected partitions.
        imbalance: Their balance.
        spreads: Distribution of leaders, replicas and bytes over the brokers.
        options: The options for connection and selection, for the next commands.
    """

    snapshot: ClusterSnapshot
    imbalance: Imbalance
    spreads: dict[Measure, Spread]
    options: str
