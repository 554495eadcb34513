"""Changes of log directories checked: that they are legal and have room, and bounds of what has to leave one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from kreplica.model.cordons import cordoned_directories
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Integers
from kreplica.planner.reassignment.certificates.certificate import DirectoryRelief, Load
from kreplica.planner.reassignment.verification.arrays import PlanArrays

Replica = tuple[tuple[str, int], int]
"""Partition and broker."""
Place = tuple[int, str]
"""Broker and log directory."""
Changed = Mapping[Replica, tuple[str, str]]
"""Directory before and afterwards of replicas that stay on their broker."""

_MOST_SUMS = 50_000
"""Different sums of sizes up to which the least cover is looked for exactly."""


class Directories:
    """Log directories of a snapshot, and where the copies of a plan lie in them before and afterwards.

    Args:
        snapshot: The cluster.
        plan: Its replicas before, and by the plan.
        changed: Replicas that change their directory and not their broker.
        chosen: Directory of added replicas, where one is chosen.
    """

    def __init__(
        self, snapshot: ClusterSnapshot, plan: PlanArrays, changed: Changed, chosen: Mapping[Replica, str]
    ) -> None:
        names = ("broker", "path", "error", "total_bytes", "usable_bytes")
        rows = list(zip(*(snapshot.log_dirs[name].to_list() for name in names), strict=True))
        closed = cordoned_directories(snapshot).tolist()
        self.open: set[Place] = {
            (_number(one[0]), str(one[1]))
            for one, shut in zip(rows, closed, strict=True)
            if one[2] is None and not shut
        }
        self.volumes: dict[Place, tuple[int, int]] = {
            (_number(one[0]), str(one[1])): (_number(one[3]), _number(one[4]))
            for one in rows
            if one[2] is None and one[3] is not None and one[4] is not None
        }
        self.plan, self.changed = plan, changed
        sizes = plan.load[Load.BYTES].tolist()
        self.size = {key: sizes[row] for key, row in plan.place.items()}
        copies = snapshot.replicas
        fields = ("topic", "partition", "broker", "log_dir", "future")
        self.where: dict[Replica, str] = {
            ((str(topic), _number(number)), _number(broker)): str(path)
            for topic, number, broker, path, future in zip(*(copies[name].to_list() for name in fields), strict=True)
            if not future
        }
        arriving = {**chosen, **{replica: path for replica, (_, path) in changed.items()}}
        self.arriving: dict[Place, int] = {}
        for (key, broker), path in arriving.items():
            self.arriving[broker, path] = self.arriving.get((broker, path), 0) + self.size.get(key, 0)

    def _stands(self, replica: Replica, matrix: Integers) -> bool:
        """True if a broker has a replica, before or by the plan."""
        key, broker = replica
        row = self.plan.place.get(key)
        return row is not None and broker in self.plan.ids[matrix[row][matrix[row] >= 0]]

    def faults(self) -> Iterator[str]:
        """Sentences on changes that are not legal, and on disks without room."""
        for (key, broker), (source, destination) in self.changed.items():
            name = f"{key[0]}-{key[1]} on broker {broker}"
            if self.where.get((key, broker)) != source:
                yield f"{name} is not in {source}"
            if not self._stands((key, broker), self.plan.planned):
                yield f"{name} is not free to change, or leaves that broker"
            if source == destination or (broker, destination) not in self.open:
                yield f"{name} cannot go to {destination}"
        for place, size in sorted(self.arriving.items()):
            if place in self.volumes and size > self.volumes[place][1]:
                yield f"{place[1]} of broker {place[0]} has no room for {size} bytes"

    def wrong(self, relief: DirectoryRelief) -> Iterator[str]:
        """Differences between what a relief says and what is so."""
        place, name = (relief.broker, relief.path), f"relief of {relief.path} of broker {relief.broker}"
        if place not in self.volumes:
            yield f"{name}: its capacity is not known"
            return
        total, usable = self.volumes[place]
        lying = (one for one in self.where if (one[1], self.where[one]) == place)
        here = [one for one in lying if self._stands(one, self.plan.before)]
        leaving = [one for one in here if one in self.changed or not self._stands(one, self.plan.planned)]
        value = sum(self.size[key] for key, _ in leaving)
        used = total - usable - value + self.arriving.get(place, 0)
        if (relief.value, relief.used) != (value, used):
            yield f"{name}: {value} bytes leave it and {used} are in use then, not {relief.value} and {relief.used}"
        least = least_cover([self.size[key] for key, _ in here], total - usable - relief.target)
        if relief.lower_bound > least:
            yield f"{name}: covers prove {least} bytes, not {relief.lower_bound}"


def least_cover(sizes: Iterable[int], need: int) -> int:
    """A number of bytes that no set of these sizes goes below which holds as many as are needed.

    All sums are looked at while they are few. Where they are many, the set has as many bytes as are needed, and as many
    as the smallest sizes have together, of the number of largest ones that it takes.
    """
    given = sorted((one for one in sizes if one > 0), reverse=True)
    if need <= 0 or sum(given) < need:
        return max(0, need)
    sums, best = np.zeros(1, np.int64), sum(given)
    for one in given:
        sums = np.union1d(sums, sums + one)
        best = min(best, int(sums[sums >= need].min(initial=best)))
        sums = sums[sums < need]
        if best == need:
            return need
        if len(sums) > _MOST_SUMS:
            return max(need, _fewest_smallest(given, need))
    return best


def _fewest_smallest(given: Sequence[int], need: int) -> int:
    """Sum of the smallest sizes, of as many as it takes of the largest to hold what is needed."""
    held: Integers = np.cumsum(np.array(given, np.int64))
    number = 1 + int(np.searchsorted(held, need))
    return sum(given[-number:])


def _number(value: object) -> int:
    return int(str(value))
