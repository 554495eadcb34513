"""Rules of advice and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kreplica.advice.facts import BrokerGroup, ClientFacts, ClusterFacts, Setting, TopicFacts
from kreplica.health.rules import Severity


class Scope(StrEnum):
    """Subjects that rules judge."""

    CLUSTER = "cluster"
    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One rule's recommendation for one subject.

    Args:
        current: The setting as it is; None where nothing is set.
        recommended: What it should be.
        command: The line that sets it; lines of client properties are separated by line breaks. None where none can be
            given now, which ``detail`` then explains.
        detail: Details of this subject, after the rule's own reason.
        price: In place of the rule's.
        cost: Details of this subject, after the price.
        severity: In place of the rule's.
        setting: In place of the rule's.
    """

    current: Setting | None
    recommended: str
    command: str | None
    detail: str = ""
    price: str | None = None
    cost: str = ""
    severity: Severity | None = None
    setting: str | None = None


TopicJudge: TypeAlias = Callable[[TopicFacts, ClusterFacts], Proposal | None]
BrokerJudge: TypeAlias = Callable[[BrokerGroup, ClusterFacts], Proposal | None]
ClientJudge: TypeAlias = Callable[[ClientFacts, ClusterFacts | None], Proposal | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Base of all rules.

    Args:
        name: Fixed name; that of check's rule where the condition is that rule's.
        setting: What it is about.
        severity: Unless a proposal has another.
        why: What it means for the user as it is.
        price: What the recommended value costs.
        source: Kafka's class, page or KIP.
    """

    name: str
    setting: str
    severity: Severity
    why: str
    price: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRule(Rule):
    """Judges each topic; ``reads`` are the settings it needs."""

    judge: TopicJudge
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRule(Rule):
    """Judges each group of brokers that have the same values for what it ``reads``."""

    judge: BrokerJudge
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRule(Rule):
    """Judges the properties of a producer or a consumer; the cluster is None where none was named."""

    scope: Scope
    judge: ClientJudge


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One row of the answer.

    Args:
        scope: What it is about.
        name: Topic, broker ids or file; None for all brokers.
        rule: Name of the rule.
        setting: What to set.
        current: Its value now, None if nothing is set.
        origin: Where that is set: as in the configs table, ``file`` for a client's, None if not known.
        recommended: What it should be.
        severity: Severity of the present value.
        why: What it means for the user.
        price: What the recommended value costs.
        command: The line that sets it.
        evidence: A run that shows it; always None until runs can be replayed.
    """

    scope: Scope
    name: str | None
    rule: str
    setting: str
    current: str | None
    origin: str | None
    recommended: str
    severity: Severity
    why: str
    price: str
    command: str | None
    evidence: None = None


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A rule that could not judge some subjects, and the facts it lacked."""

    rule: str
    subjects: int
    missing: str


@dataclass(frozen=True, slots=True)
class Advice:
    """Results of judging: recommendations, the worst first, and what could not be judged."""

    recommendations: tuple[Recommendation, ...]
    unjudged: tuple[Unjudged, ...]

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.recommendations)
