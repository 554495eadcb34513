"""Protocol rules, one function each: integers, booleans and bitmasks in, integers and bitmasks out; no objects.

Names are Kafka's own. Each docstring names the Kafka class that the rule was read in, and since which version it holds.
A rule reads no clock, calls nothing outside and changes nothing, so the simulator and the questions over a snapshot
call the same function. Rules keep to the subset of Python that numba compiles, so that a search over states can be
compiled.

Two kinds are wider. Rules of coordinators and clients (groups, transactions, assignors, positions) take names, mappings
and small frozen values. ``leader_epoch_cache`` changes the two lists that it is given in place, because every append
calls it: a search over states copies them first.

The replicas of one partition are a set in one integer: bit ``i`` stands for the replica at index ``i`` of the
assignment. The lowest set bit is then the first one in the order in which controllers look for a leader. In-sync
replicas outside the assignment, which ZooKeeper mode may have (KAFKA-9672), take the bits above it.

    index        0    1    2
    replicas     5    1    4        assignment 5, 1, 4
    isr          1    0    1   =    0b101: brokers 5 and 4 are in sync

``replica`` and ``leader`` are indexes of the assignment; NO_LEADER (-1) stands for none.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def rule_modules() -> dict[str, str]:
    """Returns the modules of rules, sorted: full module name by the name before the dot in a rule's name.

    Events, JSON and the documentation name a rule ``module.function``, without its folder.
    """
    folders = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.") if found.ispkg]
    paths = [(path, f"{name}.") for name in folders for path in importlib.import_module(name).__path__]
    found = [each.name for path, prefix in paths for each in pkgutil.iter_modules([path], prefix)]
    return dict(sorted((name.rpartition(".")[2], name) for name in found))


def rule_module(name: str) -> ModuleType:
    """Imports one module of rules.

    Raises:
        KeyError: There is none of that name.
    """
    return importlib.import_module(rule_modules()[name])
