"""Takes values of a command line that are clearly valid as they are, without typer's validators.

typer validates by pydantic, whose import takes longer than all other parsing of a command line: a tenth of a second or
more, for every command. Text, numbers in range and choices that are spelled as in the help need no validator; any other
value is left to typer and its error messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import typer.core

if TYPE_CHECKING:
    from typer.models import ParameterInfo

_BUILDER: Final = "build_runtime_param"
"""Name of the function that typer.core calls for each parameter, given a value or not."""
_STRANGE: Final = object()
"""Stands for a value that is not clearly valid."""
GREATEST: Final = 2**63 - 1
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")

_Builder = Callable[[Any], Any]


def take_plain_values() -> None:
    """Makes typer accept clearly valid values first; a typer with other internals is left as it is."""
    build = getattr(typer.core, _BUILDER, None)
    if build is not None and not isinstance(build, _PlainFirst):
        setattr(typer.core, _BUILDER, _PlainFirst(build))


@dataclass(frozen=True, slots=True)
class _PlainFirst:
    """Stands in for typer's builder of the validator of one parameter."""

    build: _Builder

    def __call__(self, descriptor: Any) -> _Values:
        return _Values(descriptor, self.build)


@dataclass(frozen=True, slots=True)
class _Values:
    """Validator of one parameter; has the method that typer calls."""

    descriptor: Any
    build: _Builder

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        found = _plain(value, self.descriptor.annotation, self.descriptor.parameter_info)
        if found is _STRANGE:
            found = self.build(self.descriptor).coerce(value, param=param, ctx=ctx)
        _refuse_huge(found, param, ctx)
        return found


def _refuse_huge(value: Any, param: Any, ctx: Any) -> None:
    """Refuses numbers beyond 64 bits, which fit no column and no protocol field; Kafka's greatest is Long.MAX_VALUE."""
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, int) and not -GREATEST - 1 <= each <= GREATEST:
            raise typer.BadParameter(f"{str(each)[:20]} is beyond {GREATEST}", ctx=ctx, param=param)


def _plain(value: Any, annotation: Any, info: ParameterInfo) -> Any:
    if info.parser is not None:
        return _STRANGE
    if get_origin(annotation) is not list:
        return _single(value, annotation, info)
    if not isinstance(value, (list, tuple)):
        return _STRANGE
    kind = get_args(annotation)[0]
    found = [_single(each, kind, info) for each in value]
    return _STRANGE if any(each is _STRANGE for each in found) else found


def _single(value: Any, kind: Any, info: ParameterInfo) -> Any:
    if kind is str:
        return value if type(value) is str and _is_unicode(value) else _STRANGE
    if kind in (int, float):
        return _number(value, kind, info)
    return _choice(value, kind) if _is_choice(kind) else _STRANGE


def _is_unicode(value: str) -> bool:
    """True if the text is Unicode: bytes of a command line that are not UTF-8 arrive as lone surrogates."""
    return value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)


def _number(value: Any, kind: type[int] | type[float], info: ParameterInfo) -> Any:
    shape = _INTEGER if kind is int else _DECIMAL
    if isinstance(value, str) and shape.fullmatch(value):
        value = kind(value)
    low, high = info.min, info.max
    inside = type(value) is kind and (low is None or value >= low) and (high is None or value <= high)
    return value if inside and not info.clamp else _STRANGE


def _is_choice(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _choice(value: Any, kind: type[Enum]) -> Any:
    if isinstance(value, kind):
        return value
    return next((each for each in kind if type(value) is str and each.value == value), _STRANGE)
