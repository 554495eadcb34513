"""Earlier answers of audit, which a later one is compared with: what of it is new.

Two findings are the same where cluster, rule, topic, partition, broker and the facts of APART are the same, and where
they were seen at one moment at least: from ``valid_from`` to ``last_seen`` of the one and of the other. One that an
earlier answer had as lasting (``in_newest``, and nothing says otherwise) goes on, too, in one that begins at the first
snapshot which the later answer read of the cluster: ``--since`` may have cut between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from kreplica.errors import InputError, as_clause, os_reason
from kreplica.system.untrusted_files import MalformedError, decode_json, input_limit, read_whole

APART = ("group", "setting", "path")
"""Facts of the evidence that tell findings of one place apart: consumer group, setting, log directory."""

FINDINGS, INCIDENTS = "kreplica/audit/v1", "kreplica/audit-incidents/v1"
"""Schemas of the answers that may be compared with."""

Place: TypeAlias = tuple[object, ...]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]

_DOCUMENT = re.compile(rb'\s*\{\s*"schema"\s*:')
"""Begin of an answer in one document."""


class EarlierFinding(Struct, frozen=True):
    """A finding of an earlier answer, as far as it is compared."""

    cluster: str
    rule: str
    valid_from: Moment
    last_seen: Moment
    valid_to: Moment | None
    in_newest: bool
    topic: str | None
    partition: int | None
    broker: int | None
    evidence: dict[str, Any]


class EarlierIncident(Struct, frozen=True):
    """An incident of an earlier answer, as far as it is compared."""

    id: Annotated[str, Meta(min_length=1)]
    kind: str


class _FindingsDocument(Struct, frozen=True):
    schema: str
    findings: list[EarlierFinding] | None = None


class _IncidentsDocument(Struct, frozen=True):
    schema: str
    incidents: list[EarlierIncident] | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """When an earlier answer saw a finding."""

    first: datetime
    last: datetime
    lasts: bool


class Baseline:
    """The findings of an earlier answer.

    Args:
        findings: The findings.
    """

    def __init__(self, findings: Sequence[EarlierFinding]) -> None:
        self._seen: dict[Place, list[_Seen]] = {}
        for one in findings:
            lasts = one.in_newest and one.valid_to is None
            self._seen.setdefault(place_of(one), []).append(_Seen(one.valid_from, one.last_seen, lasts))

    def has(self, place: Place, first: datetime, last: datetime, read_from: datetime | None) -> bool:
        """True if a finding is one of these.

        Args:
            place: What it is about, by ``place_of``.
            first: When it was seen first.
            last: When it was seen last.
            read_from: Time of the first snapshot of its cluster that was read.
        """
        cut = read_from is not None and first <= read_from
        return any(
            (one.first <= last and first <= one.last) or (cut and one.lasts and one.last < first)
            for one in self._seen.get(place, ())
        )


def place_of(finding: Any) -> Place:
    """The place of a finding: cluster, rule, topic, partition, broker, and the facts that tell more apart."""
    evidence: Mapping[str, object] = finding.evidence
    apart = (None if evidence.get(name) is None else str(evidence[name]) for name in APART)
    return (finding.cluster, finding.rule, finding.topic, finding.partition, finding.broker, *apart)


def read_baseline(path: Path) -> Baseline:
    """The findings of an earlier answer of ``kreplica audit``.

    Args:
        path: The file that ``-o json`` or ``-o jsonl`` wrote.

    Raises:
        InputError: It cannot be read, or is no such answer.
    """
    return Baseline(_rows(path, FINDINGS, _FindingsDocument, EarlierFinding, "kreplica audit"))


def read_incidents(path: Path) -> frozenset[str]:
    """The ids of the incidents of an earlier answer of ``kreplica audit incidents``.

    Args:
        path: The file that ``-o json`` or ``-o jsonl`` wrote.

    Raises:
        InputError: It cannot be read, or is no such answer.
    """
    rows = _rows(path, INCIDENTS, _IncidentsDocument, EarlierIncident, "kreplica audit incidents")
    return frozenset(one.id for one in rows)


def _rows(path: Path, schema: str, document: Any, row: Any, command: str) -> list[Any]:
    """The rows of an answer in one document, or of one with a row a line; an empty file had none of them."""
    try:
        content = read_whole(path, input_limit())
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    fix = f"{command} ... -o jsonl > FILE writes one"
    if _DOCUMENT.match(content):
        whole = _decoded(path, "", content, document, command, fix)
        rows = whole.findings if schema == FINDINGS else whole.incidents
        if whole.schema != schema or rows is None:
            named = schema.split("/")[1]
            reason = f"rows of {named} are wanted, and it is an answer of the schema {whole.schema} without them"
            raise InputError(str(path), "", reason, fix)
        return list(rows)
    lines = enumerate(content.splitlines(), start=1)
    return [_decoded(path, f"line {at}", line, row, command, fix) for at, line in lines]


def _decoded(path: Path, place: str, content: bytes, kind: Any, command: str, fix: str) -> Any:
    try:
        return decode_json(content, kind)
    except MalformedError as error:
        raise InputError(str(path), place, f"it is no answer of {command}: {as_clause(str(error))}", fix) from None
