"""One protocol rule a function: integers, booleans and bitmasks in, integers and bitmasks out; no objects.

Names are Kafka's own, and each docstring names the class a rule was read in and since when it holds. A rule does not
look at the clock, asks nobody and changes nothing, so that whoever needs it calls the same function: questions over a
snapshot and the simulator. They keep to the subset of Python that numba compiles, for whoever searches states.

Two kinds are wider. Rules of coordinators and clients (groups, transactions, assignors, positions) take names, mappings
and small frozen values. ``leader_epoch_cache`` changes the two lists that it is given in place, because every append
asks it: who searches states copies them before.

The replicas of one partition are a set in one integer: bit ``i`` stands for the replica at place ``i`` of the
assignment. The lowest set bit is then the first one in the order in which controllers look for a leader. In-sync
replicas outside the assignment, which ZooKeeper mode may have (KAFKA-9672), stand above it.

    place        0    1    2
    replicas     5    1    4        assignment 5, 1, 4
    isr          1    0    1   =    0b101: brokers 5 and 4 are in sync

``replica`` and ``leader`` are places; NO_LEADER (-1) stands for none.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def rule_modules() -> dict[str, str]:
    """Where the rules are, sorted: module by the name that stands before the dot in a rule's name.

    Events, JSON and the documentation name a rule ``module.function``, without its folder.
    """
    folders = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.") if found.ispkg]
    paths = [(path, f"{name}.") for name in folders for path in importlib.import_module(name).__path__]
    found = [each.name for path, prefix in paths for each in pkgutil.iter_modules([path], prefix)]
    return dict(sorted((name.rpartition(".")[2], name) for name in found))


def rule_module(name: str) -> ModuleType:
    """One module of rules.

    Raises:
        KeyError: There is none of that name.
    """
    return importlib.import_module(rule_modules()[name])
