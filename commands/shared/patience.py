"""Ctrl-C of a run that must not stand still in the middle: the first begins nothing more, a second one leaves."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from commands.shared.interrupts import NUMBERS


@contextmanager
def patient_interrupts(said: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Within the block the first SIGINT, SIGTERM or SIGHUP is noted, the second raises KeyboardInterrupt.

    Args:
        said: Called at the first.

    Yields:
        A function that tells whether the first has come.
    """
    asked: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt
        said()

    ended_by = [number for number in NUMBERS if signal.getsignal(number) is signal.default_int_handler]
    for number in ended_by:
        signal.signal(number, note)
    try:
        yield lambda: bool(asked)
    finally:
        for number in ended_by:
            signal.signal(number, signal.default_int_handler)
