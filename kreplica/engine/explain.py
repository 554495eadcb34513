"""Each event as a sentence with the rule that acted, and what that rule says of itself."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from kreplica.engine.brief import few
from kreplica.engine.moments import QUIET
from kreplica.engine.trace import KINDS, Event, Kind, fields_of, rule_of, sentence

RULES_PAGE = "docs/reference/protocol-rules.md"
"""Where the rules are described, generated from their docstrings."""

_OF_RECORDS = frozenset((Kind.SENT, Kind.ACKNOWLEDGED, Kind.SEND_FAILED, Kind.CONSUMED))
_OF_A_RECORD = frozenset(("value", "offset"))
_LEFT_OUT = QUIET | {Kind.MESSAGE, Kind.DROPPED}


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
    """What happened, a sentence an event; messages and what a leader learns of its followers are left out.

    Records that a client sends, reads or is told of at one moment are one sentence.
    """
    told = (event for event in events if event.kind not in _LEFT_OUT)
    return tuple(
        Sentence(event.time, sentence(event), rule_of(event))
        for event in (_as_one([each for _, each in group]) for _, group in groupby(enumerate(told), key=_alike))
    )


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
    module_name, _, name = rule.rpartition(".")
    try:
        module = importlib.import_module(f"kreplica.engine.rules.{module_name}")
    except ModuleNotFoundError:
        return ""
    documentation = getattr(module, name, None).__doc__ or "" if hasattr(module, name) else ""
    return documentation.strip().partition("\n")[0].strip()


def rule_link(rule: str) -> str:
    """Where the rule is described."""
    return f"{RULES_PAGE}#{rule.replace('.', '')}" if rule else ""
