"""Work that is shared between processes: results in order, and whatever goes wrong in one of them."""

from __future__ import annotations

import os
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.formats.side_by_side import side_by_side


def with_process(item: int) -> tuple[int, int]:
    return item * 2, os.getpid()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(), max_size=7), st.integers(0, 4))
def test_results_come_in_order_whatever_process_found_them(items: list[int], processes: int) -> None:
    found = side_by_side(with_process, items, processes)
    assert [result for result, _ in found] == [item * 2 for item in items]
    assert len({process for _, process in found}) == min(len(items), max(1, processes))


def fail_at(bad: int, item: int) -> int:
    if item == bad:
        raise InputError(f"file-{item}", "byte 3", "it is damaged")
    return item


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_is_raised_here_wherever_it_happened(bad: int) -> None:
    with pytest.raises(InputError, match=f"^cannot read file-{bad}, byte 3; it is damaged$"):
        side_by_side(partial(fail_at, bad), [0, 1, 2], 3)


def end_without_a_word(here: int, item: int) -> int:
    if os.getpid() != here:
        os._exit(9)
    return item


def test_a_process_that_is_killed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, made = os.fork, []
    monkeypatch.setattr(os, "fork", lambda: made.append(fork()) or made[-1])
    with pytest.raises(OSError, match="has ended without a result"):
        side_by_side(partial(end_without_a_word, os.getpid()), [0, 1], 2)
    (process,) = made
    with pytest.raises(ChildProcessError):  # it has been waited for
        os.waitpid(process, os.WNOHANG)
