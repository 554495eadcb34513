"""Events as sentences, each with the rule that acted and that rule's documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, groupby

from kreplica.engine.rules import rule_module, rule_modules
from kreplica.engine.trace import KINDS, Event, Kind, fields_of, rule_of, sentence
from kreplica.report.moments import few

RULES_PAGE = "docs/reference/protocol-rules.md"
"""Page that describes the rules, generated from their docstrings."""

_OF_RECORDS = frozenset((Kind.SENT, Kind.ACKNOWLEDGED, Kind.SEND_FAILED, Kind.CONSUMED))
_OF_A_RECORD = frozenset(("value", "offset"))
_LEFT_OUT = frozenset((Kind.MESSAGE, Kind.DROPPED))


MOST_CLASSES = 3
"""Most of Kafka's classes that are named from a rule's documentation, the first ones."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One event in words.

    Args:
        time: In microseconds.
        text: What happened.
        rule: ``module.function`` of ``kreplica.engine.rules``; empty where none decided.
    """

    time: int
    text: str
    rule: str


def explain(events: Iterable[Event]) -> tuple[Sentence, ...]:
    """A sentence for each event but messages, and for each parking of a fetch that something woke later.

    Records that a client sends, reads or is told of at one moment are one sentence. The znodes that are there before
    the run begins are left out.
    """
    begun = dropwhile(lambda event: event.kind == Kind.ZNODE_WRITTEN, events)
    told = [event for event in begun if event.kind not in _LEFT_OUT]
    grouped = (_as_one([each for _, each in group]) for _, group in groupby(enumerate(told), key=_alike))
    sentences = [Sentence(event.time, sentence(event), rule_of(event)) for event in grouped]
    return tuple(sorted((*sentences, *_parked(told)), key=lambda one: one.time))


def _parked(events: Iterable[Event]) -> Iterator[Sentence]:
    for event in events:
        if event.kind == Kind.FETCH_WOKEN:
            named = fields_of(event)
            text = f"{event.node} parks the fetch of {named['partition']} by {named['reader']}: nothing to read"
            yield Sentence(named["since"], text, rule_of(event))


def _alike(numbered: tuple[int, Event]) -> tuple[object, ...]:
    """The same for events that one sentence tells: of records, all but the record and its offset is."""
    number, event = numbered
    if event.kind not in _OF_RECORDS:
        return (number,)
    told = (value for name, value in fields_of(event).items() if name not in _OF_A_RECORD)
    return (event.time, event.kind, event.node, *told)


def _as_one(events: list[Event]) -> Event:
    first = events[0]
    if len(events) == 1:
        return first
    fields = KINDS[first.kind].fields
    columns = zip(fields, zip(*(event.values for event in events), strict=True), strict=True)
    return first._replace(values=tuple(few(told) if name in _OF_A_RECORD else told[0] for name, told in columns))


def rule_summary(rule: str) -> str:
    """The first line of a rule's documentation; empty if there is no such rule."""
    return _documentation(rule)[0].partition("\n")[0].strip()


@cache
def rule_source(rule: str) -> str:
    """Kafka's classes, KIPs and issues that a rule's documentation names; its module's classes where it has none."""
    own, module = _documentation(rule)
    classes = _CLASS.findall(own) or _CLASS.findall(module)
    return ", ".join((*list(dict.fromkeys(classes))[:MOST_CLASSES], *dict.fromkeys(_PROPOSAL.findall(own))))


_CLASS = re.compile(
    r"\b(?:kafka|org\.apache)(?:\.[a-z]+)+\.[A-Z]\w*(?:\.\w+)*"  # in full
    r"|\b(?!ZooKeeper\b)(?:[A-Z][a-z]+){2,}(?:\.[a-z]\w*)*\b|\b[A-Z][a-z]+\.[a-z]\w+"
)
_PROPOSAL = re.compile(r"\b(?:KIP|KAFKA)-\d+")


def _documentation(rule: str) -> tuple[str, str]:
    """Documentation of a rule and of its module; both empty if there is no such rule."""
    module_name, _, name = rule.rpartition(".")
    if module_name not in rule_modules():
        return "", ""
    module = rule_module(module_name)
    function = getattr(module, name, None)
    return (function.__doc__ or "").strip() if function is not None else "", module.__doc__ or ""


def rule_link(rule: str) -> str:
    """Returns the place where the rule is described."""
    return f"{RULES_PAGE}#{rule.replace('.', '')}" if rule else ""
