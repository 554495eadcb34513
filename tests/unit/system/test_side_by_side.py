"""Work that is shared between processes: results in order, and whatever goes wrong in one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.system import processes as module
from kreplica.system.processes import MOST_TURNS, side_by_side, start_ahead
from tests.support.waiting import until


def with_process(item: int) -> tuple[int, int]:
    return item * 2, os.getpid()


@examples(0.2)
@given(st.lists(st.integers(), max_size=7), st.integers(0, 4))
def test_results_come_in_order_whatever_process_found_them(items: list[int], processes: int) -> None:
    found = side_by_side(with_process, items, processes)
    assert [result for result, _ in found] == [item * 2 for item in items]
    assert len({process for _, process in found}) <= max(1, processes)


def wait_for_the_other(folder: Path, item: int) -> int:
    """Done only when two processes have an item each."""
    (folder / str(item)).touch()
    until(lambda: len(list(folder.iterdir())) == 2, "the other item is taken")
    return os.getpid()


def test_two_processes_work_at_once(tmp_path: Path) -> None:
    assert len(set(side_by_side(partial(wait_for_the_other, tmp_path), [0, 1], 2))) == 2


def test_of_more_items_than_turns_none_is_left_out_or_done_twice() -> None:
    count = 2 * MOST_TURNS + 3
    assert [result for result, _ in side_by_side(with_process, range(count), 2)] == [item * 2 for item in range(count)]


@pytest.fixture
def ahead() -> Iterator[int]:
    """The id of a process that was started ahead."""
    start_ahead(["colorsys"])
    (waiting,) = module._ahead
    yield waiting.other.process
    if module._ahead:
        module._ahead.clear()
        waiting.orders.close()
        waiting.other.end()


def test_the_process_that_was_started_ahead_shares_the_next_work(ahead: int, tmp_path: Path) -> None:
    assert set(side_by_side(partial(wait_for_the_other, tmp_path), [0, 1], 2)) == {os.getpid(), ahead}
    with pytest.raises(ChildProcessError):  # it has been waited for
        os.waitpid(ahead, os.WNOHANG)
    assert ahead not in {process for _, process in side_by_side(with_process, [0, 1], 2)}


@pytest.mark.usefixtures("ahead")
def test_relative_paths_are_those_of_the_process_that_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(side_by_side(partial(folder_after_the_other, tmp_path), [0, 1], 2)) == {str(tmp_path)}


def folder_after_the_other(folder: Path, item: int) -> str:
    wait_for_the_other(folder, item)
    return str(Path.cwd())


@pytest.mark.usefixtures("ahead")
def test_an_error_of_the_process_that_was_started_ahead_is_raised_here() -> None:
    with pytest.raises(InputError, match=r"^cannot read file-1, byte 3; it is damaged$"):
        side_by_side(partial(fail_at, 1), [0, 1], 2)


def test_a_process_started_ahead_that_is_gone_is_told(ahead: int) -> None:
    os.kill(ahead, signal.SIGKILL)
    os.waitid(os.P_PID, ahead, os.WEXITED | os.WNOWAIT)
    with pytest.raises(OSError, match=f"process {ahead} has ended without a result"):
        side_by_side(with_process, [0, 1], 2)


def test_a_process_started_ahead_ends_where_nothing_is_to_be_done(ahead: int) -> None:
    assert [result for result, _ in side_by_side(with_process, [3], 2)] == [6]
    (waiting,) = module._ahead
    module._ahead.clear()
    waiting.orders.close()
    with waiting.other.pipe as results:
        assert results.read() == b""
    assert os.waitstatus_to_exitcode(os.waitpid(ahead, 0)[1]) == 0


def fail_at(bad: int, item: int) -> int:
    if item == bad:
        raise InputError(f"file-{item}", "byte 3", "it is damaged")
    return item


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_is_raised_here_wherever_it_happened(bad: int) -> None:
    with pytest.raises(InputError, match=f"^cannot read file-{bad}, byte 3; it is damaged$"):
        side_by_side(partial(fail_at, bad), [0, 1, 2], 3)


def end_without_a_word(here: int, folder: Path, item: int) -> int:
    """This process keeps its item until the other one has taken one."""
    if os.getpid() != here:
        (folder / "taken").touch()
        os._exit(9)
    until((folder / "taken").exists, "the other process takes an item")
    return item


def test_a_process_that_is_killed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fork, made = os.fork, []
    monkeypatch.setattr(os, "fork", lambda: made.append(fork()) or made[-1])
    with pytest.raises(OSError, match="has ended without a result"):
        side_by_side(partial(end_without_a_word, os.getpid(), tmp_path), [0, 1], 2)
    (process,) = made
    with pytest.raises(ChildProcessError):  # it has been waited for
        os.waitpid(process, os.WNOHANG)
