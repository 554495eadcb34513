"""Findings as few bytes: those behind the incidents of a thousand clusters are too many to be held as objects."""

from __future__ import annotations

import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from operator import attrgetter
from typing import overload

from kreplica.fleet.finding import FleetFinding
from kreplica.health.rules import Severity

_FIELDS_OF = attrgetter(*(one.name for one in fields(FleetFinding)))


@dataclass(frozen=True, slots=True)
class Summary:
    """Facts about findings that are asked for more often than the findings themselves.

    Args:
        worst: The worst severity; None where there is no finding.
        by_rule: Numbers of them by rule.
        partitions: Number of partitions that they are about.
    """

    worst: Severity | None
    by_rule: Mapping[str, int]
    partitions: int

    @classmethod
    def of(cls, findings: Iterable[FleetFinding]) -> Summary:
        """The summary of findings; those that are packed have it at hand."""
        if isinstance(findings, PackedFindings):
            return findings.summary
        every = list(findings)
        worst = max((one.severity for one in every), default=None)
        by_rule = dict(sorted(Counter(one.rule for one in every).items()))
        return cls(worst, by_rule, len({(one.topic, one.partition) for one in every if one.partition is not None}))


class PackedFindings(Sequence[FleetFinding]):
    """Findings in their order, made again whenever one is looked at.

    Args:
        findings: The findings.
    """

    __slots__ = ("_content", "_count", "summary")

    def __init__(self, findings: Sequence[FleetFinding]) -> None:
        self._count, self.summary = len(findings), Summary.of(findings)
        rows = [_FIELDS_OF(one) for one in findings]  # values alone: the state of an object is pickled slower
        self._content = zlib.compress(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL), 1) if rows else b""

    def __len__(self) -> int:
        return self._count

    def _unpacked(self) -> list[FleetFinding]:
        rows = pickle.loads(zlib.decompress(self._content)) if self._count else []
        return [FleetFinding(*row) for row in rows]

    def __iter__(self) -> Iterator[FleetFinding]:
        return iter(self._unpacked())

    @overload
    def __getitem__(self, place: int) -> FleetFinding: ...
    @overload
    def __getitem__(self, place: slice) -> list[FleetFinding]: ...
    def __getitem__(self, place: int | slice) -> FleetFinding | list[FleetFinding]:
        return self._unpacked()[place]


def packed(findings: Sequence[FleetFinding]) -> PackedFindings:
    """Findings in little memory; those that are packed already are taken as they are."""
    return findings if isinstance(findings, PackedFindings) else PackedFindings(findings)


class GatheredFindings(Sequence[FleetFinding]):
    """Findings of many clusters, one cluster after the other; those of one at a time are made again.

    Args:
        parts: The findings of each cluster.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[PackedFindings]) -> None:
        self._parts = [one for one in parts if len(one)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[FleetFinding]:
        return chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, place: int) -> FleetFinding: ...
    @overload
    def __getitem__(self, place: slice) -> list[FleetFinding]: ...
    def __getitem__(self, place: int | slice) -> FleetFinding | list[FleetFinding]:
        if isinstance(place, slice):
            return list(self)[place]
        at = range(len(self))[place]
        return next(islice(self, at, None))

    @property
    def by_rule(self) -> Mapping[str, int]:
        """Numbers of them by rule."""
        counts = Counter[str]()
        for one in self._parts:
            counts.update(one.summary.by_rule)
        return dict(sorted(counts.items()))

    def where(self, keep: Callable[[FleetFinding], bool]) -> GatheredFindings:
        """Those of which something is true."""
        return GatheredFindings(PackedFindings([one for one in part if keep(one)]) for part in self._parts)
