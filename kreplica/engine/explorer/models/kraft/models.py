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
    goes_on = healing(bounds, table)
    return Model(name, layout(bounds), initial(bounds), actions(bounds, table), checked, healing=goes_on)
