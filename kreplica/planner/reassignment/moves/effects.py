"""Effects of a plan on each broker and rack: before and after, what is copied, and the time of it at a throttle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Struct

from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.tables.schema import BROKERS
from kreplica.planner.reassignment.board import loads_of
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held


class BrokerEffect(Struct, frozen=True):
    """One broker before and after; leaders are preferred leaders."""

    broker: Annotated[Int32, Meaning(BROKERS.field("broker").doc)]
    rack: Annotated[str | None, Meaning(BROKERS.field("rack").doc, drop=6)]
    replicas_before: Annotated[int, Meaning("replicas it holds")]
    replicas_after: Annotated[int, Meaning("replicas it holds afterwards")]
    leaders_before: Annotated[int, Meaning("partitions of which it is the preferred leader", drop=3)]
    leaders_after: Annotated[int, Meaning("partitions of which it is the preferred leader afterwards", drop=3)]
    bytes_before: Annotated[int, Meaning("bytes of these replicas", drop=4)]
    bytes_after: Annotated[int, Meaning("bytes of its replicas afterwards", drop=4)]
    moves: Annotated[int, Meaning("replicas that are copied to it")]
    bytes_in: Annotated[int, Meaning("bytes that are copied to it")]
    bytes_out: Annotated[int, Meaning("bytes that are copied from it, as the leader of what is copied", drop=5)]
    seconds: Annotated[float | None, Meaning("least seconds of copying at the throttle", drop=2)]


class RackEffect(Struct, frozen=True):
    """One rack before and after."""

    rack: Annotated[str | None, Meaning("rack, null for brokers without one")]
    brokers: Annotated[int, Meaning("number of brokers in it", drop=5)]
    replicas_before: Annotated[int, Meaning("replicas in it")]
    replicas_after: Annotated[int, Meaning("replicas in it afterwards")]
    leaders_before: Annotated[int, Meaning("partitions with their preferred leader in it", drop=3)]
    leaders_after: Annotated[int, Meaning("partitions with their preferred leader in it afterwards", drop=3)]
    bytes_before: Annotated[int, Meaning("bytes of these replicas", drop=4)]
    bytes_after: Annotated[int, Meaning("bytes of its replicas afterwards", drop=4)]
    violations_before: Annotated[int, Meaning("partitions in fewer racks than possible, with several replicas in it")]
    violations_after: Annotated[int, Meaning("the same afterwards")]
    moves: Annotated[int, Meaning("replicas that are copied to it")]
    bytes_in: Annotated[int, Meaning("bytes that are copied to it")]
    bytes_out: Annotated[int, Meaning("bytes that are copied from it", drop=2)]
    seconds: Annotated[float | None, Meaning("seconds of the slowest broker of it", drop=1)]


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of a plan.

    Args:
        brokers: Each broker, in order of ids.
        racks: Each rack, in order of names.
        violations_before: Partitions in fewer racks than possible.
        violations_after: The same afterwards.
        moves: Replicas that are copied.
        bytes_copied: Their bytes.
        seconds: Least time of all copies at the throttle, that of the slowest broker; None without one.
        partitions: Partitions that are counted: those that may be planned.
        all_partitions: Partitions of the cluster.
    """

    brokers: tuple[BrokerEffect, ...]
    racks: tuple[RackEffect, ...]
    violations_before: int
    violations_after: int
    moves: int
    bytes_copied: int
    seconds: float | None
    partitions: int
    all_partitions: int


