"""Judges a cluster and clients by all rules.

All rules of advice: those here, and those that other packages bring by the entry point ``kreplica.rules``.

An entry point names a rule or a list of rules; what is not a rule of advice is left to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from kreplica.advice.broker_rules import BROKER_RULES
from kreplica.advice.client_rules import CLIENT_RULES
from kreplica.advice.facts import BrokerGroup, ClientFacts, ClusterFacts, NotKnownError, TopicFacts
from kreplica.advice.model import (
    Advice,
    BrokerRule,
    ClientRule,
    Proposal,
    Recommendation,
    Rule,
    Scope,
    TopicRule,
    Unjudged,
)
from kreplica.advice.topic_rules import TOPIC_RULES
from kreplica.system.packages import brought, require_unique

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


@dataclass(slots=True)
class _Judging:
    """Recommendations and what could not be judged, as they come."""

    found: list[Recommendation] = field(default_factory=list)
    missing: dict[tuple[str, str], int] = field(default_factory=dict)

    def cannot(self, rule: Rule, what: str) -> None:
        self.missing[rule.name, what] = self.missing.get((rule.name, what), 0) + 1

    def add(self, rule: Rule, scope: Scope, name: str | None, proposal: Proposal | None) -> None:
        if proposal is not None:
            self.found.append(_recommendation(rule, scope, name, proposal))


def advise(facts: ClusterFacts, rules: Sequence[Rule] | None = None) -> Advice:
    """Judges a cluster: its brokers' settings and its topics."""
    judging = _Judging()
    for rule in rules if rules is not None else all_rules():
        if isinstance(rule, BrokerRule):
            _judge_brokers(rule, facts, judging)
        elif isinstance(rule, TopicRule):
            _judge_topics(rule, facts, judging)
    return _advice(judging)


def advise_client(
    client: ClientFacts, scope: Scope, facts: ClusterFacts | None, rules: Sequence[Rule] | None = None
) -> Advice:
    """Judges a producer's or a consumer's properties, with the cluster it is for where that is known.

    Raises:
        ConfigurationError: A property that is a number is none.
    """
    judging = _Judging()
    for rule in rules if rules is not None else all_rules():
        if isinstance(rule, ClientRule) and rule.scope is scope:
            try:
                judging.add(rule, scope, client.file, rule.judge(client, facts))
            except NotKnownError as error:
                judging.cannot(rule, str(error))
    return _advice(judging)


def _judge_brokers(rule: BrokerRule, facts: ClusterFacts, judging: _Judging) -> None:
    try:
        for group in _groups(rule, facts):
            proposal = rule.judge(group, facts)
            scope = Scope.CLUSTER if group.everyone else Scope.BROKER
            name = None if group.everyone else ",".join(map(str, group.ids))
            judging.add(rule, scope, name, proposal)
    except NotKnownError as error:
        judging.cannot(rule, str(error))


def _groups(rule: BrokerRule, facts: ClusterFacts) -> Iterator[BrokerGroup]:
    if rule.reads:
        yield from facts.broker_groups(rule.reads)
    else:
        yield BrokerGroup(facts.brokers, True, {})


def _judge_topics(rule: TopicRule, facts: ClusterFacts, judging: _Judging) -> None:
    for topic in facts.topics:
        try:
            judging.add(rule, Scope.TOPIC, topic.name, _judged(rule, topic, facts))
        except NotKnownError as error:
            judging.cannot(rule, str(error))


def _judged(rule: TopicRule, topic: TopicFacts, facts: ClusterFacts) -> Proposal | None:
    for name in rule.reads:
        if name not in topic.settings:
            raise NotKnownError(name)
    return rule.judge(topic, facts)


def _recommendation(rule: Rule, scope: Scope, name: str | None, proposal: Proposal) -> Recommendation:
    current = proposal.current
    return Recommendation(
        scope=scope,
        name=name,
        rule=rule.name,
        setting=proposal.setting or rule.setting,
        current=None if current is None else current.value,
        origin=None if current is None or current.origin == "unknown" else current.origin,
        recommended=proposal.recommended,
        severity=proposal.severity or rule.severity,
        why="; ".join(filter(None, (rule.why, proposal.detail))),
        price="; ".join(filter(None, (proposal.price or rule.price, proposal.cost))),
        command=proposal.command,
    )


def _advice(judging: _Judging) -> Advice:
    order = {rule.name: number for number, rule in enumerate(all_rules())}
    found = sorted(judging.found, key=lambda one: (-one.severity.rank, order.get(one.rule, len(order)), one.name or ""))
    missing = tuple(Unjudged(rule, count, what) for (rule, what), count in judging.missing.items())
    return Advice(tuple(found), missing)
