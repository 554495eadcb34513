"""Simulating a cluster and judging the run, in one call."""

from __future__ import annotations

from kreplica.engine.faults import Plan
from kreplica.engine.features import with_features
from kreplica.engine.outcome import Judge, Outcome
from kreplica.engine.setup import Setup
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Trace
from kreplica.engine.versions import Version


def observe(
    setup: Setup, plan: Plan, version: Version, seed: int = 0, keep: bool = True
) -> tuple[Outcome, list[Event]]:
    """Simulates a cluster and judges the run.

    Args:
        setup: The cluster and its clients; levels of features may stand among its settings.
        plan: Faults and operations.
        version: Kafka's rules and defaults.
        seed: Same seed, same run.
        keep: Whether the events are kept; the outcome is the same without.

    Raises:
        UsageError: The plan names what there is not, or the version lacks a feature that the setup sets.
    """
    version = with_features(version, setup.settings)
    trace = Trace(keep)
    judge = Judge(setup, version, trace, plan)
    simulate(setup, plan, version, seed, trace)
    return judge.outcome(setup.duration), trace.events
