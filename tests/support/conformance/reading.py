"""A reading of one partition, of real brokers or of the engine, and the differences between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

NOT_READABLE = "not readable"
"""A broker that has ended, or stands still."""
NO_REPLICA = "no replica"
OFFLINE = "log directory offline"

FENCED = "fenced"
"""The end of a transaction whose producer another one has taken the place of."""
TIMED_OUT = "timed out"
"""A send whose fate its producer does not know."""


@dataclass(frozen=True, slots=True)
class Told:
    """The partition as one live broker tells it.

    Args:
        leader: Broker id, -1 for none.
        epoch: Leader epoch.
        isr: Broker ids, sorted.
        elr: Eligible leader replicas, sorted; None where brokers do not know of such.
    """

    leader: int
    epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Position:
    """Offsets of one live replica."""

    end: int
    high_watermark: int
    last_stable: int


@dataclass(frozen=True, slots=True)
class Disk:
    """One replica's log as its files have it.

    Args:
        records: Offset, leader epoch, and value or kind of marker, of each record.
        epochs: Leader epochs and the offsets at which they begin.
        high_watermark: That of replication-offset-checkpoint; 0 where it has none.
        recovery_point: That of recovery-point-offset-checkpoint, likewise.
    """

    records: tuple[tuple[int, int, str], ...]
    epochs: tuple[tuple[int, int], ...]
    high_watermark: int = 0
    recovery_point: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that is read after a step; by broker, as rows number them.

    ``client`` is what the step's own client was told: of each record sent, or the records read.
    """

    told: Mapping[int, Told | str] = field(default_factory=dict)
    positions: Mapping[int, Position | str] = field(default_factory=dict)
    disks: Mapping[int, Disk | str] = field(default_factory=dict)
    client: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs.

    Args:
        what: Its name, as ``broker 2: told.isr``.
        predicted: The engine's.
        seen: The brokers'.
    """

    what: str
    predicted: object
    seen: object

    def __str__(self) -> str:
        return f"{self.what}: engine {self.predicted}, brokers {self.seen}"


def differences(predicted: Reading, seen: Reading) -> tuple[Difference, ...]:
    """All differences between what the engine predicts and what was seen."""
    found = list(_of_brokers("told", predicted.told, seen.told))
    found += _of_brokers("positions", predicted.positions, seen.positions)
    found += _of_brokers("disk", predicted.disks, seen.disks)
    if predicted.client != seen.client:
        found.append(Difference("client", predicted.client, seen.client))
    return tuple(found)


def _of_brokers(kind: str, predicted: Mapping[int, object], seen: Mapping[int, object]) -> Iterator[Difference]:
    for broker in sorted({*predicted, *seen}):
        one, other = predicted.get(broker, NOT_READABLE), seen.get(broker, NOT_READABLE)
        if isinstance(one, str) or isinstance(other, str):
            if one != other:
                yield Difference(f"broker {broker}: {kind}", one, other)
            continue
        for name in (member.name for member in fields(one)):  # type: ignore[arg-type]
            left, right = getattr(one, name), getattr(other, name)
            if left != right:
                yield Difference(f"broker {broker}: {kind}.{name}", left, right)
