"""Room in log directories: which directory takes each copy, so that no volume is ever fuller than the cap.

A broker puts a new replica into the directory with the fewest partitions, not the one with room; so the directory is
chosen here. Volumes are counted at their worst: every copy of the plan is there, and nothing that leaves is gone yet. A
plan that fits so fits in every intermediate state, in whatever order its moves are made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.errors import UsageError
from kreplica.model.cordons import cordoned_directories
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import listed
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held, places_of_copies

MAX_DISK_USED = 0.85
"""Share of a volume that may be in use, unless the user says otherwise."""

UNKNOWN = -1
"""Index of no directory: the broker chooses, or the source does not tell."""

_ENDLESS = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True, eq=False)
class LogDirectories:
    """Log directories of all brokers, those that are online.

    Args:
        broker: Position of each directory's broker.
        paths: Its path.
        total: Capacity of its volume in bytes, 0 where not known.
        used: Bytes in use on the volume, by whomever; 0 where not known.
        known: Directories of known capacity and use.
        cordoned: Directories that take no new replicas.
        of_replica: Directory of each entry of the problem's matrix; UNKNOWN where the source does not tell.
    """

    broker: Integers
    paths: tuple[str, ...]
    total: Integers
    used: Integers
    known: Mask
    cordoned: Mask
    of_replica: npt.NDArray[np.int64]

    def find(self, broker: int, path: str | None = None) -> list[int]:
        """Directories of a broker, or the one of that path."""
        own = np.flatnonzero(self.broker == broker).tolist()
        return [one for one in own if path is None or self.paths[one] == path]


def log_directories(problem: Problem) -> LogDirectories:
    """Reads the directories and who stands in them."""
    online = np.flatnonzero(problem.snapshot.log_dirs.strings("error").codes < 0)
    table = problem.snapshot.log_dirs.take(online)
    brokers, paths = table.integers("broker").values, table.strings("path").to_list()
    total, usable = table.integers("total_bytes"), table.integers("usable_bytes")
    known = np.ones(len(table), dtype=np.bool_)
    for column in (total, usable):
        known &= True if column.valid is None else column.valid
    positions = np.searchsorted(problem.brokers, brokers)
    return LogDirectories(
        broker=positions,
        paths=tuple(str(path) for path in paths),
        total=np.where(known, total.values, 0),
        used=np.where(known, total.values - usable.values, 0),
        known=known,
        cordoned=cordoned_directories(problem.snapshot)[online],
        of_replica=_directories_of_replicas(problem, table),
    )


def _directories_of_replicas(problem: Problem, table: Table) -> npt.NDArray[np.int64]:
    copies = problem.snapshot.replicas
    part = problem.snapshot.select(problem.rows)
    place, directory = places_of_copies(part), _directory_of_copies(copies, table)
    there = np.flatnonzero((place >= 0) & ~copies.booleans("future").is_true())
    broker = np.searchsorted(problem.brokers, copies.integers("broker").values[there])
    found = np.full(problem.replicas.shape, UNKNOWN)
    for column in range(problem.width):
        matched = problem.replicas[place[there], column] == broker
        found[place[there][matched], column] = directory[there][matched]
    return found


def _directory_of_copies(copies: Table, table: Table) -> npt.NDArray[np.int64]:
    """Row in the table of directories of each copy, UNKNOWN where it is not among them."""
    own, copied = table.strings("path"), copies.strings("log_dir")
    index = {path: code for code, path in enumerate(own.dictionary)}
    codes = np.array([index.get(path, -1) for path in copied.dictionary], dtype=np.int64)[copied.codes]
    span = len(own.dictionary) + 1
    keys = table.integers("broker").values * span + own.codes
    sought = copies.integers("broker").values * span + codes
    order = np.argsort(keys, kind="stable")
    if not len(order) or not len(sought):
        return np.full(len(sought), UNKNOWN)
    found = order[np.minimum(np.searchsorted(keys[order], sought), len(order) - 1)]
    return np.where((keys[found] == sought) & (codes >= 0), found, UNKNOWN)


def require_capacity(problem: Problem, directories: LogDirectories, brokers: Collection[int]) -> None:
    """Refuses brokers whose volumes are not known.

    Args:
        problem: Names the brokers.
        directories: What is known.
        brokers: Positions of those that are to receive data.

    Raises:
        UsageError: The capacity of one of them is not known.
    """
    known = directories.known | directories.cordoned
    sure = set(directories.broker[directories.known].tolist()) - set(directories.broker[~known].tolist())
    unknown = sorted(int(problem.brokers[one]) for one in brokers if one not in sure)
    if unknown:
        raise UsageError(
            f"the free space of broker {listed([str(one) for one in unknown])} is not known",
            "copies could fill its volumes",
            "read the log directories, or plan without them by --ignore-capacity",
        )


class DirectoryRoom:
    """Bytes left under the cap in each directory, from which every planned copy takes its part.

    A directory that is cordoned has room for nothing, not even for a copy of no bytes: its broker would refuse it.

    Args:
        directories: The directories.
        brokers: Number of brokers.
        max_used: Greatest share of a volume that may be in use.
        ignore_capacity: Whether a broker of unknown capacity has room for anything; otherwise it has none.
    """

    def __init__(
        self,
        directories: LogDirectories,
        brokers: int,
        max_used: float = MAX_DISK_USED,
        *,
        ignore_capacity: bool = False,
    ) -> None:
        assert 0 < max_used <= 1, "a share of the volume"
        self.directories = directories
        cap = np.floor(directories.total * max_used).astype(np.int64) - directories.used
        open_room = np.where(directories.known, cap, _ENDLESS if ignore_capacity else 0)
        self.left = np.where(directories.cordoned, -_ENDLESS, open_room)
        self.chosen: dict[tuple[int, int], int] = {}
        """Directory of each planned copy, by row of the problem and position of the broker."""
        self._own = [directories.find(broker) for broker in range(brokers)]
        nothing = _ENDLESS if ignore_capacity else 0
        self.most = np.array([max(self.left[own].tolist()) if own else nothing for own in self._own], dtype=np.int64)

    def fits(self, size: int) -> Mask:
        """Brokers that have a directory with room for so many bytes."""
        found: Mask = self.most >= size
        return found

    def take(self, row: int, broker: int, size: int) -> None:
        """Puts a copy into the directory of the broker that has most room; the first of equals."""
        if own := self._own[broker]:
            self.put(row, max(own, key=lambda one: int(self.left[one])), size)

    def put(self, row: int, directory: int, size: int) -> None:
        """Puts a copy into that directory."""
        broker = int(self.directories.broker[directory])
        self.chosen[row, broker] = directory
        self.reserve(directory, size)

    def reserve(self, directory: int, size: int) -> None:
        """Keeps bytes of a directory free for a copy that is planned already."""
        broker = int(self.directories.broker[directory])
        self.left[directory] -= size
        self.most[broker] = max(self.left[self._own[broker]].tolist())


def choose_directories(problem: Problem, target: Matrix, room: DirectoryRoom) -> list[tuple[int, int]]:
    """Gives each copy of a target its directory, the largest first.

    Args:
        problem: The assignment as it is, and sizes.
        target: The assignment that is wanted.
        room: Room before; every copy that fits takes its part.

    Returns:
        Copies for which no directory of their broker has room, by row and position of the broker.
    """
    rows, columns = np.nonzero((target != NOBODY) & ~held(target, problem.replicas))
    order = np.lexsort((columns, rows, -problem.sizes[rows]))
    misfits = []
    for row, broker, size in zip(
        rows[order].tolist(), target[rows, columns][order].tolist(), problem.sizes[rows][order].tolist(), strict=True
    ):
        if room.fits(size)[broker]:
            room.take(row, broker, size)
        else:
            misfits.append((row, broker))
    return misfits
