"""The models of a KRaft cluster: the published ones, without ELR and with it."""

from __future__ import annotations

from dataclasses import replace

from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.kraft import rules
from kreplica.engine.explorer.models.kraft.actions import actions
from kreplica.engine.explorer.models.kraft.goals import healing
from kreplica.engine.explorer.models.kraft.invariants import invariants
from kreplica.engine.explorer.models.kraft.rules import WITH_ELR, WITHOUT_ELR
from kreplica.engine.explorer.models.kraft.state import KraftBounds, initial, layout
from kreplica.model.settings import MIN_ISR

TABLES = {
    "kraft": WITHOUT_ELR,
    "kraft-last-kept": replace(WITHOUT_ELR, loses=rules.last_keeps),
    "kip-966": WITH_ELR,
}
"""The table of each model by its name."""


def model_of(name: str, bounds: KraftBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    table = TABLES[name]
    checked = invariants(bounds.min_isr, table.tells_losses)
    goes_on, settings = healing(bounds, table), ((MIN_ISR, str(bounds.min_isr)),)
    taken = actions(bounds, table)
    return Model(name, layout(bounds), initial(bounds), taken, checked, healing=goes_on, settings=settings)
