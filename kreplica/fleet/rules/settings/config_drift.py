"""Settings that are not the same on all brokers of a cluster, although they might be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.wording.words import named

NAME = "config-drift"
OWN = re.compile(
    r"(broker|node)\.id|broker\.rack|process\.roles|reserved\.broker\.max\.id|(cordoned\.)?(metadata\.)?log\.dirs?"
    r"|(advertised\.|host\.name|port|listeners?).*|.*\.(keystore|truststore|key)\..*|.*\.throttled\.rate"
)
"""Settings that are each broker's own."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A value that a broker had: from an observation to before another."""

    broker: str
    value: str
    first: int
    end: int


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Settings of which brokers have different values, each from when to when."""
    table = history.configs
    if not len(table):
        return
    for name, rows in _differing(table):
        held = [_held(table, row) for row in rows]
        yield from _drifts(history, name, [one for one in held if one is not None])


def _differing(table: Lasting) -> Iterator[tuple[str, list[int]]]:
    """Settings of brokers of which there are several values at all, with their rows."""
    names, values = table.strings("name"), table.strings("value")
    kinds = table.strings("entity_type")
    brokers = [code for code, word in enumerate(kinds.dictionary) if word == "broker"]
    shared = [code for code, word in enumerate(names.dictionary) if not OWN.fullmatch(word)]
    rows = np.flatnonzero(np.isin(kinds.codes, brokers) & np.isin(names.codes, shared) & (values.codes >= 0))
    order = rows[np.argsort(names.codes[rows], kind="stable")]
    for some in np.split(order, np.flatnonzero(np.diff(names.codes[order])) + 1):
        if len(some) and len(np.unique(values.codes[some])) > 1:
            yield str(names[int(some[0])]), some.tolist()


def _held(table: Lasting, row: int) -> _Held | None:
    broker, value = table.strings("entity")[row], table.strings("value")[row]
    ended = int(table.runs.ended[row])
    end = len(table.times) if ended < 0 else ended
    return None if broker is None or value is None else _Held(broker, value, int(table.runs.first[row]), end)


def _drifts(history: ClusterHistory, name: str, held: list[_Held]) -> Iterator[FleetFinding]:
    """A finding for each unbroken time in which the values differ, with those of its end."""
    borders = sorted({place for one in held for place in (one.first, one.end)})
    begin, last = -1, {}
    for place in borders:
        now = {one.broker: one.value for one in held if one.first <= place < one.end}
        if len(set(now.values())) > 1:
            begin, last = (place if begin < 0 else begin), now
        elif begin >= 0:
            yield _finding(history, name, begin, place, last)
            begin = -1


def _finding(history: ClusterHistory, name: str, begin: int, end: int, values: dict[str, str]) -> FleetFinding:
    most = Counter(values.values()).most_common(1)[0][0]
    others = {broker: value for broker, value in sorted(values.items()) if value != most}
    ended = end if end < len(history.times) else -1
    return history.finding(
        Span(begin - 1, begin, end - 1, ended),
        history.configs.tellers,
        rule=NAME,
        severity=Severity.WARNING,
        certainty=Certainty.PROVED,
        message=f"{name} is {most} on most brokers, and not on {named('broker', list(others), 5)}",
        evidence={"setting": name, "most": most, "others": others},
    )


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (CONFIGS,),
    "brokers of one cluster are set differently: one that restarts, or another leader, behaves in another way",
    "set it alike on all brokers, best as a default of the cluster",
    find,
)