def effects_of(
    problem: Problem, target: Matrix, throttle: int | None = None, within: Iterable[ChangedDirectory] = ()
) -> Effects:
    """Effects on brokers and racks of the partitions that may be planned.

    Copies are read from the partition's leader; where none is known, from the preferred leader. A throttle limits what
    a broker sends, apart from that what it receives (KIP-73), and apart from both what it copies between its own log
    directories (KIP-113).

    Args:
        problem: The assignment as it is.
        target: The assignment that is wanted.
        throttle: Bytes a second of each broker; None for no limit.
        within: Replicas that change their log directory and not their broker.
    """
    columns = _columns(problem, target)
    inside = _bytes_within(problem, within)
    busiest = np.maximum.reduce([columns["bytes_in"], columns["bytes_out"], inside])
    seconds: list[float | None] = [most / throttle if throttle else None for most in busiest.tolist()]
    racks = [problem.rack_names[rack] or None for rack in problem.racks.tolist()]
    rows = zip(problem.brokers.tolist(), racks, *(column.tolist() for column in columns.values()), seconds, strict=True)
    before, after = violations(problem, problem.replicas), violations(problem, target)
    return Effects(
        brokers=tuple(BrokerEffect(*row) for row in rows),
        racks=_rack_rows(problem, target, columns, seconds),
        violations_before=int(before.sum()),
        violations_after=int(after.sum()),
        moves=int(columns["moves"].sum()),
        bytes_copied=int(columns["bytes_in"].sum()),
        seconds=_slowest(seconds),
        partitions=len(problem),
        all_partitions=len(problem.snapshot.partitions),
    )


def _bytes_within(problem: Problem, within: Iterable[ChangedDirectory]) -> Integers:
    """Bytes that each broker copies between its log directories."""
    found: Integers = np.zeros(len(problem.brokers), np.int64)
    for one in within:
        found[np.searchsorted(problem.brokers, one.broker)] += one.size
    return found


def _slowest(seconds: list[float | None]) -> float | None:
    return max((each for each in seconds if each is not None), default=None)


def violations(problem: Problem, replicas: Matrix) -> Mask:
    """Partitions that stand in fewer racks than there are racks and replicas, as the rule rack-violation says."""
    number = np.count_nonzero(replicas != NOBODY, axis=1)
    found: Mask = (_per_rack(problem, replicas) > 0).sum(axis=1) < np.minimum(number, len(problem.rack_names))
    return found


def _per_rack(problem: Problem, replicas: Matrix) -> Integers:
    racks = len(problem.rack_names)
    rows, columns = np.nonzero(replicas != NOBODY)
    keys = rows * racks + problem.racks[replicas[rows, columns]]
    return np.bincount(keys, minlength=len(replicas) * racks).reshape(-1, racks)


def _columns(problem: Problem, target: Matrix) -> dict[str, Integers]:
    """Numbers by broker, in the order of the rows' fields."""
    brokers, ones = len(problem.brokers), np.ones(len(problem), dtype=np.int64)
    copied = (target != NOBODY) & ~held(target, problem.replicas)
    incoming = np.where(copied, target, NOBODY)
    source = np.where(problem.leader != NOBODY, problem.leader, problem.replicas[:, 0])
    outgoing = np.count_nonzero(copied, axis=1) * problem.sizes
    return {
        "replicas_before": loads_of(problem.replicas, ones, brokers),
        "replicas_after": loads_of(target, ones, brokers),
        "leaders_before": loads_of(problem.replicas[:, :1], ones, brokers),
        "leaders_after": loads_of(target[:, :1], ones, brokers),
        "bytes_before": loads_of(problem.replicas, problem.sizes, brokers),
        "bytes_after": loads_of(target, problem.sizes, brokers),
        "moves": loads_of(incoming, ones, brokers),
        "bytes_in": loads_of(incoming, problem.sizes, brokers),
        "bytes_out": loads_of(source[:, None], outgoing, brokers),
    }


def _rack_rows(
    problem: Problem, target: Matrix, columns: dict[str, Integers], seconds: list[float | None]
) -> tuple[RackEffect, ...]:
    crowded = [
        ((_per_rack(problem, replicas) > 1) & violations(problem, replicas)[:, None]).sum(axis=0)
        for replicas in (problem.replicas, target)
    ]
    found = []
    for rack, name in enumerate(problem.rack_names):
        inside = problem.racks == rack
        sums = {field: int(column[inside].sum()) for field, column in columns.items()}
        found.append(
            RackEffect(
                rack=name or None,
                brokers=int(inside.sum()),
                violations_before=int(crowded[0][rack]),
                violations_after=int(crowded[1][rack]),
                seconds=_slowest([seconds[one] for one in np.flatnonzero(inside).tolist()]),
                **sums,
            )
        )
    return tuple(found)
