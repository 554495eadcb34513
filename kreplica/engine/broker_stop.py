"""What a cluster is like once brokers have stopped: the rules of controlled shutdown over a snapshot."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kreplica.engine.departures import (
    Departure,
    dead_replicas,
    outcomes,
    unclean_enabled,
    with_outcomes,
    without_clean_leader,
)
from kreplica.engine.partition_states import partition_states, rows_on
from kreplica.model.columns import Indices, Mask
from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class StoppedBrokers:
    """What stopping some brokers does.

    Args:
        rows: Partitions with a replica on one of them, as rows of the snapshot.
        before: These partitions as they are.
        after: These partitions, and the brokers, once the named ones are gone.
        last_in_sync: Which of these partitions have nobody left that could lead without losing records.
    """

    rows: Indices
    before: ClusterSnapshot
    after: ClusterSnapshot
    last_in_sync: Mask


def stop_brokers(snapshot: ClusterSnapshot, brokers: Collection[int]) -> StoppedBrokers:
    """Stops brokers together: each shuts down in a controlled way, then all are gone.

    What is down already is gone first, so that a broker which the metadata has not yet taken out of an ISR counts as
    lost. Which of the brokers goes first changes nothing in who is left.

    Args:
        snapshot: The cluster. One that does not show its mode is taken for KRaft: without ELR both modes come to the
            same leaders.
        brokers: Ids of those to stop.
    """
    rows = rows_on(snapshot, brokers)
    before = snapshot.select(rows)
    states = partition_states(before)
    down = dead_replicas(before, states)
    departure = Departure(down, np.zeros_like(down), states.on(brokers))
    found = outcomes(before, states, departure, unclean_enabled(before))
    clean = outcomes(before, states, departure, np.zeros(len(rows), dtype=np.bool_))
    after = with_outcomes(before, states, found, brokers)
    return StoppedBrokers(rows, before, after, without_clean_leader(clean, before))
