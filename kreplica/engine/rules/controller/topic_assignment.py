"""Placement of the replicas of a new topic on brokers.

Random numbers are arguments, so that a placement can be repeated: a start and a shift in ZooKeeper mode, a source of
numbers in KRaft.
"""

from collections.abc import Callable
from typing import Any

Brokers = tuple[int, ...]
Placements = tuple[Brokers, ...]

NextInt = Callable[[int], int]
"""Draws a number from 0 up to, not including, its argument: java.util.Random.nextInt."""


def place_rack_unaware(
    brokers: Brokers, partitions: int, replication_factor: int, start: int, shift: int
) -> Placements:
    """ZooKeeper mode without racks: first replicas go to the brokers in turn, the others follow at a growing distance.

    kafka.admin.AdminUtils.assignReplicasToBrokersRackUnaware, up to 3.9. The random start keeps the first brokers
    from being favoured, the shift grows by one each time round.

    Args:
        brokers: Live brokers; Kafka sorts them by id.
        partitions: Number of partitions.
        replication_factor: At most the number of brokers.
        start: Index of the first broker, drawn at random.
        shift: Distance of the second replica, drawn at random.
    """
    assert 0 < replication_factor <= len(brokers), "as many brokers as replicas"
    return tuple(
        _rack_unaware(brokers, replication_factor, partition + start, shift + partition // len(brokers))
        for partition in range(partitions)
    )


def _rack_unaware(brokers: Brokers, replication_factor: int, first: int, shift: int) -> Brokers:
    first %= len(brokers)
    others = (brokers[_place(first, shift, number, len(brokers))] for number in range(replication_factor - 1))
    return brokers[first], *others


def _place(first: int, shift: int, number: int, brokers: int) -> int:
    """AdminUtils.replicaIndex: never the first broker again within a round."""
    return (first + 1 + (shift + number) % (brokers - 1)) % brokers


def rack_alternated(racks: dict[int, str]) -> Brokers:
    """Brokers alternating by rack; racks in order of names, brokers in order of ids.

    AdminUtils.getRackAlternatedBrokerList, 0.10 (KIP-36) to 3.9.
    """
    columns = [sorted(broker for broker in racks if racks[broker] == name) for name in sorted(set(racks.values()))]
    longest = max(map(len, columns))
    return tuple(column[row] for row in range(longest) for column in columns if row < len(column))


def place_rack_aware(
    racks: dict[int, str], partitions: int, replication_factor: int, start: int, shift: int
) -> Placements:
    """ZooKeeper mode with racks: as without, over brokers alternating by rack; every rack is used before any again.

    AdminUtils.assignReplicasToBrokersRackAware, 0.10 (KIP-36) to 3.9. All brokers have to have a rack.

    Args:
        racks: The rack of each live broker.

    The others are those of place_rack_unaware.
    """
    assert 0 < replication_factor <= len(racks), "as many brokers as replicas"
    brokers = rack_alternated(racks)
    return tuple(
        _rack_aware(brokers, racks, replication_factor, partition + start, shift + partition // len(brokers))
        for partition in range(partitions)
    )


def _rack_aware(brokers: Brokers, racks: dict[int, str], replication_factor: int, first: int, shift: int) -> Brokers:
    every = len(set(racks.values()))
    first %= len(brokers)
    placed, number = [brokers[first]], 0
    while len(placed) < replication_factor:
        broker = brokers[_place(first, shift * every, number, len(brokers))]
        used = {racks[one] for one in placed}
        if broker not in placed and (racks[broker] not in used or len(used) == every):
            placed.append(broker)
        number += 1
    return tuple(placed)


def place_striped(
    racks: dict[int, str], fenced: Brokers, partitions: int, replication_factor: int, next_int: NextInt
) -> Placements:
    """KRaft: replicas are dealt to racks in turn, and in a rack to its brokers in turn; fenced brokers come last.

    org.apache.kafka.metadata.placement.StripedReplicaPlacer, since 3.0. Each partition starts one rack and one broker
    on; when as many partitions are placed as there are unfenced brokers, racks and brokers are shuffled. The first
    replica is never fenced. Since 4.3 a broker whose log directories are all cordoned is passed over (KIP-1066).

    Args:
        racks: The rack of each registered broker, the empty one where it has none.
        fenced: Brokers that are fenced.
        partitions: Number of partitions.
        replication_factor: At most the number of brokers.
        next_int: Draws numbers.
    """
    assert 0 < replication_factor <= len(racks), "as many brokers as replicas"
    assert len(racks) > len(fenced), "somebody has to lead"
    by_name = [_Rack(racks, fenced, name, next_int) for name in sorted(set(racks.values()))]
    order = list(by_name)
    offset, unfenced = next_int(len(order)), len(racks) - len(fenced)
    placed: list[Brokers] = []
    epoch = 0
    for partition in range(partitions):
        if epoch == unfenced and unfenced > 1:
            _shuffle(order, by_name, next_int)
            epoch = 0
        placed.append(_stripe(order, (offset + partition) % len(order), epoch, replication_factor))
        epoch += 1
    return tuple(placed)


class _Deck:
    """Brokers of one rack, dealt in turn: StripedReplicaPlacer.BrokerList."""

    __slots__ = ("brokers", "dealt", "epoch", "offset")

    def __init__(self, brokers: list[int], next_int: NextInt) -> None:
        self.brokers, self.dealt, self.epoch = sorted(brokers), 0, 0
        self.offset = next_int(len(brokers)) if brokers else 0

    def next(self, epoch: int) -> int:
        """The next broker of this epoch, -1 when all are dealt; another epoch starts one further."""
        if not self.brokers:
            return -1
        if self.epoch != epoch:
            self.epoch, self.dealt, self.offset = epoch, 0, (self.offset + 1) % len(self.brokers)
        if self.dealt == len(self.brokers):
            return -1
        broker = self.brokers[(self.dealt + self.offset) % len(self.brokers)]
        self.dealt += 1
        return broker


class _Rack:
    """A rack: its fenced and its unfenced brokers, in the order in which numbers are drawn for them."""

    __slots__ = ("fenced", "unfenced")

    def __init__(self, racks: dict[int, str], fenced: Brokers, name: str, next_int: NextInt) -> None:
        here = [broker for broker in racks if racks[broker] == name]
        self.fenced = _Deck([broker for broker in here if broker in fenced], next_int)
        self.unfenced = _Deck([broker for broker in here if broker not in fenced], next_int)

    def next(self, epoch: int) -> int:
        broker = self.unfenced.next(epoch)
        return broker if broker >= 0 else self.fenced.next(epoch)


def _shuffle(order: list[_Rack], by_name: list[_Rack], next_int: NextInt) -> None:
    """Shuffles the racks, then the brokers within each rack."""
    _shuffled(order, next_int)
    for rack in by_name:
        _shuffled(rack.fenced.brokers, next_int)
        _shuffled(rack.unfenced.brokers, next_int)


def _shuffled(items: list[Any], next_int: NextInt) -> None:
    """java.util.Collections.shuffle, so that the same numbers give the same order."""
    for end in range(len(items) - 1, 0, -1):
        other = next_int(end + 1)
        items[end], items[other] = items[other], items[end]


def _stripe(racks: list[_Rack], offset: int, epoch: int, replication_factor: int) -> Brokers:
    """One partition: RackList.place. The searches for the first replica and for the others begin at the offset."""
    first, leader = offset, racks[offset].unfenced.next(epoch)
    while leader < 0:
        first = (first + 1) % len(racks)
        leader = racks[first].unfenced.next(epoch)
    placed, rack = [leader], offset
    while len(placed) < replication_factor:
        if rack == first:
            first = -1  # it has its replica: passed over once
        else:
            broker = racks[rack].next(epoch)
            placed += [broker] if broker >= 0 else []
        rack = (rack + 1) % len(racks)
    return tuple(placed)
