"""The models of one partition: the published ones, and KIP-320 with one guard changed."""

from __future__ import annotations

from dataclasses import replace

from kreplica.engine.explorer.model import Model
from kreplica.engine.explorer.models.one_partition import rules
from kreplica.engine.explorer.models.one_partition.actions import actions
from kreplica.engine.explorer.models.one_partition.goals import healing
from kreplica.engine.explorer.models.one_partition.invariants import INVARIANTS
from kreplica.engine.explorer.models.one_partition.rules import Rules
from kreplica.engine.explorer.models.one_partition.state import Bounds, initial, layout
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr

_TO_HIGH_WATERMARK = Rules(
    fetches=rules.reached,
    acknowledges=rules.reached,
    keeps_up=rules.reached,
    catches_up=rules.reached,
    admits=rules.admits_always,
    cuts_at=rules.cut_to_high_watermark,
    removed=rules.removed_even_last,
)
_KIP_101 = replace(_TO_HIGH_WATERMARK, cuts_at=rules.cut_by_last_epoch)
_KIP_279 = replace(_TO_HIGH_WATERMARK, cuts_at=rules.cut_behind_last_match)
_KIP_320_FIRST_TRY = Rules(
    fetches=rules.reached_same_epoch,
    acknowledges=rules.reached_same_epoch,
    keeps_up=rules.reached_same_epoch,
    catches_up=rules.reached_same_epoch,
    admits=rules.admits_in_own_epoch,
    cuts_at=rules.cut_nothing,
    removed=rules.removed_even_last,
    cuts_later=rules.cut_where_records_differ,
)
_KIP_320 = Rules(
    fetches=rules.reached_in_epoch,
    acknowledges=rules.reached_in_epoch,
    keeps_up=rules.reached_in_epoch,
    catches_up=rules.reached_in_epoch,
    admits=rules.admits_in_own_epoch,
    cuts_at=rules.cut_in_epoch,
    removed=rules.removed_even_last,
)
_KIP_320_2_1 = replace(
    _KIP_320,
    removed=zookeeper_remove_from_isr,
    catches_up=rules.joins_in_epoch,
    admits=rules.admits_always,
)
_KIP_320_3_9 = replace(
    _KIP_320_2_1,
    fetches=rules.reached_by_fetch,
    acknowledges=rules.reached_by_fetch,
    keeps_up=rules.reached_by_fetch,
    catches_up=rules.joins_by_fetch,
    cuts_at=rules.cut_nothing,
    cuts_later=rules.cut_on_fetch,
)

TABLES = {
    "truncate-to-hw": _TO_HIGH_WATERMARK,
    "kip-101": _KIP_101,
    "kip-279": _KIP_279,
    "kip-320-first-try": _KIP_320_FIRST_TRY,
    "kip-320": _KIP_320,
    "kip-320-last-kept": replace(_KIP_320, removed=zookeeper_remove_from_isr),
    "kip-320-2.1": _KIP_320_2_1,
    "kip-320-3.9": _KIP_320_3_9,
    "kip-320-m1": replace(_KIP_320, cuts_at=rules.cut_behind_last_match),
    "kip-320-m2": replace(_KIP_320, admits=rules.admits_always),
    "kip-320-m3": replace(_KIP_320, acknowledges=rules.reached),
    "kip-320-m4": replace(_KIP_320, fetches=rules.reached),
    "kip-320-m5": replace(_KIP_320, keeps_up=rules.reached),
    "kip-320-m6": replace(_KIP_320, catches_up=rules.reached, admits=rules.admits_always),
    "kip-320-m7": replace(_KIP_320, cuts_at=rules.cut_by_last_epoch_in_epoch),
    "kip-320-3.9-m1": replace(
        _KIP_320_3_9,
        acknowledges=rules.reached_in_epoch,
        keeps_up=rules.reached_in_epoch,
        catches_up=rules.joins_in_epoch,
    ),
}
"""The table of each model by its name."""


def model_of(name: str, bounds: Bounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    table = TABLES[name]
    goes_on = healing(bounds, table)
    return Model(name, layout(bounds), initial(bounds), actions(bounds, table), INVARIANTS, healing=goes_on)
