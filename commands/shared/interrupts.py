"""Handling of Ctrl-C, SIGTERM and SIGHUP, all alike: half-done work is cleaned up, then the program exits 130."""

from __future__ import annotations

import signal

NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a program to end."""


def end_as_by_ctrl_c() -> None:
    """Has each raise KeyboardInterrupt in the main thread, except one that the parent process ignores (nohup)."""
    for number in NUMBERS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
