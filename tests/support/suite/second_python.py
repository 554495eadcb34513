"""Parameters of tests whose first case tells that it goes on a second Python; the others are tried on one alone."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def first_on_each(cases: Iterable[object], first: int = 0) -> list[object]:
    """The cases, with all but one marked `one_python`.

    Args:
        cases: A value each, or a tuple of values.
        first: Place of the one that is tried on each Python, one that takes little.
    """
    return [
        pytest.param(*_values(case), marks=[] if place == first else [pytest.mark.one_python])
        for place, case in enumerate(cases)
    ]


def _values(case: object) -> tuple[object, ...]:
    return case if type(case) is tuple else (case,)  # a named tuple is one value
