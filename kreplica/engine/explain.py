"""Each event as a sentence with the rule that acted, and what that rule says of itself."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass

from kreplica.engine.moments import QUIET
from kreplica.engine.trace import Event, Kind, rule_of, sentence

RULES_PAGE = "docs/reference/protocol-rules.md"
"""Where the rules are described, generated from their docstrings."""

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
    """What happened, a sentence an event; messages and what a leader learns of its followers are left out."""
    return tuple(
        Sentence(event.time, sentence(event), rule_of(event)) for event in events if event.kind not in _LEFT_OUT
    )


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
