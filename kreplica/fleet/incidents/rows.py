"""Rows of incidents, and of the findings behind one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Struct

from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.incident import Incident
from kreplica.health.findings import Finding
from kreplica.health.rules import Severity
from kreplica.model.tables.rows import Int32, Meaning, meaning_of

_EXACT = Meaning("told by a metadata log: times are those of records", drop=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BEGUN_AFTER = Meaning("the last moment before it that says otherwise, null if none tells", screen=False)
_FROM = Meaning("the first moment that shows it", label="FROM")
_LAST_SEEN = Meaning("the last moment that shows it", drop=1)
_TO = Meaning("the first later moment that says otherwise, null if none does", label="TO")


class IncidentRow(Struct, frozen=True):
    """One cause in one cluster, and what it explains."""

    severity: Annotated[
        Severity, Meaning("the worst severity of the findings behind it; info of what was planned", drop=7)
    ]
    id: Annotated[str, Meaning("name that stays the same: of cluster, kind, key and begin", label="INCIDENT")]
    cluster: Annotated[str, Meaning("cluster id, or name where the id is not known")]
    kind: Annotated[str, Meaning("the cause: see [incidents](../fleet.md#incidents)")]
    key: Annotated[str, Meaning("what it concerns: a broker, a rack, a setting", label="CONCERNS", fold=True)]
    certainty: Annotated[Certainty, Meaning("proved, likely or possible", drop=3)]
    begun_after: Annotated[str | None, _BEGUN_AFTER]
    valid_from: Annotated[str, _FROM]
    last_seen: Annotated[str, _LAST_SEEN]
    valid_to: Annotated[str | None, Meaning(_TO.text, _TO.label, drop=6)]
    exact: Annotated[bool, _EXACT]
    findings: Annotated[int, Meaning("number of findings that it explains", drop=5)]
    partitions: Annotated[int, Meaning("number of partitions that these are about", drop=4)]
    muted: Annotated[int, Meaning("number of findings behind it that are muted: they count nowhere else", screen=False)]
    left: Annotated[int, Meaning("findings behind it that are still there although it is over", drop=2)]
    planned: Annotated[bool, Meaning("whether somebody meant it, so that it is no incident", screen=False)]
    brokers: Annotated[Sequence[Int32], Meaning("the brokers that it concerns", screen=False)]
    by_rule: Annotated[Mapping[str, int], Meaning("numbers of these findings by rule", screen=False)]
    changed: Annotated[
        Sequence[str] | None,
        Meaning("what is not as it was before, once it is over; null while it lasts or is not known", screen=False),
    ]
    compared_at: Annotated[
        str | None,
        Meaning(
            "moment of which changed is said: the last one known, before another cause concerns the same brokers",
            screen=False,
        ),
    ]
    before: Annotated[
        Sequence[Mapping[str, str]],
        Meaning("what changed within a day before it: kind, after, at and text, the last first", screen=False),
    ]
    evidence: Annotated[Mapping[str, object], Meaning("the facts behind it, an object", screen=False)]


class BehindRow(Struct, frozen=True):
    """A finding behind an incident."""

    rule: Annotated[str, meaning_of(Finding, "rule")]
    severity: Annotated[Severity, meaning_of(Finding, "severity")]
    certainty: Annotated[Certainty, Meaning("proved, likely or possible", drop=2)]
    topic: Annotated[str | None, meaning_of(Finding, "topic")]
    partition: Annotated[Int32 | None, meaning_of(Finding, "partition")]
    broker: Annotated[Int32 | None, meaning_of(Finding, "broker")]
    group: Annotated[str | None, Meaning("consumer group, null where the rule is about none", screen=False)]
    begun_after: Annotated[str | None, _BEGUN_AFTER]
    valid_from: Annotated[str, _FROM]
    last_seen: Annotated[str, _LAST_SEEN]
    valid_to: Annotated[str | None, _TO]
    exact: Annotated[bool, _EXACT]
    muted: Annotated[bool, Meaning("whether it does not count because it is muted", screen=False)]
    message: Annotated[str, meaning_of(Finding, "message")]


def row_of(one: Incident) -> IncidentRow:
    """The row of an incident."""
    return IncidentRow(
        severity=one.severity,
        id=one.id,
        cluster=one.cluster,
        kind=one.kind,
        key=one.key,
        certainty=one.certainty,
        begun_after=text_of(one.begun_after_ms),
        valid_from=_text(one.valid_from_ms),
        last_seen=_text(one.last_seen_ms),
        valid_to=text_of(one.valid_to_ms),
        exact=one.exact,
        findings=len(one.findings),
        partitions=one.partitions,
        muted=len(one.muted),
        left=len(one.left),
        planned=one.is_planned,
        brokers=one.brokers,
        by_rule=one.by_rule,
        changed=one.changed,
        compared_at=text_of(one.compared_ms),
        before=[
            {"kind": change.kind, "after": _text(change.after_ms), "at": _text(change.at_ms), "text": change.text}
            for change in one.before
        ],
        evidence=one.evidence,
    )


def behind_row(one: FleetFinding, *, muted: bool = False) -> BehindRow:
    """The row of a finding behind an incident."""
    return BehindRow(
        rule=one.rule,
        severity=one.severity,
        certainty=one.certainty,
        topic=one.topic,
        partition=one.partition,
        broker=one.broker,
        group=one.group,
        begun_after=text_of(one.begun_after_ms),
        valid_from=_text(one.valid_from_ms),
        last_seen=_text(one.last_seen_ms),
        valid_to=text_of(one.valid_to_ms),
        exact=one.exact,
        muted=muted,
        message=one.message,
    )


def text_of(milliseconds: int | None) -> str | None:
    """A moment as rows have it, ISO 8601 in UTC; None stays None."""
    return None if milliseconds is None else _text(milliseconds)


def _text(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
