"""The cluster of the scenario ``power-loss-of-all``, as counterexamples are played on it.

Its names, settings and times, and what keeps one of its brokers from the controllers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kreplica.engine.fault_plan import Cut, Step
from kreplica.engine.setup import FIRST_CONTROLLER, MILLISECOND, SECOND
from kreplica.scenarios.counterexamples.steps import node_of, step_at
from kreplica.scenarios.library.durability.power_loss_of_all import SCENARIO

REPLICAS, PRODUCER = 3, "producer"
LAG = "replica.lag.time.max.ms"
LAG_MS = 5_000
"""replica.lag.time.max.ms where a follower leaves the ISR: one without a link has left by the first step of the plan,
one that goes down then has not by the third.
"""
JUST_BEFORE_WRITES = 900 * MILLISECOND
APART = 2 * SECOND
"""Time from one step that the plan has to the next."""
SESSION = 15 * SECOND
"""Time after which the controller has fenced every broker that is down."""


def away_from_controllers(replica: int, begin: int, until: int) -> Iterator[Step]:
    """Cuts the links of a replica's broker to all controllers, from one time to another."""
    for controller in range(SCENARIO.setup.controllers):
        yield step_at(begin, Cut(node_of(replica), f"controller-{FIRST_CONTROLLER + controller}", until - begin))
