"""Kafka's replication protocol as rules, and what follows from them: no connection, no file, no clock.

The names for playing one's own clusters can be imported from here; they are loaded on first use, because most
of kreplica needs the rules alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.engine.checkers.outcome import Judge, Outcome, observe
    from kreplica.engine.fault_plan import (
        At,
        Crash,
        Cut,
        DiskLoss,
        Pause,
        Plan,
        PowerLoss,
        Slow,
        Start,
        Step,
        Stop,
        When,
        plan_from_json,
        plan_to_json,
    )
    from kreplica.engine.setup import (
        MILLISECOND,
        SECOND,
        BrokerSetup,
        ProducerSetup,
        ReaderSetup,
        Send,
        Setup,
        TopicSetup,
        cluster,
        sends,
    )
    from kreplica.engine.simulator import simulate
    from kreplica.engine.trace import Event, Kind, Trace
    from kreplica.engine.versions.supported import LATEST, VERSIONS, Version, version_named

__all__ = [
    "LATEST",
    "MILLISECOND",
    "SECOND",
    "VERSIONS",
    "At",
    "BrokerSetup",
    "Crash",
    "Cut",
    "DiskLoss",
    "Event",
    "Judge",
    "Kind",
    "Outcome",
    "Pause",
    "Plan",
    "PowerLoss",
    "ProducerSetup",
    "ReaderSetup",
    "Send",
    "Setup",
    "Slow",
    "Start",
    "Step",
    "Stop",
    "TopicSetup",
    "Trace",
    "Version",
    "When",
    "cluster",
    "observe",
    "plan_from_json",
    "plan_to_json",
    "sends",
    "simulate",
    "version_named",
]

_MODULES = ("fault_plan", "setup", "trace", "versions.supported", "checkers.outcome", "simulator")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module_name in _MODULES:
            module = importlib.import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
