"""Layout of a model's state: how many whole numbers it has, and what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

State = Any
"""A named tuple of lists of whole numbers: one list for each field of the layout, in its order."""

Key = tuple[int, ...]
"""All numbers of a state, one after the other."""


class OutOfRangeError(ValueError):
    """A number of a state is not within what the layout declares: the state could not be told from others."""


@dataclass(frozen=True, slots=True)
class Field:
    """Numbers of one name in a state.

    Args:
        most: The largest value.
        least: The smallest.
        count: How many there are: one, one a replica, one a replica and offset, ...
    """

    most: int
    least: int = 0
    count: int = 1

    @property
    def width(self) -> int:
        """Bits that tell its values apart."""
        return (self.most - self.least).bit_length()


@dataclass(frozen=True)
class Layout:
    """The fields of a state.

    Args:
        kind: The named tuple that a state is.
        fields: Its fields by name, in the order of the tuple.
    """

    kind: type[Any]
    fields: Mapping[str, Field]

    def __post_init__(self) -> None:
        assert tuple(self.fields) == self.kind._fields

    @cached_property
    def size(self) -> int:
        """Count of the numbers of a state."""
        return sum(field.count for field in self.fields.values())

    def each_number(self) -> list[Field]:
        """The field of each number of a state, in order."""
        return [field for field in self.fields.values() for _ in range(field.count)]

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Places of the numbers of each field among all."""
        ends = list(accumulate(field.count for field in self.fields.values()))
        return tuple(slice(end - field.count, end) for end, field in zip(ends, self.fields.values(), strict=True))

    def copy(self, state: State) -> State:
        """A state of its own with the same numbers."""
        return self.kind(*map(list, state))

    def state(self, key: Key) -> State:
        """The state of a key."""
        return self.kind(*(list(key[place]) for place in self.places))

    def key(self, state: State) -> Key:
        """The numbers of a state.

        Raises:
            OutOfRangeError: One is not within its field's range.
        """
        for numbers, (name, field) in zip(state, self.fields.items(), strict=True):
            if min(numbers) < field.least or max(numbers) > field.most or len(numbers) != field.count:
                raise OutOfRangeError(f"{name} is {list(numbers)}, not {field.count} of {field.least} to {field.most}")
        return tuple(chain.from_iterable(state))
