"""The simulator: plays a setup with a plan of faults in virtual time, and writes the events into a trace."""

from __future__ import annotations

from kreplica.engine.fault_plan import Plan
from kreplica.engine.setup import Setup
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import Version

__all__ = ["simulate"]


def simulate(setup: Setup, plan: Plan, version: Version, seed: int, trace: Trace) -> None:
    """Plays one run; it is a function of its arguments.

    Args:
        setup: Cluster and clients.
        plan: Faults and operations.
        version: Kafka's rules and defaults.
        seed: Seed of all randomness: latencies with jitter, losses, elections.
        trace: Gets every event; its sinks are fed as they happen.

    Raises:
        UsageError: The plan names something that does not exist.
    """
    from kreplica.engine.simulator.plan_player import play_plan
    from kreplica.engine.simulator.world import build

    play_plan(build(setup, version, seed, trace), plan)
