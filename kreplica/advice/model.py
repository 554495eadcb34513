"""Rules of advice and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Struct

from kreplica.advice.facts import BrokerGroup, ClientFacts, ClusterFacts, Setting, TopicFacts
from kreplica.health.rules import Severity
from kreplica.model.tables.rows import Meaning


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


class Recommendation(Struct, frozen=True, kw_only=True):
    """A better setting for one subject."""

    scope: Annotated[Scope, Meaning("cluster, broker, topic, producer or consumer")]
    name: Annotated[str | None, Meaning("topic, broker ids or file; null where it is about all brokers")]
    rule: Annotated[
        str,
        Meaning("name of the rule, see [recommendations](recommendations.md); check's where the condition is the same"),
    ]
    setting: Annotated[str, Meaning("what to set")]
    current: Annotated[str | None, Meaning("its value now, null if nothing is set")]
    origin: Annotated[
        str | None,
        Meaning(
            "where that is set: topic, broker-dynamic, cluster-dynamic, broker-static, default, assignment for"
            " replicas, file for clients; null where not known"
        ),
    ]
    recommended: Annotated[str, Meaning("what it should be")]
    severity: Annotated[Severity, Meaning("info, warning or critical")]
    why: Annotated[str, Meaning("what it means for the user as it is")]
    evidence: Annotated[None, Meaning("a run that shows it: null, for runs cannot be replayed yet")] = None
    price: Annotated[str, Meaning("what the recommended value costs")]
    command: Annotated[
        str | None,
        Meaning(
            "the line that sets it, of Kafka's own tools or of a properties file; null where it cannot be done now, as"
            " why then says"
        ),
    ]


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
