"""A pytest plugin that fails a test which ends well without an assertion: it would stay green whatever breaks.

pytest asks after each ``assert`` that held if a plugin wants to hear of it (``enable_assertion_pass_hook``); counting
stands in place of that question, and costs less than the hook, which would make a text of each assertion first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
from _pytest.assertion import rewrite

_executed = 0


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Counts ``assert`` in tests and in tests/support, and each entry of ``pytest.raises`` and ``pytest.warns``."""
    before = _executed
    answer = yield
    if _executed == before:
        pytest.fail("the test executed no assertion", pytrace=False)
    return answer


def _count() -> bool:
    global _executed  # noqa: PLW0603
    _executed += 1
    return False


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _count()
        return function(*arguments, **named)

    return call


rewrite._check_if_assertion_pass_impl = _count
rewrite.PYC_TAIL = f".counted{rewrite.PYC_TAIL}"  # bytecode from before asks no such questions
pytest.raises = _counted(pytest.raises)
pytest.warns = _counted(pytest.warns)
