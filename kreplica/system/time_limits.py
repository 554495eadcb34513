"""The longest timeout or interval that options and files may set."""

from __future__ import annotations

from kreplica.errors import UsageError

LONGEST_SECONDS = 366 * 86400.0
"""A leap year. What is far longer is a typing error, and beyond three centuries the system's clocks do not count."""


def check_timeout(timeout: float, what: str) -> float:
    """The timeout, if it is one.

    Raises:
        UsageError: It is not above 0, not a number, or longer than ``LONGEST_SECONDS``.
    """
    if not 0 < timeout <= LONGEST_SECONDS:  # not a number is neither
        raise UsageError(f"{what} is {timeout:g}", f"expected seconds above 0, {LONGEST_SECONDS:.0f} (a year) at most")
    return timeout
