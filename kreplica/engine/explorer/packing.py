"""States packed into 64-bit words, by code that is generated from a layout.

Each number takes the bits that tell its values apart, and no number is split between two words::

    bits     0        18       24 ...                  63 0
    word 0   records  high_watermark  epoch ...           word 1   sent_leader ...

Bit 63 stays free: a word is never negative, in numpy as in plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import Any

from kreplica.engine.explorer.layout import Layout

BITS_A_WORD = 63


@dataclass(frozen=True, slots=True)
class Place:
    """Place of one number of a state.

    Args:
        word: The word that holds it.
        shift: Its lowest bit there.
        width: Its bits.
        least: The value that stands as 0.
    """

    word: int
    shift: int
    width: int
    least: int


def places(layout: Layout) -> list[Place]:
    """The place of each number of a state, in order."""
    found: list[Place] = []
    word, shift = 0, 0
    for field in layout.each_number():
        if shift + field.width > BITS_A_WORD:
            word, shift = word + 1, 0
        found.append(Place(word, shift, field.width, field.least))
        shift += field.width
    return found


def words_of(layout: Layout) -> int:
    """Count of the words of a state."""
    return places(layout)[-1].word + 1


def pack_source(layout: Layout) -> str:
    """Source of ``pack(state, words)``: fills the words, and returns what is 0 if every number fits its bits."""
    held, names = places(layout), _names(layout)
    lines = ["def pack(state, words):", "    over = 0"]
    for number, (name, place) in enumerate(zip(names, held, strict=True)):
        lines += [f"    n{number} = {name} - {place.least}", f"    over |= n{number} >> {place.width}"]
    for word in range(words_of(layout)):
        parts = [f"(n{number} << {place.shift})" for number, place in enumerate(held) if place.word == word]
        lines.append(f"    words[{word}] = {' | '.join(parts)}")
    return "\n".join([*lines, "    return over", ""])


def unpack_source(layout: Layout) -> str:
    """Source of ``unpack(words, state)``: fills the numbers of the state."""
    lines = ["def unpack(words, state):"]
    for name, place in zip(_names(layout), places(layout), strict=True):
        mask = (1 << place.width) - 1
        lines.append(f"    {name} = ((words[{place.word}] >> {place.shift}) & {mask}) + {place.least}")
    return "\n".join([*lines, ""])


def _names(layout: Layout) -> list[str]:
    """Expressions for the numbers of a state, in order."""
    return [f"state.{name}[{at}]" for name, field in layout.fields.items() for at in range(field.count)]


def generated(source: str) -> FunctionType:
    """The one function of a generated source."""
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, f"<{__name__}>", "exec"), scope)  # of numbers and names of this module alone
    return next(value for value in scope.values() if isinstance(value, FunctionType))
