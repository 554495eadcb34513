"""Rules that every version has, switched off for a while: each stands for a mistake that an engine could make.

The replacement takes the rule's place wherever the engine has imported it. A compiled engine calls its rules without
looking them up: there nothing can be switched off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from kreplica.engine import simulator
from kreplica.engine.rules import rule_module
from kreplica.engine.rules.controller.elections import zookeeper_leader_for_offline
from kreplica.engine.rules.replication.error_codes import ErrorCode

Rules = dict[str, Callable[..., Any]]
"""Replacements of rules, by the rule's module and name."""

_EVERYBODY = (1 << 30) - 1

for _module in walk_packages(simulator.__path__, f"{simulator.__name__}."):
    import_module(_module.name)  # now, since what is imported while a rule is off would keep its replacement


def _always(value: object) -> Callable[..., Any]:
    return partial(_given, value)


def _given(value: object, *_: object) -> object:
    return value


def _highest(high_watermark: int, end_offsets: Sequence[int], _: int) -> int:
    return max(high_watermark, *end_offsets)


def _all_but_members(replica: int, maximal: int, eligible: int, *_: object) -> bool:
    return bool(eligible & ~maximal & 1 << replica)


def _any_live(replicas: int, _: int, live: int, unclean: bool) -> tuple[int, int]:
    return zookeeper_leader_for_offline(replicas, replicas, live, unclean)


def _up_to_high_watermark(_: int, high_watermark: int, *__: object) -> int:
    return high_watermark


def _whole_isr(isr: int, *_: object) -> int:
    return isr


def _as_told(leader_high_watermark: int, *_: object) -> int:
    return leader_high_watermark


def _cuts_nothing(_: object, __: object, end_offset: int, *___: object) -> tuple[int, bool]:
    return end_offset, True


COMMITTED_ALONE: Rules = {"high_watermark.leader_high_watermark": _highest}
ANSWERED_AT_ONCE: Rules = {"acknowledgement.waits_for_followers": _always(False)}
ISR_NOT_COUNTED: Rules = {
    "acknowledgement.append_error": _always(ErrorCode.NONE),
    "acknowledgement.completion_error": _always(ErrorCode.NONE),
}
JOINS_AT_ONCE: Rules = {"follower_lag.may_join_isr": _all_but_members}
NEVER_JOINS: Rules = {"follower_lag.may_join_isr": _always(False)}
NEVER_SHRINKS: Rules = {"follower_lag.in_sync_by_time": _whole_isr}
AS_THE_LEADER_SAYS: Rules = {"high_watermark.follower_high_watermark": _as_told}
LED_BY_ANYBODY_KRAFT: Rules = {"elections.eligible_leaders": _always(_EVERYBODY)}
LED_BY_ANYBODY_ZOOKEEPER: Rules = {"elections.zookeeper_leader_for_offline": _any_live}
NOTHING_DIVERGES: Rules = {"fetching.diverges": _always(False)}
NOTHING_CUT: Rules = {"log_truncation.truncation_round": _cuts_nothing}
ANY_SEQUENCE: Rules = {"producer_state.sequence_error": _always(ErrorCode.NONE)}
NO_DUPLICATES_KNOWN: Rules = {
    "producer_state.duplicate_offset": _always(-1),
    "producer_state.sequence_error": _always(ErrorCode.NONE),
}
READ_OPEN_TRANSACTIONS: Rules = {"last_stable_offset.last_stable_offset": _up_to_high_watermark}
READ_ABORTED_TRANSACTIONS: Rules = {"isolation.aborted_transactions": _always(())}


@contextmanager
def switched_off(rules: Rules) -> Iterator[None]:
    """Runs the block with these replacements in the engine."""
    places = [(*place, other) for path, other in rules.items() for place in _places(path)]
    try:
        for module, name, _, other in places:
            setattr(module, name, other)
        yield
    finally:
        for module, name, rule, _ in places:
            setattr(module, name, rule)


def is_compiled() -> bool:
    """True if the engine is compiled: then its rules cannot be switched off."""
    return not str(import_module("kreplica.engine.rules.controller.elections").__file__).endswith(".py")


def _places(path: str) -> list[tuple[ModuleType, str, Any]]:
    """Places where the engine has a rule: its own module, and those that have imported it."""
    file, _, name = path.rpartition(".")
    rule = getattr(rule_module(file), name)
    engine = [module for path, module in list(sys.modules.items()) if path.startswith("kreplica.engine")]
    return [(module, name, rule) for module in engine if getattr(module, name, None) is rule]
