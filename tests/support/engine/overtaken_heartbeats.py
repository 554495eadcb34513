"""Ways of the models of a consumer group to two members that have the same partition, as steps of the models."""

from __future__ import annotations

from kreplica.engine.explorer.model import Taken, successors
from kreplica.engine.explorer.models.coordinators.memberships.models import model_of
from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds

STALE = (
    "heartbeat:0 heartbeat:1 serve:0 hear:0 heartbeat:0 serve:1 hear:1 heartbeat:1 reconcile:1 take-over:1"
    " expire:0 serve:0 hear:0 heartbeat:0 serve:1 hear:1 heartbeat:1 reconcile:1 take-over:1"
    " serve:0 hear:0 heartbeat:0 serve:1 serve:0 hear:0 reconcile:0 take-over:0"
)
"""Client 2 has nothing, and says so in a heartbeat that is overtaken by its taking over both partitions."""

LATE = (
    "heartbeat:0 heartbeat:1 time-out:0 heartbeat:0 serve:0 hear:0 reconcile:0 take-over:0"
    " serve:1 hear:1 heartbeat:1 serve-late:0 serve:1 hear:1 reconcile:1 take-over:1"
)
"""Client 1 joins twice, as its first heartbeat is late; when that arrives it has both partitions."""

FAULTS = {STALE: (1, 0), LATE: (0, 1)}
"""The faults and the time-outs that each takes."""


def way(name: str, bounds: MembershipBounds, steps: str) -> list[Taken]:
    """Some actions of a model, from its first state on: names with the client."""
    model = model_of(name, bounds)
    state, taken = model.initial, list[Taken]()
    for step in steps.split():
        action, client = step.rsplit(":", 1)
        found = [one for one in successors(model, state) if (one.action.name, one.chosen[0]) == (action, int(client))]
        taken.append(found[-1])
        state = taken[-1].state
    return taken
