"""The models of settings: one KRaft partition by the rules of 3.9, and of 4.1 and 4.3 with eligible leader replicas."""

from __future__ import annotations

from dataclasses import replace

from kreplica.engine.explorer.model import Invariant, Model
from kreplica.engine.explorer.models.settings.actions import actions
from kreplica.engine.explorer.models.settings.goals import healing
from kreplica.engine.explorer.models.settings.state import (
    ANY_LEADER,
    SettingsBounds,
    SettingsState,
    initial,
    layout,
    leads,
    log_end,
)
from kreplica.engine.rules.replication.replica_set import only, without
from kreplica.engine.versions.supported import version_named

VERSIONS = {
    "settings-3.9": version_named("3.9-kraft"),
    "settings-4.1": version_named("4.1"),
    "settings-4.3": version_named("4.3"),
    "settings-4.1-mended": replace(version_named("4.1"), positions_outlive_leaders=False),
    "settings-4.3-mended": replace(version_named("4.3"), positions_outlive_leaders=False),
}
"""The release that each model goes by; of the mended ones a leader forgets its followers' positions at every epoch."""
RELEASES = ("settings-3.9", "settings-4.1", "settings-4.3")
"""Models that are like a release."""


def records_of(state: SettingsState, replica: int) -> int:
    """The records of a replica, as a set."""
    log, found = len(state.written_in), 0
    for offset in range(log_end(state, replica)):
        found |= only(state.records[replica * log + offset] - 1)
    return found


def acknowledged_kept(state: SettingsState) -> bool:
    """True if no replica leads in the latest epoch without a record that was acknowledged."""
    for replica in range(len(state.leader)):
        leads_now = leads(state, replica) and state.epoch[replica] == state.true_epoch[0]
        if leads_now and without(state.acknowledged[0], records_of(state, replica)) != 0:
            return False
    return True


INVARIANTS = (Invariant("acknowledged-kept", acknowledged_kept, "who leads has every record that was acknowledged"),)


def model_of(name: str, bounds: SettingsBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``VERSIONS``.
        bounds: Its settings and bounds.
    """
    taken = actions(bounds)
    first = range(bounds.replicas) if bounds.first_leader == ANY_LEADER else (bounds.first_leader - 1,)
    begins, *others = (initial(bounds, VERSIONS[name], leader) for leader in first)
    goes_on = healing(taken)
    return Model(name, layout(bounds), begins, taken, INVARIANTS, healing=goes_on, others=tuple(others))
