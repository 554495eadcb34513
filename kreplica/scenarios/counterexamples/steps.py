"""Steps of a plan for a replica of a counterexample."""

from __future__ import annotations

from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.fault_plan import AnyAction, At, Step


def node_of(replica: int) -> str:
    """The name of a replica's broker."""
    return f"broker-{broker_of(replica)}"


def step_at(time: int, action: AnyAction) -> Step:
    """A step of a plan at a time, in microseconds."""
    return Step(At(time), action)
