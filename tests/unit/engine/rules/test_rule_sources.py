"""Each protocol rule says where it was read and since when it holds: by itself, or the module for all of its rules."""

from __future__ import annotations

import re
from inspect import getdoc, getmembers, isfunction
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from kreplica.engine import trace
from kreplica.engine.rules import rule_module, rule_modules
from kreplica.engine.settings import SETTINGS

WORDS = {"replica_set", "error_codes"}
"""Modules of words that rules are written in: no rules of Kafka's."""

ENGINE = Path(trace.__file__).parent
NAMED = re.compile(r'"([a-z_]+)\.([a-z_]+)"')

CLASS = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b|\bkafka\.[a-z]+\.[A-Z]\w+")
SINCE = re.compile(r"\b[0-4]\.\d+|[Ii]n every version")

MODULES = [rule_module(name) for name in rule_modules() if name not in WORDS]


def functions(module: ModuleType) -> list[FunctionType]:
    return [
        one
        for name, one in getmembers(module, isfunction)
        if one.__module__ == module.__name__ and not name.startswith("_")
    ]


RULES = [pytest.param(module, rule, id=rule.__qualname__) for module in MODULES for rule in functions(module)]


@pytest.mark.parametrize(("module", "rule"), RULES)
def test_a_rule_names_its_class_and_its_version(module: ModuleType, rule: FunctionType) -> None:
    said = f"{getdoc(module)}\n{getdoc(rule)}"
    assert CLASS.search(said), "no class of Kafka's is named"
    assert SINCE.search(said), "it does not say since when"


def test_there_are_rules() -> None:
    assert len(RULES) > 100


def test_every_rule_that_an_event_names_is_there() -> None:
    known = {module.__name__.rpartition(".")[2]: {one.__name__ for one in functions(module)} for module in MODULES}
    sources = [ENGINE / "trace.py", *(ENGINE / "simulator").rglob("*.py")]
    named = [found for source in sources for found in NAMED.findall(source.read_text()) if found[0] in known]
    assert len(named) > 40
    missing = {f"{module}.{name}" for module, name in named if name not in known[module]}
    assert not missing - set(SETTINGS)
