"""Messages and records of the models as whole numbers: their values side by side, each in a place of so many bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kreplica.engine.explorer.layout import OutOfRangeError


@dataclass(frozen=True, slots=True)
class Places:
    """Places of equal width.

    Args:
        bits: Width of a place; values are from -1 to two less than it could hold.
    """

    bits: int

    def number_of(self, values: Sequence[int]) -> int:
        """The whole number of some values, above 0.

        Raises:
            OutOfRangeError: One does not fit into its place.
        """
        number, most = 1, (1 << self.bits) - 1
        for each in values:
            if not -1 <= each < most:
                raise OutOfRangeError(f"{values} does not fit")
            number = number << self.bits | each + 1
        return number

    def values_of(self, number: int, count: int) -> tuple[int, ...]:
        """The values that a number is."""
        mask = (1 << self.bits) - 1
        return tuple((number >> self.bits * place & mask) - 1 for place in reversed(range(count)))

    def most(self, count: int) -> int:
        """The largest number of so many values."""
        return (2 << self.bits * count) - 1
