"""Reads the values of the sandbox's options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from kreplica.errors import UsageError

Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], text: str, option: str) -> Choice:
    """Returns one value of an enumeration.

    Raises:
        UsageError: It has no such value; names those it has.
    """
    try:
        return kind(text.lower())
    except ValueError:
        raise UsageError(f"{option} {text} is unknown", f"there is {', '.join(kind)}") from None


def racks(text: str) -> tuple[str, ...]:
    """Reads ``a,b,c`` as names and ``3`` as rack-1, rack-2, rack-3."""
    if text.isdecimal():
        return tuple(f"rack-{number}" for number in range(1, int(text) + 1))
    return tuple(filter(None, text.split(",")))


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Reads ``KEY=VALUE`` texts.

    Raises:
        UsageError: One has no equals sign or no key.
    """
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{option} {text!r} cannot be read", "", "write KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def assignment(text: str) -> list[list[int]]:
    """Reads ``1:2,2:3`` as the replicas of partition 0 and of partition 1.

    Raises:
        UsageError: It is not of that form.
    """
    if not text:
        return []
    if not re.fullmatch(r"\d+(:\d+)*(,\d+(:\d+)*)*", text):
        raise UsageError(f"--replica-assignment {text!r} cannot be read", "", "write 1:2,2:3 for two partitions")
    return [[int(broker) for broker in replicas.split(":")] for replicas in text.split(",")]
