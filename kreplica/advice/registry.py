"""All rules of advice: those here, and those that other packages bring by the entry point ``kreplica.rules``.

An entry point names a rule or a list of rules; what is not a rule of advice is left to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kreplica.advice.broker_rules import BROKER_RULES
from kreplica.advice.client_rules import CLIENT_RULES
from kreplica.advice.model import BrokerRule, ClientRule, Rule, TopicRule
from kreplica.advice.topic_rules import TOPIC_RULES
from kreplica.errors import UsageError

ENTRY_POINT = "kreplica.rules"
OWN_RULES: tuple[Rule, ...] = (*BROKER_RULES, *TOPIC_RULES, *CLIENT_RULES)
"""Rules of this package, in the order in which they are documented."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Own rules, then others'; a name that is taken already is refused.

    Raises:
        UsageError: Two rules have one name.
    """
    rules = (*OWN_RULES, *_others())
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        fix = f"remove a package that brings rules by the entry point {ENTRY_POINT}"
        raise UsageError(f"two rules of advice are called {', '.join(twice)}", "names have to be unique", fix)
    return rules


def _others() -> Iterator[Rule]:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT):
        found = point.load()
        for rule in found if isinstance(found, list | tuple) else [found]:
            if isinstance(rule, TopicRule | BrokerRule | ClientRule):
                yield rule
