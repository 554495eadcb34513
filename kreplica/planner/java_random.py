"""Numbers that java.util.Random draws from a seed, so that a placement can be repeated with Kafka's own classes."""

from __future__ import annotations

_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_STATE = (1 << 48) - 1
_SIGN = 1 << 31


class JavaRandom:
    """A linear congruential generator with 48 bits of state, as the documentation of java.util.Random specifies it.

    Args:
        seed: The seed, a Java long.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _STATE

    def next_int(self, bound: int) -> int:
        """Draws a number from 0 up to, not including, ``bound`` (java.util.Random.nextInt)."""
        assert 0 < bound < _SIGN, "a positive Java int"
        drawn = self._next()
        if bound & (bound - 1) == 0:
            return (bound * drawn) >> 31
        while drawn - drawn % bound + bound - 1 >= _SIGN:  # the last, incomplete run of numbers would favour the small
            drawn = self._next()
        return drawn % bound

    def _next(self) -> int:
        """The upper 31 bits of the next state."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _STATE
        return self._state >> 17
