"""Rules compiled by numba in nopython mode, with every rule that they call, as whoever searches states would do it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit

from kreplica.engine import rules


class Compiler:
    """Compiles each rule once."""

    def __init__(self) -> None:
        self._compiled: dict[Callable[..., Any], Callable[..., Any]] = {}

    def compiled(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The rule as numba makes it; functions of the rules that it names are compiled, too."""
        if rule not in self._compiled:
            assert isinstance(rule, FunctionType)
            called = {name: rule.__globals__[name] for name in _names(rule) if _is_rule(rule.__globals__.get(name))}
            scope = {**rule.__globals__, **{name: self.compiled(one) for name, one in called.items()}}
            self._compiled[rule] = njit(FunctionType(rule.__code__, scope, rule.__name__, rule.__defaults__))
        return self._compiled[rule]


def _names(rule: FunctionType) -> set[str]:
    return set(rule.__code__.co_names)


def _is_rule(value: object) -> bool:
    return inspect.isfunction(value) and value.__module__.startswith(rules.__name__)
