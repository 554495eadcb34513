"""Criteria of an audit: by which rules it judges, and whether it tells or counts what they find."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from analyzers.rules.over_time import FLEET_NAMES, refuse_without_time
from analyzers.rules.rule_files import PARTITIONS_VIEW, CustomRule
from kreplica.errors import UsageError
from kreplica.health.rules import ALL_RULES


@dataclass(frozen=True, slots=True)
class Criteria:
    """The rules to judge by.

    Args:
        rules: Their names.
        custom: Rules of the user, of which some may be among them.
        told: Whether findings are told in words, which takes facts of each; otherwise they are counted only.
    """

    rules: frozenset[str]
    custom: tuple[CustomRule, ...] = ()
    told: bool = True


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


def refuse_without_history(criteria: Criteria, *, history: bool) -> None:
    """Raises UsageError if dumps are named, and rules over time or over a view of histories are asked for."""
    refuse_without_time(criteria.rules, history=history)
    others = [one for one in criteria.custom if one.view != PARTITIONS_VIEW and one.name in criteria.rules]
    if others and not history:
        names, views = (", ".join(sorted({getattr(one, of) for one in others})) for of in ("name", "view"))
        fix = "kreplica audit ingest DUMP... --into HISTORY makes one of them"
        raise UsageError(f"{names}: rules over {views} judge a history", "dumps are named", fix)
