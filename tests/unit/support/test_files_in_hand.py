"""Tests given to processes, by the scheduler that pytest-xdist asks: no process runs here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from types import SimpleNamespace
from typing import Any

from suite.files_in_hand import FilesInHand


class Process:
    """One that runs its tests in order, and holds the last back until it knows what follows or that nothing does."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.waiting: list[int] = []
        self.ran: list[int] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    def runs_one(self) -> int | None:
        if len(self.waiting) < (1 if self.shutting_down else 2):
            return None
        self.ran.append(self.waiting.pop(0))
        return self.ran[-1]


def begun(tests: Sequence[str], count: int) -> tuple[Any, list[Process]]:
    config: Any = SimpleNamespace(
        getvalue={"tx": ["popen"] * count}.get, option=SimpleNamespace(loadscopereorder=True), hook=None
    )
    scheduler: Any = FilesInHand(config)
    processes = [Process(str(number)) for number in range(count)]
    for one in processes:
        scheduler.add_node(one)
        scheduler.add_node_collection(one, tests)
    scheduler.schedule()
    return scheduler, processes


def played(tests: Sequence[str], count: int, seconds: Mapping[str, int] | None = None) -> list[list[str]]:
    """What each process ran; a test takes one turn unless told otherwise."""
    scheduler, processes = begun(tests, count)
    busy = dict.fromkeys(processes, 0)
    for _ in range(10 * sum((seconds or {}).get(name, 1) for name in tests)):
        for one in processes:
            busy[one] -= 1
            if busy[one] <= 0 and (ran := one.runs_one()) is not None:
                busy[one] = (seconds or {}).get(tests[ran], 1)
                scheduler.mark_test_complete(one, ran)
    assert not scheduler.has_pending
    return [[tests[number] for number in one.ran] for one in processes]


def of_file(name: str, count: int) -> list[str]:
    return [f"{name}.py::test_{number}" for number in range(count)]


def files_of(tests: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.split("::")[0] for name in tests))


def test_every_test_is_run_once() -> None:
    tests = [*of_file("a", 7), *of_file("b", 1), *(f"c.py::test_{n}@shared" for n in range(5)), *of_file("d", 30)]
    for count in (1, 2, 3, 4):
        ran = played(tests, count)
        assert Counter(name for some in ran for name in some) == Counter(tests)


def test_a_file_stays_in_one_process_while_others_are_left() -> None:
    ran = played([name for file in "abcdef" for name in of_file(file, 10)], 3)
    assert [len(some) for some in ran] == [20, 20, 20]
    assert sorted(file for some in ran for file in files_of(some)) == [f"{file}.py" for file in "abcdef"]


def test_the_last_file_is_shared_so_that_all_end_together() -> None:
    ran = played([*of_file("a", 3), *of_file("b", 90)], 3)
    assert max(map(len, ran)) - min(map(len, ran)) <= 3
    assert files_of(ran[0])[0] == "a.py"


def test_groups_come_first_and_stay_together() -> None:
    groups = [f"{file}.py::test_{n}@real" for file in "xy" for n in range(4)]
    ran = played([*of_file("a", 20), *groups, *of_file("b", 20)], 2)
    assert ran[0][:8] == groups
    assert not [name for name in ran[1] if "@" in name]


def test_a_long_test_keeps_nobody_else_waiting() -> None:
    tests = [*of_file("a", 10), *of_file("b", 10), *of_file("c", 10)]
    ran = played(tests, 2, {"a.py::test_0": 20})
    assert [len(some) for some in ran] == sorted(map(len, ran))
    assert len(ran[1]) >= 18


def test_what_a_process_that_crashed_had_is_run_by_others() -> None:
    tests = [*of_file("a", 10), *of_file("b", 10)]
    scheduler, processes = begun(tests, 2)
    crashed, other = processes
    first = crashed.runs_one()
    assert first == 0
    scheduler.mark_test_complete(crashed, first)
    assert scheduler.remove_node(crashed) == tests[1]
    for one in cycle([other]):
        ran = one.runs_one()
        if ran is None:
            break
        scheduler.mark_test_complete(one, ran)
    assert {tests[number] for number in other.ran} == {*tests} - {tests[0]}
