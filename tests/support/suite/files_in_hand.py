"""Tests given to the processes that share a run, file by file.

pytest-xdist's ``loadgroup`` gives tests of no group away one by one, in turns: each process then makes every fixture of
a module for itself. Here a process goes on in the file that it has in hand, then takes one that nobody has begun, and
only when there is none left a test out of another's file, so that all of them end together. Groups come first, the
one with the most tests at the front, as in ``loadgroup``: these are the long ones.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

MOST_AT_ONCE = 8
"""Tests of a message to a process. The fewer files are left the fewer it gets, in the end one: others wait for them."""


class FilesInHand(LoadGroupScheduling):
    """The order of ``loadgroup`` with a file for each process, as long as there are as many."""

    _waiting: OrderedDict[str, deque[str]] | None = None
    """Units of each file that are given to nobody yet, in order."""
    _in_hand: dict[WorkerController, str]
    _numbers: dict[str, int]
    """Place of each test in what all processes collected."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Gives the process its next unit, a group or a test, or several tests of a file where there are many files."""
        if self._waiting is None:
            self._waiting, self._in_hand = _by_file(self.workqueue), {}
            self._numbers = {name: number for number, name in enumerate(self.registered_collections[node])}
        given = {unit: self.workqueue.pop(unit) for unit in self._next_units(node)}
        self.assigned_work[node].update(given)
        names = (name for tests in given.values() for name, done in tests.items() if not done)
        node.send_runtest_some([self._numbers[name] for name in names])

    def _next_units(self, node: WorkerController) -> list[str]:
        """What a process left when it crashed is in the queue alone, and comes when nothing else does."""
        assert self._waiting is not None
        while self._waiting:
            file = self._file_for(node, self._waiting)
            units = self._waiting[file]
            most = min(MOST_AT_ONCE, 1 + len(self._waiting) // MOST_AT_ONCE)
            found = [units.popleft() for _ in range(min(most, len(units)))]
            if not units:
                del self._waiting[file]
            if found := [unit for unit in found if unit in self.workqueue]:
                return found
        return [next(iter(self.workqueue))]

    def _file_for(self, node: WorkerController, waiting: OrderedDict[str, deque[str]]) -> str:
        file = self._in_hand.get(node)
        if file not in waiting:
            begun = {*self._in_hand.values()}
            unbegun = (one for one in waiting if one not in begun)
            file = next(unbegun, None) or max(waiting, key=lambda one: len(waiting[one]))
            self._in_hand[node] = file
        return file

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forgets units that are done: all of them would be gone through after each test."""
        super().mark_test_complete(node, item_index, duration)
        unit = self._split_scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][unit].values()):
            del self.assigned_work[node][unit]


def _by_file(units: OrderedDict[str, dict[str, bool]]) -> OrderedDict[str, deque[str]]:
    found: OrderedDict[str, deque[str]] = OrderedDict()
    for unit in units:
        found.setdefault(unit.split("::")[0], deque()).append(unit)
    return found
