"""Criteria of an audit: by which rules it judges."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from analyzers.rules.over_time import FLEET_NAMES
from analyzers.rules.rule_files import CustomRule
from kreplica.errors import UsageError
from kreplica.health.rules import ALL_RULES


@dataclass(frozen=True, slots=True)
class Criteria:
    """The rules to judge by.

    Args:
        rules: Their names.
        custom: Rules of the user, of which some may be among them.
    """

    rules: frozenset[str]
    custom: tuple[CustomRule, ...] = ()


def criteria_of(rules: Collection[str] | Criteria | None) -> Criteria:
    """The criteria, or those of some names of rules; all rules if None.

    Raises:
        UsageError: There is no such rule.
    """
    if isinstance(rules, Criteria):
        return rules
    known = FLEET_NAMES.union(rule.name for rule in ALL_RULES)
    names = known if rules is None else frozenset(rules)
    if not names <= known:
        raise UsageError(f"no rule {', '.join(sorted(names - known))}", f"known are {', '.join(sorted(known))}")
    return Criteria(names)
