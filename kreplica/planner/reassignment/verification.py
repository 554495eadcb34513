"""Checks a plan from the snapshot, its targets and its certificate alone, without a planner and without a solver.

Everything is done again in the plainest way: partition by partition, in whole numbers of any size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment.certificate import Bound, BoundKind, Certificate, Quantity

Targets = Mapping[tuple[str, int], tuple[int, ...]]


class _Partition(NamedTuple):
    """One partition: its replicas, those that may and that have to stay, how many it gets, fewest and most by rack."""

    before: set[int]
    after: tuple[int, ...]
    keepable: set[int]
    fixed: set[int]
    factor: int
    spread: dict[str, tuple[int, int]]
    size: int


class _Check:
    def __init__(self, snapshot: ClusterSnapshot, targets: Targets, certificate: Certificate) -> None:
        self.given, self.racks, self.receivers = certificate, snapshot.racks, set(certificate.receivers)
        self.strange = [f"{one} is dead and receives" for one in self.receivers if snapshot.is_alive(one) is False]
        self.partitions: dict[Any, _Partition] = {}
        sizes, stuck, topics = _sizes(snapshot), {*certificate.stuck}, {*certificate.topics}
        rows: Iterator[dict[str, Any]] = snapshot.partitions.rows()
        for row in rows:
            key, leader = (row["topic"], row["partition"]), row["leader"]
            led = leader is None or (leader >= 0 and snapshot.is_alive(leader) is not False)
            if led and key[0] in topics and not (row["adding"] or row["removing"]):
                after = targets.get(key, tuple(row["replicas"]))
                self.partitions[key] = self._partition(row, after, sizes.get(key, 0), key in stuck)
        self.strange += [f"{key} is not free to change" for key in targets if key not in self.partitions]

    def _partition(self, row: dict[str, Any], after: tuple[int, ...], size: int, stuck: bool) -> _Partition:
        before = set(row["replicas"])
        if stuck:
            spread = {rack: (number, number) for rack, number in self._by_rack(before).items()}
            return _Partition(before, after, before, before, len(before), spread, size)
        keepable, factor = before - {*self.given.emptied}, self.given.replication_factor or len(before)
        last = set(row["isr"]) & before or set(row["elr"] or ()) & before
        fixed = {*self.given.staying} if factor >= len(before) else set()
        fixed = keepable & (fixed | last if len(before) > 1 and len(last) == 1 else fixed)
        room, kept, forced = map(self._by_rack, (keepable | self.receivers, keepable, fixed))
        level = max(n for n in range(factor + 1) if sum(min(free, n) for free in room.values()) <= factor)
        rest = factor > sum(min(free, level) for free in room.values())
        spread = {rack: (min(free, level), min(free, level + rest)) for rack, free in room.items()}
        if not self.given.rack_aware and factor >= len(before):
            spread = {rack: (min(low, kept[rack]), max(high, kept[rack])) for rack, (low, high) in spread.items()}
        full = any(forced[rack] > low for rack, (low, _) in spread.items())
        spread = {r: (forced[r] if full else low, max(high, forced[r])) for r, (low, high) in spread.items()}
        return _Partition(before, after, keepable, fixed, factor, spread, size)

    def _by_rack(self, brokers: set[int] | tuple[int, ...]) -> Counter[str]:
        return Counter(self.racks.get(broker, "") for broker in brokers)

    def faults(self) -> Iterator[str]:
        """Illegal things about the targets."""
        yield from self.strange
        loads = Counter(broker for one in self.partitions.values() for broker in one.after)
        for broker in {*loads, *self.given.lower}:
            if not self.given.lower.get(broker, 0) <= loads[broker] <= self.given.upper.get(broker, loads[broker]):
                yield f"broker {broker} ends with {loads[broker]} replicas"
        for brokers, replicas in self.given.totals:
            if sum(loads[broker] for broker in brokers) != replicas:
                yield f"brokers {brokers} do not end with {replicas} replicas together"
        for key, one in self.partitions.items():
            number, after = self._by_rack(one.after), set(one.after)
            if len(one.after) != one.factor or len(after) != one.factor:
                yield f"{key} has the replicas {one.after}"
            if not after - one.before <= self.receivers or not after & one.before <= one.keepable:
                yield f"{key} goes to or stays on a broker that may not have it: {one.after}"
            if not one.fixed <= after:
                yield f"{key} gives up a replica that has to stay: {one.after}"
            if any(not low <= number[rack] <= high for rack, (low, high) in one.spread.items()):
                yield f"{key} is spread over racks as {dict(number)}"

    def wrong(self, bound: Bound) -> Iterator[str]:
        """Differences between what a bound says and what is so."""
        moved = sum(len({*one.after} - one.before) for one in self.partitions.values())
        size = sum(len({*one.after} - one.before) * one.size for one in self.partitions.values())
        in_bytes = bound.quantity is Quantity.BYTES
        if bound.value != (size if in_bytes else moved):
            yield f"{bound.quantity}: the plan has {size if in_bytes else moved}, not {bound.value}"
        proven = 0 if bound.kind is BoundKind.NOTHING else self._proven(bound) - bound.move_cost * moved * in_bytes
        if proven < bound.lower_bound or bound.lower_bound > bound.value or (bound.move_cost != 1 and not in_bytes):
            yield f"{bound.quantity}: prices and {bound.move_cost} a move prove {proven}, not {bound.lower_bound}"

    def _proven(self, bound: Bound) -> int:
        """The sum of cheapest placements at these prices, less the most that brokers' bounds let them be paid."""
        prices, lower, upper, total = Counter(bound.prices), self.given.lower, self.given.upper, 0
        alone = set(prices) - {broker for brokers, _ in self.given.totals for broker in brokers}
        if any(prices[broker] > 0 and broker not in upper for broker in alone):
            return 0
        total -= sum(prices[one] * (upper[one] if prices[one] > 0 else lower.get(one, 0)) for one in alone)
        for brokers, number in self.given.totals:
            left = number - sum(lower.get(one, 0) for one in brokers)
            for one in sorted(brokers, key=lambda one: -prices[one]):
                more = min(left, upper.get(one, number) - lower.get(one, 0))
                total, left = total - prices[one] * (lower.get(one, 0) + more), left - more
        ranked: dict[str, list[int]] = {}
        for broker in sorted(self.receivers, key=prices.__getitem__):
            ranked.setdefault(self.racks.get(broker, ""), []).append(broker)
        for each in self.partitions.values():
            sized = each.size * (bound.quantity is Quantity.BYTES)
            total += self._cheapest(each, prices, ranked, bound.move_cost + sized)
        return total

    def _cheapest(self, one: _Partition, prices: Counter[int], ranked: dict[str, list[int]], cost: int) -> int:
        """Least cost of placing one partition alone: what racks need first, then the cheapest of the rest."""
        total, rest, left = sum(prices[broker] for broker in one.fixed), one.factor - len(one.fixed), []
        forced = self._by_rack(one.fixed)
        for rack, (low, high) in one.spread.items():
            near = ranked.get(rack, [])[: high + len(one.before)]
            offers = [prices[broker] + cost for broker in near if broker not in one.before]
            offers += [prices[b] for b in one.keepable - one.fixed if self.racks.get(b, "") == rack]
            offers.sort()
            must = max(low - forced[rack], 0)
            total, rest = total + sum(offers[:must]), rest - must
            left += offers[must : high - forced[rack]]
        return total + sum(sorted(left)[:rest])


def _sizes(snapshot: ClusterSnapshot) -> dict[tuple[str, int], int]:
    """Bytes of one replica of each partition: of the leader's where known, otherwise of the largest."""
    led = {(row["topic"], row["partition"]): row["leader"] for row in snapshot.partitions.rows()}
    found: dict[Any, tuple[bool, Any]] = {}
    for row in snapshot.replicas.rows():
        key = (row["topic"], row["partition"])
        if not row["future"]:
            found[key] = max(found.get(key, (False, 0)), (led.get(key) == row["broker"], row["size"]))
    return {key: size for key, (_, size) in found.items()}


def verify(snapshot: ClusterSnapshot, targets: Targets, certificate: Certificate) -> list[str]:
    """Sentences on what is wrong: none where targets are legal, values are theirs and bounds hold."""
    check = _Check(snapshot, targets, certificate)
    return [*check.faults(), *(text for bound in certificate.bounds for text in check.wrong(bound))]
