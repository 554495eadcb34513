"""All rules of advice: those here, and those that other packages bring by the entry point ``kreplica.rules``.

An entry point names a rule or a list of rules; what is not a rule of advice is left to others.
"""

from __future__ import annotations

from functools import cache

from kreplica.advice.broker_rules import BROKER_RULES
from kreplica.advice.client_rules import CLIENT_RULES
from kreplica.advice.model import BrokerRule, ClientRule, Rule, TopicRule
from kreplica.advice.topic_rules import TOPIC_RULES
from kreplica.entry_points import brought, require_unique

ENTRY_POINT = "kreplica.rules"
OWN_RULES: tuple[Rule, ...] = (*BROKER_RULES, *TOPIC_RULES, *CLIENT_RULES)
"""Rules of this package, in the order in which they are documented."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Own rules, then others'; a name that is taken already is refused.

    Raises:
        UsageError: Two rules have one name.
    """
    others = (rule for rule in brought(ENTRY_POINT) if isinstance(rule, TopicRule | BrokerRule | ClientRule))
    rules = (*OWN_RULES, *others)
    require_unique((rule.name for rule in rules), "rules of advice", ENTRY_POINT)
    return rules
